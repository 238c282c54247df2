//! `cargo xtask instructions`: what a record costs in the core, counted by callgrind.

use crate::{
    setup,
    shell::{Failure, output_of, run_with},
};

/// Counts, and prints a table for each step.
pub(crate) fn run_all() -> Result<(), Failure> {
    if output_of("valgrind", &["--version"]).is_err() {
        return Err(Failure::Unexpected("valgrind is missing; run `apt-get install valgrind`".into()));
    }
    let runner = setup::gungraun_runner()?;
    let line = ["bench", "--profile", "release", "--package", "lookaside-tests", "--bench", "instructions"];
    run_with("cargo", &line, |command| command.env("GUNGRAUN_RUNNER", runner))
}
