//! `cargo xtask bench`: what Lookaside costs, beside what it stands on.

use crate::{
    services, setup,
    shell::{Failure, project, run},
    web,
};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the bench program is told: `operator`, `instances` or `backends`, with their options; all where nothing is said.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Builds the programs, starts the servers that are needed, and runs.
pub(crate) fn run_all(arguments: &Arguments) -> Result<(), Failure> {
    setup::targets()?;
    // It builds the bench program, too.
    web::build()?;
    let program = project().join("target").join("release").join("lookaside-bench").display().to_string();
    let line: Vec<&str> = arguments.arguments.iter().map(String::as_str).collect();
    let needs_servers = match line.first() {
        Some(&"operator") => line.len() == 1 || line.contains(&"w4"),
        Some(&"instances") => false,
        _ => true,
    };
    let _running = needs_servers.then(services::Running::start).transpose()?;
    if !line.is_empty() {
        return run(&program, &line);
    }
    run(&program, &["operator"])?;
    run(&program, &["instances"])?;
    run(&program, &["backends"])
}
