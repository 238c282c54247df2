//! Goes through every interleaving within bounds, and says how many there are.

use clap::Parser;
use lookaside_core::Order;
use lookaside_tests::interleavings::{Bounds, count};

/// Bounds that take seconds.
const SMALL: &[Bounds] = &[
    Bounds { records: 2, watermarks: 1, restores: 1, failures: true, shared: false },
    Bounds { records: 2, watermarks: 1, restores: 1, failures: true, shared: true },
    Bounds { records: 3, watermarks: 0, restores: 0, failures: true, shared: false },
    Bounds { records: 3, watermarks: 0, restores: 0, failures: true, shared: true },
    Bounds { records: 4, watermarks: 1, restores: 0, failures: false, shared: false },
];

/// Bounds that take minutes.
const LARGE: &[Bounds] = &[
    Bounds { records: 3, watermarks: 1, restores: 1, failures: true, shared: false },
    Bounds { records: 3, watermarks: 1, restores: 1, failures: true, shared: true },
    Bounds { records: 4, watermarks: 0, restores: 0, failures: true, shared: false },
    Bounds { records: 4, watermarks: 0, restores: 0, failures: true, shared: true },
];

/// Goes through every order of push, answer, failure, deadline, retry, poll, watermark, snapshot and
/// restore of a few records, against the naive model at each step.
#[derive(Parser)]
struct Arguments {
    /// Within bounds that take minutes, and not seconds.
    #[arg(long)]
    large: bool,
}

fn main() {
    let bounds = if Arguments::parse().large { LARGE } else { SMALL };
    let orders = [Order::Ordered, Order::Unordered, Order::KeyOrdered];
    for &bounds in bounds {
        for order in orders {
            let (interleavings, situations) = count(order, bounds);
            println!("{order:?} with {bounds:?}: {interleavings} interleavings, {situations} situations");
        }
    }
    println!("{} passed, 0 failed", bounds.len() * orders.len());
}
