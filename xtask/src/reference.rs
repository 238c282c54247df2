//! `cargo xtask reference`: the scenarios on the real Flink operator classes.

use std::path::{Path, PathBuf};

use crate::shell::{Failure, output_of, project, run};

/// Flink reaches into the platform's classes by reflection.
const OPENED: [&str; 2] =
    ["--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED"];

/// Runs the scenarios that are marked to run, where Java and Maven are there.
pub(crate) fn run_where_possible() -> Result<(), Failure> {
    for (program, version) in [("javac", "-version"), ("mvn", "--version")] {
        if output_of(program, &[version]).is_err() {
            eprintln!("not compared with Flink: {program} is not installed; it needs a JDK of 17 or newer, and Maven");
            return Ok(());
        }
    }
    run_all()
}

/// Runs the scenarios, and fails where a mark is not true.
pub(crate) fn run_all() -> Result<(), Failure> {
    let sources = project().join("tests").join("reference");
    let built = project().join("target").join("reference");
    std::fs::create_dir_all(&built)?;
    let class_path = class_path(&sources, &built)?;
    let java = |name: &str| sources.join("src").join(name).display().to_string();
    let built = built.display().to_string();
    run("javac", &["-d", &built, "-cp", &class_path, &java("FlinkOperator.java"), &java("Reference.java")])?;

    let files = scenario_files()?;
    let mut line = OPENED.to_vec();
    let class_path = format!("{class_path}:{built}");
    line.extend(["-cp", &class_path, "Reference"]);
    line.extend(files.iter().map(String::as_str));
    let (verdicts, _) = output_of("java", &line)?;
    let untrue: Vec<&str> = verdicts.lines().filter(|verdict| !is_true(verdict)).collect();
    for verdict in &untrue {
        println!("not as marked: {verdict}");
    }
    let count = verdicts.lines().count();
    println!("{} passed, {} failed", count - untrue.len(), untrue.len());
    if count == 0 || !untrue.is_empty() {
        return Err(Failure::Unexpected("Flink does not stand to the scenarios as they say".into()));
    }
    Ok(())
}

/// Whether `ID MARK VERDICT ...` goes together.
fn is_true(verdict: &str) -> bool {
    let mut words = verdict.split(' ').skip(1);
    let (mark, verdict) = (words.next(), words.next());
    matches!((mark, verdict), (Some("same" | "same-sorted"), Some("same")) | (Some("differs"), Some("other")))
}

/// Flink's classes and what they need, fetched once.
fn class_path(sources: &Path, built: &Path) -> Result<String, Failure> {
    let file = built.join("class-path.txt");
    let pom = sources.join("pom.xml");
    let is_newer = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if is_newer(&file) < is_newer(&pom) {
        eprintln!("fetching Flink's classes, once");
        let (pom, file) = (pom.display().to_string(), format!("-Dmdep.outputFile={}", file.display()));
        run("mvn", &["-q", "-B", "-f", &pom, "dependency:build-classpath", &file])?;
    }
    Ok(std::fs::read_to_string(file)?.trim().to_owned())
}

fn scenario_files() -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(project().join("tests").join("scenarios"))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    Ok(files.into_iter().map(|path| path.display().to_string()).collect())
}
