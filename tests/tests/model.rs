//! The operator against the naive model: any sequence of inputs, in all modes, with snapshots and
//! restores at any point. What fails shrinks to a scenario that can be put into a file.

use lookaside_core::{EventTime, FailureKind};
use lookaside_tests::{
    compare::{as_scenario, compare},
    host::HostKind,
    plan::{Plan, Shape},
    scenario::Command,
};
use proptest::prelude::*;

/// One input, as small numbers that shrink towards the plainest.
type Choice = (u8, u8, u8);

/// The settings of some seed, and commands as the choices say.
fn plan(settings: u64, choices: &[Choice]) -> Plan {
    let mut plan = Plan::from_seed(settings, &Shape { commands: Some(0), ..Shape::default() });
    let (mut pushed, mut clock, mut snapshots) = (0_i64, 0, 0);
    for &(kind, one, other) in choices {
        let name = |back: u8| format!("r{}", (pushed - 1 - i64::from(back)).max(0));
        plan.commands.push(match kind {
            0..=2 => {
                pushed += 1;
                Command::Push {
                    name: format!("r{}", pushed - 1),
                    lookup_key: (one % 2 == 1).then(|| format!("k{}", one % 5)),
                    event_time: EventTime(pushed - 1),
                    order_key: (other % 2 == 1).then(|| format!("o{}", other % 3)),
                    bytes: usize::from(other / 4),
                    keyless: !plan.shows_all && one == 6,
                }
            }
            3..=5 => Command::Complete {
                name: name(one),
                attempt: 1 + u32::from(other / 3),
                rows: if other % 3 == 0 && !plan.shows_all { Vec::new() } else { vec!["v".into()] },
                at: (other == 7).then_some(clock - clock.min(5)),
            },
            6 => Command::Fail {
                name: name(one),
                attempt: 1 + u32::from(other / 3),
                message: "down".into(),
                at: None,
                kind: [FailureKind::Unavailable, FailureKind::Throttled, FailureKind::Rejected][usize::from(other % 3)],
                retry_after: (other == 5).then_some(20),
            },
            7 => {
                clock += u64::from(one) * u64::from(other);
                Command::Clock(clock)
            }
            8 => Command::Poll { max: (one < 4).then_some(u32::from(one)) },
            9 => Command::Watermark(EventTime(i64::from(one))),
            10 => Command::Status { idle: one % 2 == 0 },
            11 => {
                snapshots += 1;
                Command::Snapshot(format!("S{snapshots}"))
            }
            12 if snapshots > 0 => {
                clock = 0;
                let changed = vec![("cap".to_owned(), (1 + one).to_string())];
                Command::Restore { name: format!("S{snapshots}"), changed }
            }
            13 => Command::Finish,
            _ => Command::Inspect,
        });
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_operator_agrees_with_the_model(settings in 0_u64..5_000, choices in prop::collection::vec((0_u8..14, 0_u8..8, 0_u8..8), 1..60)) {
        let plan = plan(settings, &choices);
        if let Err(divergence) = compare(&plan, HostKind::Native, Some(HostKind::Model)) {
            let scenario = as_scenario(&plan, "NEW-01", "what the model says of it", HostKind::Model);
            return Err(TestCaseError::fail(format!("{divergence}\n{scenario}")));
        }
    }

    #[test]
    fn a_command_reads_as_it_is_written(settings in 0_u64..100, choices in prop::collection::vec((0_u8..14, 0_u8..8, 0_u8..8), 1..20)) {
        use lookaside_tests::scenario::Step;
        for command in plan(settings, &choices).commands {
            let step = Step::parse(1, &format!("{command} -> -")).map_err(TestCaseError::fail)?;
            prop_assert_eq!(step.command, command);
        }
    }
}

#[test]
fn equal_seeds_make_equal_runs() {
    for seed in 0..50 {
        let plan = Plan::from_seed(seed, &Shape::default());
        assert_eq!(plan, Plan::from_seed(seed, &Shape::default()));
        let outcomes = || compare(&plan, HostKind::Native, None).expect("the laws hold");
        assert_eq!(outcomes(), outcomes());
    }
}
