//! `lookaside-bench`: measures Lookaside beside what it stands on and what it is compared with.

mod backends;
mod edges;
mod instances;
mod limits;
mod meter;
mod operator;
mod peer;
mod run;
mod services;
mod stores;
mod sweep;

use clap::{Parser, Subcommand};

/// Measures Lookaside; `cargo xtask bench` runs it with the servers that it needs.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Without a command: one measurement, as the other operators' programs take it.
    #[command(flatten)]
    one: peer::Arguments,
}

#[derive(Subcommand)]
enum What {
    /// Lookups in each backend, beside what the backend itself can do.
    Backends(backends::Arguments),
    /// Peaks, hot keys, slow records, failures that many share, and large operators.
    Edges(edges::Arguments),
    /// What operators cost before they do anything, and what a record holds in flight.
    Instances(instances::Arguments),
    /// The operator itself: w1 to w4, through the component, the core, and the package in Node.
    Operator(operator::Arguments),
    /// What a record costs by size of batch, payload and capacity, drawn as plots.
    Sweep(sweep::Arguments),
}

fn main() -> anyhow::Result<()> {
    let Arguments { what, one } = Arguments::parse();
    match what {
        Some(What::Backends(arguments)) => backends::run(&arguments),
        Some(What::Edges(arguments)) => edges::run(&arguments),
        Some(What::Instances(arguments)) => instances::run(&arguments),
        Some(What::Operator(arguments)) => operator::run(&arguments),
        Some(What::Sweep(arguments)) => sweep::run(&arguments),
        None => peer::run(&one),
    }
}
