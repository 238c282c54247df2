//! `cargo xtask scenarios`.

use crate::{
    setup,
    shell::{Failure, build_and_run},
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
    let mut line = vec!["--host", &arguments.host];
    line.extend(arguments.files.iter().map(String::as_str));
    build_and_run("scenarios", &line)
}
