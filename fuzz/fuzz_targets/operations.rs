//! Any sequence of operations: the core agrees with the naive model at every step.
//!
//! The first bytes are the seed of the settings; each later one cuts a made-up run or picks another.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookaside_core::EventTime;
use lookaside_tests::{
    compare::{as_scenario, compare},
    host::HostKind,
    plan::{Plan, Shape},
    scenario::Command,
};

fuzz_target!(|data: (u64, Vec<(u64, u8, u8)>)| {
    let (settings, pieces) = data;
    let mut plan = Plan::from_seed(settings, &Shape { commands: Some(0), ..Shape::default() });
    for (piece_number, (seed, skipped, taken)) in pieces.into_iter().take(12).enumerate() {
        let piece = Plan::from_seed(seed, &Shape { fixed: plan.set.clone(), commands: None });
        plan.shows_all &= piece.shows_all;
        let commands = piece.commands.into_iter().skip(skipped.into()).take(usize::from(taken % 16));
        plan.commands.extend(commands.map(|command| of_piece(command, piece_number)));
    }
    if let Err(divergence) = compare(&plan, HostKind::Native, Some(HostKind::Model)) {
        panic!("{divergence}\n{}", as_scenario(&plan, "FUZZ-01", "a fuzzed run", HostKind::Model));
    }
});

/// The command with names and times of that piece's own.
fn of_piece(command: Command, piece: usize) -> Command {
    let own = |name: String| format!("p{piece}{name}");
    match command {
        Command::Push { name, lookup_key, event_time, order_key, bytes, keyless } => {
            let event_time = EventTime(event_time.0 + 1_000 * piece as i64);
            Command::Push { name: own(name), lookup_key, event_time, order_key, bytes, keyless }
        }
        Command::Complete { name, attempt, rows, at } => Command::Complete { name: own(name), attempt, rows, at },
        Command::Fail { name, attempt, message, at, kind, retry_after } => {
            Command::Fail { name: own(name), attempt, message, at, kind, retry_after }
        }
        other => other,
    }
}
