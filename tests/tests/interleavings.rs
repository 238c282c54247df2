//! Every interleaving within small bounds; `cargo xtask soak` goes through larger ones.

use lookaside_core::Order;
use lookaside_tests::interleavings::{Bounds, count};

fn all_orders(bounds: Bounds) {
    for order in [Order::Ordered, Order::Unordered, Order::KeyOrdered] {
        let (interleavings, situations) = count(order, bounds);
        println!("{order:?} with {bounds:?}: {interleavings} interleavings, {situations} situations");
        assert!(interleavings > 1_000);
    }
}

#[test]
fn two_records_with_everything() {
    for shared in [false, true] {
        all_orders(Bounds { records: 2, watermarks: 1, restores: 1, failures: true, shared });
    }
}

#[test]
fn three_records_with_failures_and_retries() {
    for shared in [false, true] {
        all_orders(Bounds { records: 3, watermarks: 0, restores: 0, failures: true, shared });
    }
}

#[test]
fn four_records_with_deadlines() {
    all_orders(Bounds { records: 4, watermarks: 1, restores: 0, failures: false, shared: false });
}
