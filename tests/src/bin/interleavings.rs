//! Goes through every interleaving within bounds, and says how many there are.

use clap::Parser;
use lookaside_core::Order;
use lookaside_tests::{
    interleavings::{Bounds, count},
    mailbox_loop,
};

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

/// Bounds of the mailbox loop, which take seconds.
const LOOP: &[mailbox_loop::Bounds] = {
    const PLAIN: mailbox_loop::Bounds = mailbox_loop::Bounds {
        records: 3,
        statuses: 0,
        capacity: 2,
        taken_at_once: 1,
        repeated: 2,
        failures: false,
        times_out: false,
        shared: false,
    };
    &[
        PLAIN,
        mailbox_loop::Bounds { records: 2, statuses: 4, repeated: 0, ..PLAIN },
        mailbox_loop::Bounds { taken_at_once: 100, ..PLAIN },
        mailbox_loop::Bounds { records: 2, times_out: true, ..PLAIN },
        mailbox_loop::Bounds { records: 2, failures: true, ..PLAIN },
        mailbox_loop::Bounds { records: 2, failures: true, times_out: true, shared: true, repeated: 0, ..PLAIN },
    ]
};

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
    for &bounds in LOOP {
        for order in orders {
            let situations = mailbox_loop::count(order, bounds);
            println!("mailbox loop, {order:?} with {bounds:?}: {situations} situations");
        }
    }
    println!("{} passed, 0 failed", (bounds.len() + LOOP.len()) * orders.len());
}
