//! `cargo xtask soak`: what takes long.

use crate::{
    setup,
    shell::{Failure, build_and_run, run},
    sim,
};

/// What the fuzz targets in `fuzz/` are called.
const TARGETS: [&str; 3] = ["columns", "snapshot", "operations"];

/// What takes long, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds that each fuzz target runs.
    #[arg(long, default_value = "60")]
    fuzz_seconds: u32,
    /// Fuzz, and nothing else.
    #[arg(long)]
    fuzz_only: bool,
}

/// Fuzzes, and runs the larger interleavings and many more made-up runs.
pub(crate) fn run_all(arguments: &Arguments) -> Result<(), Failure> {
    fuzz(arguments.fuzz_seconds)?;
    if arguments.fuzz_only {
        return Ok(());
    }
    build_and_run("interleavings", &["--large"])?;
    sim::seeds(1_000_000, "native", "model")?;
    sim::seeds(50_000, "wasmtime", "native")
}

fn fuzz(seconds: u32) -> Result<(), Failure> {
    setup::targets()?;
    let cargo_fuzz = setup::cargo_fuzz()?;
    let seconds = format!("-max_total_time={seconds}");
    for target in TARGETS {
        // The core has no unsafe code for a sanitizer to watch, and without one no nightly compiler is needed.
        let line = ["run", "--sanitizer", "none", target, "--", &seconds, "-max_len=4096", "-verbosity=0"];
        run(&cargo_fuzz, &line)?;
        eprintln!("fuzzed {target}: nothing found");
    }
    Ok(())
}
