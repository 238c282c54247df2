//! `lookaside-bench`: measures Lookaside beside what it stands on and what it is compared with.

mod backends;
mod meter;
mod run;
mod services;
mod stores;

use clap::{Parser, Subcommand};

/// Measures Lookaside; `cargo xtask bench` runs it with the servers that it needs.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Lookups in each backend, beside what the backend itself can do.
    Backends(backends::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().what {
        What::Backends(arguments) => backends::run(&arguments),
    }
}
