//! `cargo xtask check`: what a change must pass before it is shown to anybody; no servers, no Java, no browser.

use std::time::Instant;

use crate::{
    scenarios, setup,
    shell::{Failure, run, run_built},
};

/// Checks, and stops at the first that fails.
pub(crate) fn run_all() -> Result<(), Failure> {
    let start = Instant::now();
    setup::targets()?;
    run("cargo", &["fmt", "--all", "--check"])?;
    run("cargo", &["clippy", "--quiet", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    // With the features that all tests together have, so that wasmtime is not built a second time for them.
    let units = ["test", "--quiet", "--release", "--workspace", "--lib"];
    run("cargo", &[&units[..], &["--test", "batches", "--test", "edges", "--test", "memory"]].concat())?;
    for host in ["native", "model"] {
        scenarios::run_host(host, &[])?;
    }
    run_built("sim", &["--seeds", "5000", "--host", "native", "--against", "model"])?;
    eprintln!("checked in {} s; `cargo xtask test` runs everything", start.elapsed().as_secs());
    Ok(())
}
