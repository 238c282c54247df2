//! Runs scenario files on a host.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use lookaside_tests::{host::HostKind, run, scenario};

/// Runs scenario files on a host.
#[derive(Parser)]
struct Arguments {
    /// Which host.
    #[arg(long, value_enum)]
    host: HostKind,
    /// The files; all of tests/scenarios where none is named.
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run_all(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the scenarios and says how many failed.
fn run_all(arguments: &Arguments) -> Result<usize, String> {
    let (mut passed, mut failed) = (0, 0);
    for file in files(arguments)? {
        for scenario in scenario::read(&file).map_err(|error| error.to_string())? {
            match run::run(&scenario, arguments.host) {
                Ok(()) => passed += 1,
                Err(mismatch) => {
                    failed += 1;
                    println!("{}: {}", scenario.id, scenario.why);
                    println!("  {}:{}: {}", file.display(), mismatch.line, mismatch.step);
                    println!("    expected {}", mismatch.expected);
                    println!("    got      {}", mismatch.got);
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed)
}

fn files(arguments: &Arguments) -> Result<Vec<PathBuf>, String> {
    if !arguments.files.is_empty() {
        return Ok(arguments.files.clone());
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"));
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.sort();
    Ok(files)
}
