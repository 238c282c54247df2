//! Runs made-up plans against the naive model, and on the component.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use lookaside_tests::{
    compare::{as_scenario, compare, shortest},
    host::HostKind,
    plan::{Plan, Shape},
};

/// Simulates the operator with backends that are slow, lossy, answer twice and fail, and with
/// crashes: each seed makes up a run, which the naive model must agree with at every step.
#[derive(Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value = "1000")]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value = "0")]
    first: u64,
    /// Settings that all runs have, as in the line `set:` of a scenario; others are drawn.
    #[arg(long, default_value = "")]
    config: String,
    /// Which host is tested.
    #[arg(long, value_enum, default_value = "native")]
    host: HostKind,
    /// Which host it must agree with, step by step.
    #[arg(long, value_enum, default_value = "model")]
    against: HostKind,
    /// Commands a run; drawn where not given.
    #[arg(long)]
    commands: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let shape = Shape { fixed: arguments.config.clone(), commands: arguments.commands };
    if let Err(reason) = check_config(&arguments.config) {
        eprintln!("--config: {reason}");
        return ExitCode::from(2);
    }
    let start = Instant::now();
    let mut steps = 0;
    for seed in arguments.first..arguments.first + arguments.seeds {
        let plan = Plan::from_seed(seed, &shape);
        steps += plan.commands.len();
        if let Err(divergence) = compare(&plan, arguments.host, Some(arguments.against)) {
            println!("seed {seed}: {divergence}\n");
            let short = shortest(&plan, |plan| compare(plan, arguments.host, Some(arguments.against)).is_err());
            println!(
                "{}",
                as_scenario(&short, &format!("SIM-{seed}"), "what the reference says of it", arguments.against)
            );
            println!("0 passed, 1 failed");
            return ExitCode::FAILURE;
        }
    }
    let elapsed = start.elapsed().max(Duration::from_millis(1));
    let rate = steps as f64 * 60.0 / elapsed.as_secs_f64();
    eprintln!("{steps} steps in {:.1} s: {:.1} million a minute", elapsed.as_secs_f64(), rate / 1e6);
    println!("{} passed, 0 failed", arguments.seeds);
    ExitCode::SUCCESS
}

/// Whether the settings make sense, with those that are drawn.
fn check_config(config: &str) -> Result<(), String> {
    let mode = if config.split_whitespace().any(|setting| setting.starts_with("mode=")) { "" } else { " mode=ordered" };
    lookaside_tests::scenario::Settings::parse(&format!("{config}{mode}")).map(drop)
}
