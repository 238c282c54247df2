//! Lookaside's task runner: `cargo xtask demo`, `cargo xtask test` and the rest.

mod bench;
mod check;
mod demo;
mod instructions;
mod reference;
mod scenarios;
mod services;
mod setup;
mod shell;
mod sim;
mod soak;
mod test;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, shows and tests Lookaside; sets up what that needs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Enrich real flights with real airports, and show why asynchrony pays.
    Demo,
    /// What needs no servers, Java or browser: format, lints, unit tests, scenarios on the core; a minute or two.
    Check,
    /// Set up and run every test there is.
    Test,
    /// Run scenario files on a host; ends with `N passed, N failed`.
    Scenarios(scenarios::Arguments),
    /// Simulate the operator with made-up runs, which the naive model must agree with.
    Sim(sim::Arguments),
    /// Run the scenarios on the real Flink operator classes, and compare.
    Reference,
    /// Start or stop the servers that tests and examples look up in.
    Services(services::Arguments),
    /// Measure what Lookaside costs, beside what it stands on.
    Bench(bench::Arguments),
    /// Build the package for browsers and Node, in web/package, and serve the page that shows it.
    Web(web::Arguments),
    /// Count the instructions that a record costs in the core, under valgrind.
    Instructions(instructions::Arguments),
    /// What takes long: fuzzing, larger interleavings, and many more made-up runs.
    Soak(soak::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Demo => demo::run_demo(),
        Task::Check => check::run_all(),
        Task::Test => test::run_all(),
        Task::Scenarios(arguments) => scenarios::run(&arguments),
        Task::Sim(arguments) => sim::run(&arguments),
        Task::Reference => reference::run_all(),
        Task::Services(arguments) => services::run_one(&arguments),
        Task::Bench(arguments) => bench::run_all(&arguments),
        Task::Web(arguments) => web::run(&arguments),
        Task::Instructions(arguments) => instructions::run_all(&arguments),
        Task::Soak(arguments) => soak::run_all(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("cargo xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
