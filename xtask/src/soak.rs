//! `cargo xtask soak`: what takes long.

use crate::{
    shell::{Failure, run},
    sim,
};

/// Runs the larger interleavings, and many more made-up runs.
pub(crate) fn run_all() -> Result<(), Failure> {
    run("cargo", &["run", "--quiet", "--release", "--package", "lookaside-tests", "--bin", "interleavings"])?;
    sim::seeds(1_000_000, "native", "model")?;
    sim::seeds(50_000, "wasmtime", "native")
}
