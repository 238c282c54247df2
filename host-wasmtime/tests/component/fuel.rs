//! What a record costs in the component, in fuel: the same on any machine, so a change of the code shows in it.

use std::num::NonZero;

use lookaside::{
    Instant, OperatorComponent, Options, Order, PollState, Record,
    columns::{CompletionBatchBuilder, RecordBatchBuilder},
    component::Limits,
};

/// Fuel a record of pushing, answering and polling batches of 100, each with a timeout, 12-byte keys and 100-byte payloads
/// and rows. What is better by so much that it stands out is written here; what is worse by more than
/// [`TOLERANCE`] fails.
const FUEL: [(Order, u64); 3] = [(Order::Ordered, 630), (Order::Unordered, 632), (Order::KeyOrdered, 3_396)];

/// Hundredths that a change may cost.
const TOLERANCE: u64 = 3;

const BATCH: u64 = 100;

fn fuel_of(order: Order, batches: u64) -> u64 {
    let limits = Limits { call_fuel: Some(1 << 40), ..Limits::default() };
    let component = OperatorComponent::from_bytes("the component", OperatorComponent::bundled_bytes(), limits).unwrap();
    let options = Options { order, capacity: NonZero::new(BATCH as u32).unwrap(), ..Options::default() };
    let mut operator = component.open(&options, Instant(0)).unwrap();
    let mailbox = operator.mailbox().clone();
    let mut left = 0;
    for batch in 0..batches {
        let now = Instant(batch * 1_000);
        let mut records = RecordBatchBuilder::default();
        for number in 0..BATCH {
            records.push(&Record::new(format!("{:012}", batch * BATCH + number), vec![b'v'; 100]));
        }
        assert_eq!(operator.push_records(records, now).unwrap() as u64, BATCH);
        let mut answers = CompletionBatchBuilder::default();
        for requests in operator.take_request_batches() {
            for request in requests.rows() {
                answers.push_rows(request.id, request.attempt, now, [&[b'f'; 100][..]]);
            }
        }
        mailbox.put_batch(answers);
        let poll = operator.poll(u32::MAX, u32::MAX, now).unwrap();
        left += poll.outputs.len() as u64;
        assert_eq!(poll.state, PollState::Waiting);
    }
    assert_eq!(left, batches * BATCH);
    operator.fuel_used()
}

#[test]
fn a_record_costs_no_more_than_it_did() {
    let mut worse = Vec::new();
    for (order, written) in FUEL {
        // Without what opening and the first batches cost.
        let fuel_of_a_record = || (fuel_of(order, 120) - fuel_of(order, 20)) / (100 * BATCH);
        let fuel = fuel_of_a_record();
        assert_eq!(fuel_of_a_record(), fuel, "it is the same each time");
        let most = written + written * TOLERANCE / 100;
        if fuel > most {
            worse.push(format!("{order:?}: a record costs {fuel} fuel; it was {written}, and {most} is the most"));
        }
    }
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

#[test]
fn a_call_that_has_no_fuel_left_is_stopped() {
    let limits = Limits { call_fuel: Some(10), ..Limits::default() };
    let component = OperatorComponent::from_bytes("the component", OperatorComponent::bundled_bytes(), limits).unwrap();
    let error = component.open(&Options::default(), Instant(0)).unwrap_err();
    assert!(error.is_fatal());
    assert!(format!("{error:?}").contains("fuel"), "{error:?}");
}
