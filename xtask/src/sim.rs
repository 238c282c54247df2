//! `cargo xtask sim`.

use crate::{
    setup,
    shell::{Failure, build_and_run},
};

/// What the simulator takes.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many seeds; each makes up one run.
    #[arg(long, default_value = "10000")]
    pub(crate) seeds: u64,
    /// The first seed.
    #[arg(long, default_value = "0")]
    pub(crate) first: u64,
    /// Settings that all runs have, as in the line `set:` of a scenario; others are drawn.
    #[arg(long, default_value = "")]
    pub(crate) config: String,
    /// Which host is tested: native, wasmtime, and after `cargo xtask web --build` node or chromium.
    #[arg(long, default_value = "native")]
    pub(crate) host: String,
    /// Which one it must agree with at every step: model or native.
    #[arg(long, default_value = "model")]
    pub(crate) against: String,
}

/// Runs it; a run that fails is printed with its seed, and as the shortest scenario that still fails.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    setup::targets()?;
    let (seeds, first) = (arguments.seeds.to_string(), arguments.first.to_string());
    let mut line = vec!["--seeds", &seeds, "--first", &first, "--config", &arguments.config];
    line.extend(["--host", &arguments.host, "--against", &arguments.against]);
    build_and_run("sim", &line)
}

/// So many seeds of one host against another, with drawn settings.
pub(crate) fn seeds(seeds: u64, host: &str, against: &str) -> Result<(), Failure> {
    let (host, against) = (host.to_owned(), against.to_owned());
    run(&Arguments { seeds, first: 0, config: String::new(), host, against })
}
