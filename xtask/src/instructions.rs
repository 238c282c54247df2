//! `cargo xtask instructions`: what a record costs in the core, counted by callgrind.

use std::{collections::HashMap, path::Path};

use crate::{
    setup,
    shell::{Failure, output_of, project, run_with},
};

/// Instructions of the core's own code for one record of batches of 100, from push to output, with a timeout: what is better is
/// written here, and what is worse by more than [`TOLERANCE`] fails.
const WRITTEN: [(&str, u64); 3] = [("ordered", 119), ("unordered", 121), ("key-ordered", 447)];

/// Hundredths that a change may cost.
const TOLERANCE: u64 = 3;

/// What is to be counted.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only compare what a record costs in batches with what it did before.
    #[arg(long)]
    check: bool,
}

/// Counts, and prints a table for each step.
pub(crate) fn run_all(arguments: &Arguments) -> Result<(), Failure> {
    setup::valgrind()?;
    if arguments.check {
        return check();
    }
    let runner = setup::gungraun_runner()?;
    let line = ["bench", "--profile", "release", "--workspace", "--bench", "instructions"];
    run_with("cargo", &line, |command| command.env("GUNGRAUN_RUNNER", runner))
}

/// Fails where a record costs more than it did. The bench program is there, since the tests build it.
pub(crate) fn check() -> Result<(), Failure> {
    setup::valgrind()?;
    let mut worse = Vec::new();
    for (mode, written) in WRITTEN {
        // Without what opening and the first batches cost.
        const RECORDS: [u64; 2] = [10_000, 50_000];
        let [few, many] = RECORDS.map(|records| count(mode, records));
        let cost = many?.saturating_sub(few?) / (RECORDS[1] - RECORDS[0]);
        let most = written + written * TOLERANCE / 100;
        eprintln!("{mode}: {cost} instructions a record; {most} at most");
        if cost > most {
            worse.push(format!("{mode}: a record costs {cost} instructions; it was {written}, and {most} is the most"));
        }
    }
    if worse.is_empty() { Ok(()) } else { Err(Failure::Unexpected(worse.join("\n"))) }
}

/// Instructions of the core's own code in a run of so many records.
fn count(mode: &str, records: u64) -> Result<u64, Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("callgrind.out");
    let program = project().join("target").join("release").join("lookaside-bench").display().to_string();
    let (out, records) = (format!("--callgrind-out-file={}", file.display()), records.to_string());
    let valgrind = ["--quiet", "--tool=callgrind", &out, &program];
    let bench = ["--peer", "project-native", "--mode", mode, "--records", &records, "--timeout-ms", "60000"];
    output_of("valgrind", &[&valgrind[..], &bench, &["--warmup", "1000", "--reps", "1"]].concat())?;
    core_instructions(&file)
}

/// What the functions of the core cost by themselves: that of the C library differs from machine to machine.
fn core_instructions(file: &Path) -> Result<u64, Failure> {
    let text = std::fs::read_to_string(file)?;
    // A name is told once, and its number from then on.
    let mut is_core: HashMap<&str, bool> = HashMap::new();
    let (mut counts, mut is_call, mut sum) = (false, false, 0);
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            counts = *is_core.entry(number).or_insert_with(|| is_of_core(name));
        } else if let Some(function) = line.strip_prefix("cfn=") {
            if let Some((number, name)) = function.split_once(' ') {
                is_core.entry(number).or_insert_with(|| is_of_core(name));
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            // The line behind a call is what the callee cost.
            if counts && !is_call {
                sum += line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or_default();
            }
            is_call = false;
        }
    }
    Ok(sum)
}

/// Whether a function is the operator's: one of columns that only the bench program calls counts where it is not inlined
/// there, and that changes from build to build.
fn is_of_core(name: &str) -> bool {
    const CALLED_BY_HOSTS: [&str; 3] = ["CompletionBatchBuilder", "RecordBatchBuilder", "RequestBatch::"];
    name.contains("lookaside_core") && !CALLED_BY_HOSTS.iter().any(|column| name.contains(column))
}
