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
