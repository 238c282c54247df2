//! `cargo xtask scenarios`.

use crate::{
    setup,
    shell::{Failure, build_and_run, run as run_program, run_built},
};

/// What the scenario runner takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which host: native, model, wasmtime, and after `cargo xtask web --build` node or chromium.
    #[arg(long)]
    pub(crate) host: String,
    /// The files; all of tests/scenarios where none is named.
    pub(crate) files: Vec<String>,
}

/// Runs them; fails where one does.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let files: Vec<&str> = arguments.files.iter().map(String::as_str).collect();
    run_host(&arguments.host, &files)
}

/// Runs `files` on a host, or all there are; builds what that host needs.
pub(crate) fn run_host(host: &str, files: &[&str]) -> Result<(), Failure> {
    let line = [&["--host", host][..], files].concat();
    if matches!(host, "native" | "model") {
        // Neither has a component, nor wasmtime.
        run_program(
            "cargo",
            &["build", "--quiet", "--release", "-p", "lookaside-tests", "--no-default-features", "--bins"],
        )?;
        return run_built("scenarios", &line);
    }
    setup::targets()?;
    build_and_run("scenarios", &line)
}
