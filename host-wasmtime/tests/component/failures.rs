//! A record that fails the operator does so in its turn: what goes before it is given out.

use lookaside::{
    Answer, Instant, LookupError, LookupFailed, Operator, OperatorComponent, OperatorError, Options, Order, PollState,
    Record, Rows,
};
use lookaside::{FailureKind, columns::RecordBatchBuilder};

fn open(order: Order) -> Operator {
    let options = Options { order, ..Options::default() };
    OperatorComponent::bundled().unwrap().open(&options, Instant(0)).unwrap()
}

/// The payloads that come out before the operator fails, and by what it does.
fn end_of(operator: &mut Operator, max: u32) -> (Vec<String>, LookupFailed) {
    let mut out = Vec::new();
    loop {
        match operator.poll(max, u32::MAX, Instant(0)) {
            Ok(poll) => {
                assert!(!poll.outputs.is_empty() && poll.state == PollState::Ready, "the failure comes next");
                out.extend(poll.outputs.joined().map(|joined| String::from_utf8_lossy(joined.payload).into_owned()));
            }
            Err(OperatorError::LookupFailed(failed)) => {
                let later = operator.poll(max, u32::MAX, Instant(0));
                assert!(matches!(later, Err(OperatorError::Spent(_))));
                return (out, *failed);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn records_of_the_same_batch_leave_before_the_failed_one() {
    for (order, expected) in
        [(Order::Ordered, &["0", "1"][..]), (Order::Unordered, &["0", "1"]), (Order::KeyOrdered, &["0", "1"])]
    {
        for max in [1, 2, 100] {
            let mut operator = open(order);
            let mut records = RecordBatchBuilder::default();
            (0..4).for_each(|number| records.push(&Record::new(format!("k{number}"), number.to_string())));
            assert_eq!(operator.push_records(records, Instant(0)).unwrap(), 4);
            let answers: Vec<Answer> = (operator.take_requests().iter().enumerate())
                .map(|(number, request)| match number {
                    2 => Answer::failed(request, LookupError::new(FailureKind::Rejected, "no"), Instant(0)),
                    _ => Answer::rows(request, Rows::from("row"), Instant(0)),
                })
                .collect();
            operator.mailbox().put(answers);
            let (out, failed) = end_of(&mut operator, max);
            assert_eq!(out, expected, "{order:?}, {max} at a time");
            assert_eq!((&failed.key.unwrap()[..], failed.message.as_str()), (&b"k2"[..], "rejected: no"));
        }
    }
}

#[test]
fn an_answer_that_was_there_in_time_stands_when_the_input_ends() {
    let options = Options { timeout: Some(std::time::Duration::from_nanos(100)), ..Options::default() };
    let mut operator = OperatorComponent::bundled().unwrap().open(&options, Instant(0)).unwrap();
    operator.push_record(&Record::new("k", "p"), Instant(0)).unwrap();
    let asked = operator.take_requests().remove(0);
    operator.mailbox().put([Answer::rows(&asked, Rows::from("row"), Instant(50))]);
    operator.end_input(Instant(150)).unwrap();
    let poll = operator.poll(10, u32::MAX, Instant(150)).unwrap();
    assert_eq!(
        (poll.outputs.joined().next().unwrap().outcome, poll.state),
        (lookaside::Outcome::Found, PollState::Drained)
    );
}

#[test]
fn a_failed_operator_still_tells_what_it_was_left_with() {
    let mut operator = open(Order::Ordered);
    (0..3).for_each(|number| {
        operator.push_record(&Record::new(number.to_string(), "p"), Instant(0)).unwrap();
    });
    let asked = operator.take_requests();
    let error = LookupError::new(FailureKind::Rejected, "no");
    operator.mailbox().put([Answer::failed(&asked[0], error, Instant(0))]);
    assert!(operator.poll(10, u32::MAX, Instant(0)).is_err());
    let stats = operator.stats().unwrap();
    assert_eq!((stats.accepted, stats.failed, stats.in_flight), (3, 1, 3));
    assert_eq!(operator.inspect(10, Instant(0)).unwrap().len(), 3);
}

#[test]
fn a_failure_among_restored_records_is_told_with_its_lookup() {
    let mut operator = open(Order::Ordered);
    operator.push_record(&Record::new("k", "first"), Instant(0)).unwrap();
    operator.push_record(&Record::keyless("second"), Instant(0)).unwrap();
    let snapshot = operator.snapshot().unwrap();
    for capacity in [10, 1] {
        let capacity = capacity.try_into().unwrap();
        let options = Options { on_missing: lookaside::Policy::Fail, capacity, ..Options::default() };
        let mut operator = OperatorComponent::bundled().unwrap().restore(&options, &snapshot, Instant(0)).unwrap();
        let asked = operator.take_requests().remove(0);
        operator.mailbox().put([Answer::rows(&asked, Rows::from("row"), Instant(1))]);
        let (out, failed) = end_of(&mut operator, 10);
        assert_eq!((out, failed.key), (vec!["first".to_owned()], None));
    }
}

#[test]
fn a_few_of_many_in_flight_are_shown_without_a_look_into_the_rest() {
    let options = Options { capacity: 16_000_000.try_into().unwrap(), timeout: None, ..Options::default() };
    let mut operator = OperatorComponent::bundled().unwrap().open(&options, Instant(0)).unwrap();
    // Records without a key between them make a group of each.
    for _ in 0..300 {
        let mut records = RecordBatchBuilder::default();
        for number in 0..10_000 {
            let key = (number % 2 == 0).then_some(&b"k"[..]);
            records.push_row(lookaside::EventTime(0), key, None, b"p");
        }
        assert_eq!(operator.push_records(records, Instant(0)).unwrap(), 10_000);
        operator.take_request_batches();
    }
    assert_eq!(operator.inspect(10, Instant(0)).unwrap().len(), 10);
    assert_eq!(operator.poll(0, 0, Instant(0)).unwrap().room, 13_000_000);
}

#[test]
fn an_operator_without_memory_for_more_is_full_and_goes_on() {
    let options = Options { capacity: 16_000_000.try_into().unwrap(), timeout: None, ..Options::default() };
    let mut operator = OperatorComponent::bundled().unwrap().open(&options, Instant(0)).unwrap();
    // Records without a key between them make a group of each.
    let mut pushed = 0;
    loop {
        let mut records = RecordBatchBuilder::default();
        for number in 0..1_000 {
            let key = (number % 2 == 0).then_some(&b"k"[..]);
            records.push_row(lookaside::EventTime(0), key, None, b"p");
        }
        let taken = operator.push_records(records, Instant(0)).unwrap();
        operator.take_request_batches();
        pushed += taken;
        if taken < 1_000 {
            break;
        }
    }
    assert!(pushed > 3_500_000, "{pushed}");
    assert_eq!(operator.inspect(10, Instant(0)).unwrap().len(), 10);
    assert_eq!(operator.stats().unwrap().in_flight, pushed as u64);
}

#[test]
fn a_snapshot_of_hundreds_of_megabytes_is_taken_or_refused_and_the_operator_goes_on() {
    let options = Options { capacity: 1_000.try_into().unwrap(), timeout: None, ..Options::default() };
    let mut operator = OperatorComponent::bundled().unwrap().open(&options, Instant(0)).unwrap();
    let push = |operator: &mut Operator, count: usize| {
        for _ in 0..count {
            operator.push_record(&Record::new("k", vec![b'p'; 1 << 20]), Instant(0)).unwrap();
        }
    };
    push(&mut operator, 300);
    let snapshot = operator.snapshot().unwrap();
    assert!(snapshot.len() > 300 << 20);
    let mut restored = OperatorComponent::bundled().unwrap().restore(&options, &snapshot, Instant(0)).unwrap();
    assert_eq!(restored.stats().unwrap().restored, 300);
    push(&mut operator, 300);
    let error = operator.snapshot().unwrap_err();
    assert!(matches!(error, OperatorError::OutOfMemory(_)), "{error}");
    let asked: Vec<Answer> =
        (operator.take_requests().iter()).map(|request| Answer::rows(request, Rows::from("row"), Instant(0))).collect();
    operator.mailbox().put(asked);
    let mut left = 0;
    while left < 600 {
        left += operator.poll(100, 1 << 20, Instant(0)).unwrap().outputs.len();
    }
    assert_eq!(operator.stats().unwrap().emitted, 600);
}
