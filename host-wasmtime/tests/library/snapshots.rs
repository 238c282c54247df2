//! Snapshots of operators that a program drives by itself, and drivers that go on from them.

use std::sync::Arc;

use lookaside::{
    Driver, EventTime, Instant, OperatorComponent, OperatorError, Options, Order, Outcome, Record, Rows, lookup,
};

use crate::driver::{collect, records};

fn three_in_flight(options: &Options) -> Vec<u8> {
    let component = OperatorComponent::bundled().unwrap();
    let mut operator = component.open(options, Instant(0)).unwrap();
    for number in 0..3 {
        let record = Record::new(number.to_string(), format!("old {number}")).at(EventTime(number));
        assert!(operator.push_record(&record, Instant(0)).unwrap());
    }
    operator.snapshot().unwrap()
}

#[tokio::test]
async fn a_driver_goes_on_where_a_snapshot_left_off() {
    let snapshot = three_in_flight(&Options::default());
    let provider = Arc::new(lookup::from_fn(async |key| Ok(Rows::One(key))));
    // Into less room than there was: the surplus waits inside and comes before what is new.
    let options = Options { capacity: 1.try_into().unwrap(), ..Options::default() };
    let component = OperatorComponent::bundled().unwrap();
    let driver = Driver::restore(&component, &options, &snapshot, provider).unwrap();
    let joined = collect(driver, records(2)).await;
    let payloads: Vec<_> = joined.iter().map(|joined| joined.record.payload.clone()).collect();
    assert_eq!(payloads, ["old 0", "old 1", "old 2", "payload 0", "payload 1"]);
    assert!(joined.iter().all(|joined| joined.outcome == Outcome::Found));
}

#[test]
fn a_changed_byte_is_an_error_and_never_a_load() {
    let snapshot = three_in_flight(&Options::default());
    let component = OperatorComponent::bundled().unwrap();
    for place in 0..snapshot.len() {
        let mut changed = snapshot.clone();
        changed[place] ^= 0x20;
        let error = component.restore(&Options::default(), &changed, Instant(0)).expect_err("it was changed");
        assert!(matches!(error, OperatorError::CorruptSnapshot(_)), "{place}: {error}");
    }
    for length in 0..snapshot.len() {
        let error =
            component.restore(&Options::default(), &snapshot[..length], Instant(0)).expect_err("it was cut off");
        assert!(matches!(error, OperatorError::CorruptSnapshot(_)), "{length}: {error}");
    }
}

#[test]
fn changed_meaning_is_refused_with_what_differs() {
    let snapshot = three_in_flight(&Options::default());
    let component = OperatorComponent::bundled().unwrap();
    let key_ordered = Options { order: Order::KeyOrdered, ..Options::default() };
    let error = component.restore(&key_ordered, &snapshot, Instant(0)).expect_err("another order");
    assert!(matches!(error, OperatorError::IncompatibleSnapshot(_)));
    assert!(error.to_string().contains("ordered or unordered, and the option is key-ordered"), "{error}");
}
