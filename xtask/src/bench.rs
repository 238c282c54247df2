//! `cargo xtask bench`: what Lookaside costs, beside what it stands on.

use crate::{
    services, setup,
    shell::{Failure, project, run, run_in},
    web,
};

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What the bench program is told: `operator`, `instances`, `edges`, `backends` or `sweep`, with their options; or
    /// `browser`, for the package in a worker of Chromium. All but the sweep where nothing is said.
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
        Some(&"edges" | &"instances" | &"sweep" | &"browser") => false,
        _ => true,
    };
    if line.first() == Some(&"browser") {
        return browser(&line[1..]);
    }
    let _running = needs_servers.then(services::Running::start).transpose()?;
    if !line.is_empty() {
        return run(&program, &line);
    }
    run(&program, &["operator"])?;
    run(&program, &["instances"])?;
    run(&program, &["backends"])?;
    browser(&[])
}

/// Measures the package in a worker of Chromium.
fn browser(options: &[&str]) -> Result<(), Failure> {
    setup::chromium()?;
    run_in(&project().join("web"), "node", &[&["bench/browser.mjs"][..], options].concat())
}
