//! What lies at the edges: delays without end, hot keys, peaks.

use std::time::Duration;

use lookaside_core::{
    Answer, CacheOptions, Element, FailureKind, Instant, LookupError, Operator, Options, Order, Outcome, Policy,
    Record, Retry, RetryOn, Rows,
};

fn request(operator: &mut Operator) -> lookaside_core::Request {
    let request = operator.next_request().expect("it asks");
    assert!(operator.next_request().is_none());
    request
}

fn outcome(operator: &mut Operator) -> Option<Outcome> {
    match operator.next_output().unwrap() {
        Some(Element::Joined(joined)) => Some(joined.outcome),
        _ => None,
    }
}

#[test]
fn a_retry_that_would_never_come_ends_its_record() {
    let retry = Retry { on: RetryOn::Failure, ..Retry::default() };
    let options = Options { timeout: None, retry, on_failure: Policy::Emit, ..Options::default() };
    let mut operator = Operator::open(options.clone(), Instant(0)).unwrap();
    operator.push_record(Record::new("k", "p"), Instant(0)).unwrap();
    let asked = request(&mut operator);
    let mut error = LookupError::new(FailureKind::Throttled, "come again");
    error.retry_after = Some(Duration::from_nanos(u64::MAX));
    operator.complete(Answer::failed(&asked, error.clone(), Instant(5)), Instant(5)).unwrap();
    assert_eq!(outcome(&mut operator), Some(Outcome::Failed), "no timer would ever wake it");
    // With a timeout, the deadline ends it.
    let timed = Options { timeout: Some(Duration::from_secs(1)), on_timeout: Policy::Emit, ..options };
    let mut operator = Operator::open(timed, Instant(0)).unwrap();
    operator.push_record(Record::new("k", "p"), Instant(0)).unwrap();
    let asked = request(&mut operator);
    operator.complete(Answer::failed(&asked, error, Instant(5)), Instant(5)).unwrap();
    assert_eq!((outcome(&mut operator), operator.wake_at()), (None, Some(Instant(1_000_000_000))));
}

#[test]
fn a_lookup_that_many_share_goes_from_one_to_the_next_at_each_deadline() {
    let second = 1_000_000_000;
    let options = Options {
        order: Order::Unordered,
        capacity: 100_000.try_into().unwrap(),
        timeout: Some(Duration::from_nanos(second)),
        on_timeout: Policy::Emit,
        cache: Some(CacheOptions::with_max_bytes(1 << 20)),
        ..Options::default()
    };
    let records = 50_000;
    let mut operator = Operator::open(options, Instant(0)).unwrap();
    for number in 0..records {
        operator.push_record(Record::new("k", "p"), Instant(number)).unwrap();
    }
    request(&mut operator);
    // Each deadline ends one record, and the next one makes the lookup.
    for number in 0..records - 1 {
        operator.advance(Instant(second + number)).unwrap();
        request(&mut operator);
        assert_eq!(outcome(&mut operator), Some(Outcome::TimedOut));
    }
    assert_eq!(operator.stats().in_flight, 1);
    let stats = operator.stats();
    assert_eq!((stats.attempts, stats.timed_out), (records, records - 1));
}

#[test]
fn an_operator_after_a_peak_is_as_it_was() {
    let options = Options { capacity: 1_000_000.try_into().unwrap(), timeout: None, ..Options::default() };
    let mut operator = Operator::open(options, Instant(0)).unwrap();
    let mut requests = Vec::new();
    for number in 0..20_000 {
        operator.push_record(Record::new(number.to_string(), "p"), Instant(0)).unwrap();
        requests.push(request(&mut operator));
    }
    for asked in requests.iter().rev() {
        operator.complete(Answer::rows(asked, Rows::from("row"), Instant(0)), Instant(0)).unwrap();
    }
    while outcome(&mut operator).is_some() {}
    assert_eq!(operator.stats().in_flight, 0);
    for number in 0..10 {
        operator.push_record(Record::new(number.to_string(), "p"), Instant(0)).unwrap();
        let asked = request(&mut operator);
        operator.complete(Answer::rows(&asked, Rows::from("row"), Instant(0)), Instant(0)).unwrap();
        assert_eq!(outcome(&mut operator), Some(Outcome::Found));
    }
}
