//! Scenarios, as `tests/scenarios/README.md` describes them.

mod settings;
mod step;

use std::path::{Path, PathBuf};

pub use settings::{Settings, TimedOutValues};
pub use step::{Command, Step};

/// One scenario of a file.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its unique name.
    pub id: String,
    /// What it shows.
    pub why: String,
    /// How the operator is opened.
    pub settings: Settings,
    /// How Flink stands to it.
    pub flink: String,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// A scenario file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: {reason}", .path.display())]
pub struct ScenarioError {
    /// Which file.
    pub path: PathBuf,
    /// From 1; 0 where no line is to blame.
    pub line: usize,
    /// What was expected and what is there.
    pub reason: String,
}

/// Reads the scenarios of a file, in order.
///
/// # Errors
///
/// [`ScenarioError`] with the first line that makes no sense.
pub fn read(path: &Path) -> Result<Vec<Scenario>, ScenarioError> {
    let at = |line: usize| move |reason: String| ScenarioError { path: path.to_owned(), line, reason };
    let text = std::fs::read_to_string(path).map_err(|error| at(0)(error.to_string()))?;
    let mut scenarios = Vec::new();
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    while let Some((start, line)) = lines.next() {
        if line.trim_end() != "```scenario" {
            continue;
        }
        let mut block = Vec::new();
        loop {
            match lines.next() {
                Some((_, "```")) => break,
                Some(line) => block.push(line),
                None => return Err(at(start)("the block has no end".into())),
            }
        }
        scenarios.push(parse(start, &block).map_err(|(line, reason)| at(line)(reason))?);
    }
    Ok(scenarios)
}

fn parse(start: usize, block: &[(usize, &str)]) -> Result<Scenario, (usize, String)> {
    let script =
        block.iter().position(|(_, line)| *line == "script:").ok_or((start, "the block has no script".into()))?;
    let field = |name: &str| {
        let found = block[..script].iter().find_map(|(line, text)| {
            let (key, value) = text.split_once(':')?;
            (key.trim() == name).then(|| (*line, value.trim().to_owned()))
        });
        found.ok_or_else(|| (start, format!("the block has no `{name}:`")))
    };
    let (settings_line, settings) = field("set")?;
    let steps = block[script + 1..]
        .iter()
        .map(|(line, text)| Step::parse(*line, text).map_err(|reason| (*line, reason)))
        .collect::<Result<Vec<_>, _>>()?;
    field("src")?;
    Ok(Scenario {
        id: field("id")?.1,
        why: field("why")?.1,
        settings: Settings::parse(&settings).map_err(|reason| (settings_line, reason))?,
        flink: field("flink")?.1,
        steps,
    })
}
