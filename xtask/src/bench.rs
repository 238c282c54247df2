//! `cargo xtask bench`: what Lookaside costs, beside what it stands on.

use crate::{
    services, setup,
    shell::{Failure, project, run},
};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the bench program is told; `backends` where nothing is said.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the program, starts the servers that it needs, and runs it.
pub(crate) fn run_all(arguments: &Arguments) -> Result<(), Failure> {
    setup::targets()?;
    // As the tests build it, so that nothing is built twice.
    run("cargo", &["test", "--release", "--workspace", "--no-run", "--test", "smoke"])?;
    let _running = services::Running::start()?;
    let program = project().join("target").join("release").join("lookaside-bench").display().to_string();
    let mut line: Vec<&str> = arguments.arguments.iter().map(String::as_str).collect();
    if line.is_empty() {
        line.push("backends");
    }
    run(&program, &line)
}
