//! Snapshots of operators that a program drives by itself, and drivers that go on from them.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use lookaside::{
    Driver, Element, EventTime, Input, Instant, OperatorComponent, OperatorError, Options, Order, Outcome, Record,
    Rows, lookup,
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

#[tokio::test]
async fn a_running_driver_gives_snapshots_that_lose_nothing_and_double_nothing() {
    for order in [Order::Ordered, Order::Unordered, Order::KeyOrdered] {
        let options = Options { order, capacity: 8.try_into().unwrap(), ..Options::default() };
        let component = OperatorComponent::bundled().unwrap();
        let provider = || {
            Arc::new(lookup::from_fn(async |key| {
                tokio::time::sleep(Duration::from_millis(u64::from(key[0] % 4))).await;
                Ok(Rows::One(key))
            }))
        };
        let driver = Driver::with_component(&component, &options, provider()).unwrap();
        // Slow enough to be under way when it is asked.
        let input = stream::iter(elements()).chunks(3).then(async |chunk| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            chunk
        });
        let mut joined = driver.enrich_chunks(input);
        let handle = joined.handle();
        let mut got = Vec::new();
        let mut snapshots = Vec::new();
        while let Some(batch) = joined.next_batch().await.unwrap() {
            got.extend(batch.iter().map(label));
            if snapshots.len() < 10
                && let Some(snapshot) = handle.snapshot().await.unwrap()
            {
                assert!(snapshot.emitted >= got.len() as u64 && snapshot.accepted >= snapshot.emitted, "{order:?}");
                snapshots.push(snapshot);
            }
        }
        assert!(snapshots.iter().any(|snapshot| snapshot.accepted > snapshot.emitted && snapshot.accepted < 300));
        assert_eq!(handle.snapshot().await.unwrap(), None, "the run has ended");
        for snapshot in snapshots {
            let driver = Driver::restore(&component, &options, &snapshot.state, provider()).unwrap();
            let rest = elements().into_iter().skip(snapshot.accepted as usize);
            let again: Vec<_> = driver.enrich(stream::iter(rest)).into_stream().collect().await;
            let mut all = got[..snapshot.emitted as usize].to_vec();
            all.extend(again.into_iter().map(|element| label(element.unwrap())));
            let mut expected: Vec<_> = elements().into_iter().map(label_of_input).collect();
            if order != Order::Ordered {
                all.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(all, expected, "{order:?}, {} accepted, {} emitted", snapshot.accepted, snapshot.emitted);
        }
    }
}

/// Records with watermarks and statuses between them.
fn elements() -> Vec<Input> {
    let mut elements = Vec::new();
    for number in 0..300 {
        elements.push(Record::new(number.to_string(), number.to_string()).into());
        match number % 10 {
            3 => elements.push(Input::Watermark(EventTime(number))),
            8 => elements.push(Input::Idle(number % 20 == 8)),
            _ => {}
        }
    }
    elements
}

fn label(element: Element) -> String {
    match element {
        Element::Joined(joined) => String::from_utf8(joined.record.payload.into()).unwrap(),
        Element::Watermark(EventTime(time)) => format!("watermark {time}"),
        Element::Idle => "idle".to_owned(),
        Element::Active => "active".to_owned(),
        Element::Dropped => panic!("nothing is dropped"),
    }
}

fn label_of_input(input: Input) -> String {
    match input {
        Input::Record(record) => String::from_utf8(record.payload.into()).unwrap(),
        Input::Watermark(EventTime(time)) => format!("watermark {time}"),
        Input::Idle(idle) => if idle { "idle" } else { "active" }.to_owned(),
        Input::Records(_) => panic!("records come one by one"),
    }
}
