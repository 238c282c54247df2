//! `cargo xtask scenarios`.

use crate::{
    setup,
    shell::{self, Failure},
};

/// What the scenario runner takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which host: native, wasmtime, and after `cargo xtask web --build` node or chromium.
    #[arg(long)]
    pub(crate) host: String,
    /// The files; all of tests/scenarios where none is named.
    pub(crate) files: Vec<String>,
}

/// Runs them; fails where one does.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    setup::targets()?;
    let mut line = vec!["run", "--quiet", "--release", "--package", "lookaside-tests", "--bin", "scenarios", "--"];
    line.extend(["--host", &arguments.host]);
    line.extend(arguments.files.iter().map(String::as_str));
    shell::run("cargo", &line)
}
