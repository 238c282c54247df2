//! Programs that tasks run.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A task did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A program could not be started.
    #[error("{program} cannot be started: {source}; {help}")]
    NotStarted {
        /// Which program.
        program: String,
        /// Why.
        source: std::io::Error,
        /// What to do.
        help: &'static str,
    },
    /// A program ended with an error.
    #[error("`{line}` ended with {status}")]
    Failed {
        /// What was run.
        line: String,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// What a program gave is not what was expected.
    #[error("{0}")]
    Unexpected(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The folder of the whole project.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Runs a program in the project's folder, its output passed through.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    run_with(program, arguments, |command| command)
}

/// Builds this project as the tests build it, and runs one of its programs: by itself a package is built with other features, and
/// wasmtime takes minutes.
pub(crate) fn build_and_run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    run("cargo", &["test", "--quiet", "--release", "--workspace", "--no-run"])?;
    run_built(program, arguments)
}

/// Runs a program of this project that is built.
pub(crate) fn run_built(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let program = project().join("target").join("release").join(program);
    run(&program.display().to_string(), arguments)
}

/// As [`run`], in another folder.
pub(crate) fn run_in(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), Failure> {
    run_with(program, arguments, |command| command.current_dir(folder))
}

/// As [`run`], with the command changed by `change` first.
pub(crate) fn run_with(
    program: &str,
    arguments: &[&str],
    change: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(project()).stdin(Stdio::null());
    let status = change(&mut command).status().map_err(|source| not_started(program, source))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Failed { line: format!("{program} {}", arguments.join(" ")), status })
}

/// Runs a program and gives what it writes to stdout and stderr.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Result<(String, String), Failure> {
    let output = Command::new(program).args(arguments).current_dir(project()).stdin(Stdio::null()).output();
    let output = output.map_err(|source| not_started(program, source))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok((text(&output.stdout), text(&output.stderr)));
    }
    eprint!("{}", text(&output.stderr));
    Err(Failure::Failed { line: format!("{program} {}", arguments.join(" ")), status: output.status })
}

fn not_started(program: &str, source: std::io::Error) -> Failure {
    let help = match program {
        "rustup" => "Rust must come from rustup, which brings the WebAssembly targets: see its site",
        _ => "install it and try again",
    };
    Failure::NotStarted { program: program.to_owned(), source, help }
}
