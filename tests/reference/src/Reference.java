import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs scenarios on the real Flink operator classes and says of each whether Flink gives the same.
 *
 * <p>Arguments are scenario files. A line is printed for each scenario that is marked as `same`, `same-sorted` or
 * `differs`: its id, the mark, then `same` or `other` and the step that went otherwise.
 */
public final class Reference {
    private static final Pattern BLOCK = Pattern.compile("```scenario\\n(.*?)```", Pattern.DOTALL);

    public static void main(String[] files) throws Exception {
        for (String file : files) {
            Matcher blocks = BLOCK.matcher(Files.readString(Path.of(file)));
            while (blocks.find()) {
                Scenario scenario = new Scenario(blocks.group(1));
                String mark = scenario.fields.get("flink").split(" ")[0];
                if (!mark.equals("read")) {
                    String difference = run(scenario, mark.equals("same-sorted"));
                    String verdict = difference == null ? "same" : "other " + difference.replace('\n', ' ');
                    System.out.println(scenario.fields.get("id") + " " + mark + " " + verdict);
                }
            }
        }
        // Flink's harness leaves threads behind.
        System.exit(0);
    }

    /** The first step that goes otherwise; null where none does. */
    private static String run(Scenario scenario, boolean anyOrder) {
        String step = "open";
        try {
            FlinkOperator operator = new FlinkOperator(scenario.fields.get("set"));
            for (String line : scenario.script) {
                step = line;
                String[] sides = line.split(" -> ", 2);
                Expected expected = new Expected(sides[1]);
                String got = operator.step(sides[0]);
                if (!expected.starts.equals(operator.starts())) {
                    return line + " / it starts " + operator.starts();
                }
                if (!expected.timeouts.equals(operator.timeouts())) {
                    return line + " / it times out " + operator.timeouts();
                }
                Throwable failure = operator.failure();
                boolean isPoll = sides[0].startsWith("poll");
                boolean gives = isPoll && !got.startsWith("[]");
                if (expected.word.startsWith("FAILED")) {
                    // Flink fails from outside its mailbox: what follows can't be compared.
                    boolean isAlike = !gives && isFailure(failure, expected.word);
                    return isAlike ? null : line + " / it gave " + got + " and failed by " + failure;
                }
                if (failure != null && isPoll && !gives) {
                    return line + " / it failed by " + failure;
                }
                boolean sorted = anyOrder && line.startsWith("snapshot");
                if (!FlinkOperator.matches(got, expected.word, sorted)) {
                    return line + " / it gave " + got;
                }
            }
            return null;
        } catch (Exception | LinkageError error) {
            return step + " / it threw " + error;
        }
    }

    private static boolean isFailure(Throwable failure, String word) {
        if (failure == null) {
            return false;
        }
        String message = word.substring("FAILED \"".length(), word.length() - 1);
        return message.startsWith("timeout ") ? failure instanceof TimeoutException : message.equals(failure.getMessage());
    }

    /** A block of a scenario file. */
    private static final class Scenario {
        final Map<String, String> fields = new HashMap<>();
        final List<String> script = new ArrayList<>();

        Scenario(String block) {
            boolean inScript = false;
            for (String line : block.split("\n")) {
                if (inScript) {
                    script.add(line);
                } else if (line.startsWith("script:")) {
                    inScript = true;
                } else {
                    String[] field = line.split(":", 2);
                    fields.put(field[0].trim(), field[1].trim());
                }
            }
        }
    }

    /** What must come of a step: a word, then timeouts and starts. */
    private static final class Expected {
        private static final Pattern STARTS = Pattern.compile(" ?starts (.*)$");
        private static final Pattern TIMEOUTS = Pattern.compile(" ?timeouts (.*)$");
        final String word;
        final List<String> starts;
        final List<String> timeouts;

        Expected(String text) {
            Matcher start = STARTS.matcher(text);
            starts = start.find() ? Arrays.asList(start.group(1).split(" ")) : List.of();
            String rest = starts.isEmpty() ? text : text.substring(0, start.start());
            Matcher timeout = TIMEOUTS.matcher(rest);
            timeouts = timeout.find() ? Arrays.asList(timeout.group(1).split(" ")) : List.of();
            rest = timeouts.isEmpty() ? rest : rest.substring(0, timeout.start());
            word = rest.isEmpty() ? "-" : rest;
        }
    }
}
