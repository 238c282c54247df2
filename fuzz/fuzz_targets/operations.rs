//! Any sequence of operations: the core agrees with the naive model at every step.
//!
//! The first bytes are the seed of the settings; each later one cuts a made-up run or picks another.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookaside_tests::{
    compare::{as_scenario, compare},
    host::HostKind,
    plan::{Plan, Shape},
};

fuzz_target!(|data: (u64, Vec<(u64, u8, u8)>)| {
    let (settings, pieces) = data;
    let mut plan = Plan::from_seed(settings, &Shape { commands: Some(0), ..Shape::default() });
    for (seed, skipped, taken) in pieces.into_iter().take(12) {
        let piece = Plan::from_seed(seed, &Shape { fixed: plan.set.clone(), commands: None });
        let commands = piece.commands.into_iter().skip(skipped.into()).take(usize::from(taken % 16));
        plan.commands.extend(commands);
    }
    // Pieces push records of equal names: what shows of them does not tell them apart.
    plan.shows_all = false;
    if let Err(divergence) = compare(&plan, HostKind::Native, Some(HostKind::Model)) {
        panic!("{divergence}\n{}", as_scenario(&plan, "FUZZ-01", "a fuzzed run", HostKind::Model));
    }
});
