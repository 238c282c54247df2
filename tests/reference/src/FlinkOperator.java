import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.flink.api.common.typeinfo.BasicTypeInfo;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.streaming.api.datastream.AsyncDataStream.OutputMode;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.AsyncRetryStrategy;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.operators.async.AsyncWaitOperator;
import org.apache.flink.streaming.api.operators.async.AsyncWaitOperatorFactory;
import org.apache.flink.streaming.api.operators.async.queue.StreamElementQueue;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamElement;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailbox;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.retryable.AsyncRetryStrategies;
import org.apache.flink.streaming.util.retryable.RetryPredicates;
import org.apache.flink.table.runtime.operators.TableKeyedAsyncWaitOperatorFactory;

/**
 * Flink's operator in its own test harness, driven by a scenario's commands.
 *
 * <p>The pull model maps so: answers go to the result future, and Flink's mails run at `poll`, or at once with retries
 * and in key-ordered mode, where attempts start in mails. A push at a full queue is not made, since Flink would block.
 * A failure is there at once in Flink's environment; here it counts at the first poll that gives nothing else.
 * Words of answers, gauges and key-ordered snapshots can't be seen in Flink and are not compared: `ANY`.
 */
final class FlinkOperator {
    private static final String ANY = "ANY";

    private final List<String> starts = new ArrayList<>();
    private final List<String> timeouts = new ArrayList<>();
    private final Map<String, List<ResultFuture<String>>> futures = new HashMap<>();
    private final Map<String, OperatorSubtaskState> snapshots = new HashMap<>();
    private final String onTimeout;
    private final long timeout;
    private final AsyncRetryStrategy<String> retry;
    private String mode;
    private int capacity;
    private OneInputStreamOperatorTestHarness<String, String> harness;
    private int seen;

    FlinkOperator(String settings) throws Exception {
        mode = setting(settings, "mode", "");
        capacity = Integer.parseInt(setting(settings, "cap", "100"));
        String given = setting(settings, "timeout", "none");
        timeout = given.equals("none") ? 0 : Long.parseLong(given);
        onTimeout = setting(settings, "on-timeout", "fail");
        retry = retryStrategy(setting(settings, "retry", "none"));
        open(null);
    }

    /** The attempts that were started in the last step. */
    List<String> starts() {
        return starts;
    }

    /** The records whose timeout was handled in the last step. */
    List<String> timeouts() {
        return timeouts;
    }

    /** Why the job would fail; null where it goes on. */
    Throwable failure() {
        return harness.getEnvironment().getActualExternalFailureCause().map(Throwable::getCause).orElse(null);
    }

    static boolean matches(String got, String expected, boolean anyOrder) {
        if (got.endsWith(ANY)) {
            return expected.startsWith(got.substring(0, got.length() - ANY.length()).trim());
        }
        return anyOrder ? elements(got).equals(elements(expected)) : got.equals(expected);
    }

    String step(String command) throws Exception {
        starts.clear();
        timeouts.clear();
        String[] words = command.split(" +");
        switch (words[0]) {
            case "push":
                return push(words);
            case "wm":
                if (!isKeyOrdered() && used() >= capacity) {
                    return "backpressured";
                }
                harness.processWatermark(Long.parseLong(words[1]));
                return "accepted";
            case "status":
                harness.processWatermarkStatus(words[1].equals("idle") ? WatermarkStatus.IDLE : WatermarkStatus.ACTIVE);
                return "accepted";
            case "complete":
                future(words[1]).complete(values(between(command, "\\[(.*)\\]")));
                return answered();
            case "fail":
                future(words[1]).completeExceptionally(new RuntimeException(between(command, "\"(.*)\"")));
                return answered();
            case "clock":
                harness.setProcessingTime(Long.parseLong(words[1]));
                answered();
                return "-";
            case "poll":
                return poll(words);
            case "snapshot":
                String listed = isKeyOrdered() ? ANY : listed();
                snapshots.put(words[1], harness.snapshot(snapshots.size() + 1, 1));
                return listed;
            case "restore":
                return restore(words);
            case "finish":
                if (retry != null) {
                    Method finish = AsyncWaitOperator.class.getDeclaredMethod("finishInFlightDelayedRetry");
                    finish.setAccessible(true);
                    finish.invoke(harness.getOneInputOperator());
                }
                return queue().isEmpty() ? "done" : "pending";
            case "state":
                return isKeyOrdered() ? ANY : "queued=" + queue().size() + " " + ANY;
            default:
                throw new IllegalArgumentException("no command of Flink's: " + command);
        }
    }

    private String push(String[] words) throws Exception {
        if (used() >= capacity) {
            return "backpressured";
        }
        String value = words[1];
        Long timestamp = null;
        for (String word : Arrays.asList(words).subList(2, words.length)) {
            if (word.startsWith("@")) {
                timestamp = Long.parseLong(word.substring(1));
            } else if (word.startsWith("key=")) {
                value += "/" + word.substring(4);
            } else {
                throw new IllegalArgumentException("no part of Flink's records: " + word);
            }
        }
        harness.processElement(timestamp == null ? new StreamRecord<>(value) : new StreamRecord<>(value, timestamp));
        return "accepted";
    }

    private String answered() throws Exception {
        if (retry != null || isKeyOrdered()) {
            runMails();
        }
        return ANY;
    }

    private String poll(String[] words) throws Exception {
        if (words.length == 1) {
            runMails();
            return outputs() + (failure() == null ? "" : " more");
        }
        int max = Integer.parseInt(words[1].substring("max=".length()));
        int before = queue().size();
        while (before - queue().size() < max && runMail()) {}
        boolean more = queue().hasCompletedElements() || harness.getTaskMailbox().hasMail();
        return outputs() + (more ? " more" : "");
    }

    private String restore(String[] words) throws Exception {
        for (String word : Arrays.asList(words).subList(2, words.length)) {
            if (word.startsWith("cap=")) {
                capacity = Integer.parseInt(word.substring("cap=".length()));
            } else {
                mode = word.substring("mode=".length());
            }
        }
        open(snapshots.get(words[1]));
        return "-";
    }

    private void open(OperatorSubtaskState state) throws Exception {
        futures.clear();
        seen = 0;
        if (isKeyOrdered()) {
            KeySelector<String, String> key = value -> value.contains("/") ? value.split("/")[1] : "";
            harness = new KeyedOneInputStreamOperatorTestHarness<>(
                    new TableKeyedAsyncWaitOperatorFactory<>(new Lookup(), key, timeout, capacity),
                    key, BasicTypeInfo.STRING_TYPE_INFO, StringSerializer.INSTANCE);
        } else {
            OutputMode order = mode.equals("ordered") ? OutputMode.ORDERED : OutputMode.UNORDERED;
            AsyncWaitOperatorFactory<String, String> factory = retry == null
                    ? new AsyncWaitOperatorFactory<>(new Lookup(), timeout, capacity, order)
                    : new AsyncWaitOperatorFactory<>(new Lookup(), timeout, capacity, order, retry);
            harness = new OneInputStreamOperatorTestHarness<>(factory, StringSerializer.INSTANCE);
        }
        harness.getEnvironment().setExpectedExternalFailureCause(Throwable.class);
        harness.setProcessingTime(0);
        if (state != null) {
            harness.initializeState(state);
        }
        harness.open();
    }

    private boolean isKeyOrdered() {
        return mode.equals("key-ordered");
    }

    private StreamElementQueue<?> queue() throws Exception {
        return (StreamElementQueue<?>) field("queue");
    }

    private int used() throws Exception {
        return isKeyOrdered() ? ((AtomicInteger) field("totalInflightNum")).get() : queue().size();
    }

    private Object field(String name) throws Exception {
        Object operator = harness.getOneInputOperator();
        for (Class<?> type = operator.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(operator);
                }
            }
        }
        throw new NoSuchFieldException(name);
    }

    private boolean runMail() throws Exception {
        var mail = harness.getTaskMailbox().tryTake(TaskMailbox.MIN_PRIORITY);
        if (mail.isPresent()) {
            mail.get().run();
        }
        return mail.isPresent();
    }

    private void runMails() throws Exception {
        while (runMail()) {}
    }

    private String outputs() {
        List<Object> all = new ArrayList<>(harness.getOutput());
        String shown = all.subList(seen, all.size()).stream().map(FlinkOperator::shown).collect(Collectors.joining(" "));
        seen = all.size();
        return "[" + shown + "]";
    }

    private static String shown(Object output) {
        if (output instanceof StreamRecord) {
            StreamRecord<?> record = (StreamRecord<?>) output;
            return record.getValue() + "@" + (record.hasTimestamp() ? record.getTimestamp() : "-");
        }
        if (output instanceof Watermark) {
            return "W" + ((Watermark) output).getTimestamp();
        }
        return output.toString().contains("IDLE") ? "idle" : "active";
    }

    private String listed() throws Exception {
        return queue().values().stream().map(FlinkOperator::listed).collect(Collectors.joining(" ", "{", "}"));
    }

    private static String listed(StreamElement element) {
        if (!element.isRecord()) {
            return "W" + element.asWatermark().getTimestamp();
        }
        StreamRecord<String> record = element.asRecord();
        return name(record.getValue()) + (record.hasTimestamp() ? "@" + record.getTimestamp() : "");
    }

    private static TreeSet<String> elements(String listed) {
        return new TreeSet<>(Arrays.asList(listed.replaceAll("[{}]", "").split(" ")));
    }

    private ResultFuture<String> future(String attempt) {
        String[] parts = attempt.split("#");
        return futures.get(parts[0]).get(Integer.parseInt(parts[1]) - 1);
    }

    private static String name(String value) {
        return value.split("/")[0];
    }

    private static List<String> values(String text) {
        return text.isBlank() ? new ArrayList<>() : new ArrayList<>(Arrays.asList(text.trim().split(" +")));
    }

    private static String between(String text, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        if (!matcher.find()) {
            throw new IllegalArgumentException(text);
        }
        return matcher.group(1);
    }

    private static String setting(String settings, String name, String otherwise) {
        Matcher matcher = Pattern.compile("(?:^| )" + name + "=(\\S+?\\[[^\\]]*\\]|\\S+)").matcher(settings);
        return matcher.find() ? matcher.group(1) : otherwise;
    }

    private static AsyncRetryStrategy<String> retryStrategy(String text) {
        if (text.equals("none")) {
            return null;
        }
        String[] parts = between(text, "\\((.*)\\)").split(",");
        String on = parts[parts.length - 1];
        boolean onEmpty = !on.equals("error");
        boolean onError = !on.equals("empty");
        int attempts = Integer.parseInt(parts[0]);
        long delay = Long.parseLong(parts[1]);
        if (text.startsWith("fixed")) {
            var builder = new AsyncRetryStrategies.FixedDelayRetryStrategyBuilder<String>(attempts, delay);
            if (onEmpty) {
                builder.ifResult(RetryPredicates.EMPTY_RESULT_PREDICATE);
            }
            if (onError) {
                builder.ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE);
            }
            return builder.build();
        }
        var builder = new AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder<String>(
                attempts, delay, Long.parseLong(parts[2]), Double.parseDouble(parts[3]));
        if (onEmpty) {
            builder.ifResult(RetryPredicates.EMPTY_RESULT_PREDICATE);
        }
        if (onError) {
            builder.ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE);
        }
        return builder.build();
    }

    /** Notes what it is asked for; answers come by commands. */
    private final class Lookup implements AsyncFunction<String, String> {
        @Override
        public void asyncInvoke(String input, ResultFuture<String> result) {
            List<ResultFuture<String>> attempts = futures.computeIfAbsent(name(input), name -> new ArrayList<>());
            attempts.add(result);
            starts.add(name(input) + "#" + attempts.size());
        }

        @Override
        public void timeout(String input, ResultFuture<String> result) throws Exception {
            timeouts.add(name(input));
            if (onTimeout.startsWith("emit[")) {
                result.complete(values(between(onTimeout, "\\[(.*)\\]")));
            } else {
                AsyncFunction.super.timeout(input, result);
            }
        }
    }
}
