//! What lies at the edges: delays without end, hot keys, peaks.

mod counting;

use std::{
    sync::{Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use lookaside_core::{
    Answer, CacheOptions, Element, EventTime, FailureKind, Instant, LookupError, Operator, OperatorError, Options,
    Order, Outcome, Policy, PushError, Record, Retry, RetryOn, Rows,
    columns::{CompletionBatchBuilder, OutputBatchBuilder, RecordBatchBuilder},
};

use counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// One test at a time, so that each counts its own memory alone.
static ALONE: Mutex<()> = Mutex::new(());

/// An operator after `run`, with the bytes that are live more than before.
fn live_after(options: Options, run: impl FnOnce(&mut Operator)) -> (Operator, usize) {
    let before = ALLOCATOR.live();
    let mut operator = Operator::open(options, Instant(0)).unwrap();
    run(&mut operator);
    (operator, ALLOCATOR.live().saturating_sub(before))
}

#[test]
fn a_slow_record_keeps_its_key_in_memory_and_not_those_of_its_batch() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cached = Some(CacheOptions::with_max_bytes(1 << 20));
    for (order, cache) in [(Order::Unordered, None), (Order::Unordered, cached), (Order::KeyOrdered, None)] {
        let options = Options {
            order,
            cache,
            capacity: 100_000.try_into().unwrap(),
            timeout: None,
            max_bytes: Some(16 << 20),
            ..Options::default()
        };
        let (operator, live) = live_after(options, |operator| {
            // 200 batches of a thousand keys of a thousand bytes, of which one stays each time.
            for batch in 0..200 {
                let mut records = RecordBatchBuilder::default();
                for number in 0..1_000 {
                    let mut key = format!("{batch:09}{number:09}").into_bytes();
                    key.resize(1_000, b'k');
                    records.push_row(EventTime(0), Some(&key), None, b"p");
                }
                assert_eq!(operator.push_records(records.build(), Instant(0)).unwrap(), 1_000);
                let mut answers = CompletionBatchBuilder::default();
                for asked in operator.take_requests().build().rows().skip(1) {
                    answers.push_rows(asked.id, asked.attempt, Instant(0), [&b"row"[..]]);
                }
                operator.complete_all(answers.build(), Instant(0)).unwrap();
                let mut outputs = OutputBatchBuilder::default();
                operator.next_outputs(&mut outputs, usize::MAX, usize::MAX).unwrap();
                assert_eq!(outputs.len(), 999);
            }
        });
        let held = operator.stats().held_bytes as usize + operator.stats().cache_bytes as usize;
        assert!(live < 6 * held + (4 << 20), "{order:?}: {live} bytes are live, and {held} are told");
    }
}

#[test]
fn a_failure_that_many_share_is_kept_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for on in [RetryOn::None, RetryOn::Failure] {
        let options = Options {
            order: Order::Unordered,
            capacity: 1_000_000.try_into().unwrap(),
            timeout: None,
            on_failure: Policy::Emit,
            retry: Retry { on, ..Retry::default() },
            cache: Some(CacheOptions::with_max_bytes(1 << 20)),
            ..Options::default()
        };
        let mut before = 0;
        let (_operator, live) = live_after(options, |operator| {
            let start = ALLOCATOR.live();
            for number in 0..50_000 {
                operator.push_record(Record::new("hot", "p"), Instant(number)).unwrap();
            }
            let asked = request(operator);
            before = ALLOCATOR.live() - start;
            let error = LookupError::new(FailureKind::Unavailable, "x".repeat(1_000));
            operator.complete(Answer::failed(&asked, error, Instant(50_000)), Instant(50_000)).unwrap();
        });
        // Fifty thousand copies would be 50 MB.
        assert!(live < before + (8 << 20), "{on:?}: {before} bytes before, {live} after");
    }
}

#[test]
fn the_cache_counts_its_rows() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for rows in [1, 10, 1_000] {
        let options =
            Options { cache: Some(CacheOptions::with_max_bytes(4 << 20)), timeout: None, ..Options::default() };
        let (operator, live) = live_after(options, |operator| {
            for number in 0..100_000 {
                operator.push_record(Record::new(format!("{number:08}"), "p"), Instant(0)).unwrap();
                let asked = request(operator);
                let found = (0..rows).map(|_| bytes::Bytes::from_static(b"1")).collect();
                operator.complete(Answer::rows(&asked, found, Instant(0)), Instant(0)).unwrap();
                assert_eq!(outcome(operator), Some(Outcome::Found));
                if operator.stats().cache_evictions > 10 {
                    break;
                }
            }
        });
        let told = operator.stats().cache_bytes as usize;
        assert!(live < 3 * told + (1 << 20), "{rows} rows an entry: {live} bytes are live, and {told} are told");
    }
}

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
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
fn a_backend_that_never_answers_is_asked_once_per_timeout() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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
    // The first deadline has the last record ask for all of them; the others end theirs.
    for number in 0..records - 1 {
        operator.advance(Instant(second + number)).unwrap();
        assert_eq!(operator.next_request().is_some(), number == 0);
        assert_eq!(outcome(&mut operator), Some(Outcome::TimedOut));
    }
    assert_eq!(operator.stats().in_flight, 1);
    let stats = operator.stats();
    assert_eq!((stats.attempts, stats.timed_out), (2, records - 1));
}

#[test]
fn an_operator_after_a_peak_is_as_it_was() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

#[test]
fn without_memory_it_is_full_and_gives_no_snapshot_but_goes_on() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options { capacity: 1_000_000.try_into().unwrap(), timeout: None, ..Options::default() };
    let mut operator = Operator::open(options, Instant(0)).unwrap();
    let push = |operator: &mut Operator, number: u64| {
        operator.push_record(Record::new(number.to_string(), vec![b'p'; 1_000]), Instant(0))
    };
    (0..5_000).for_each(|number| push(&mut operator, number).unwrap());
    ALLOCATOR.most.store(1 << 20, Ordering::Relaxed);
    let snapshot = operator.snapshot();
    let refused = (5_000..100_000).find_map(|number| push(&mut operator, number).err());
    ALLOCATOR.most.store(usize::MAX, Ordering::Relaxed);
    assert!(matches!(snapshot, Err(OperatorError::OutOfMemory { bytes: 5_000_000.. })), "{snapshot:?}");
    assert!(matches!(refused, Some(PushError::Full(Some(_)))), "{refused:?}");
    let before = operator.stats().in_flight;
    assert!(before >= 5_000);
    let snapshot = operator.snapshot().unwrap();
    let restored = Operator::restore(operator.options().clone(), &snapshot, Instant(0)).unwrap();
    assert_eq!(restored.stats().in_flight, before, "nothing was lost");
    push(&mut operator, 0).unwrap();
}

#[test]
fn a_clock_that_steps_back_makes_nothing_less_due() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut operator =
        Operator::open(Options { timeout: Some(Duration::from_nanos(10)), ..Options::default() }, Instant(0)).unwrap();
    operator.push_record(Record::new("k", "p"), Instant(0)).unwrap();
    assert!(!operator.is_due(Instant(9)));
    assert!(operator.push_record(Record::new("k", "p"), Instant(20)).is_ok());
    assert!(operator.is_due(Instant(9)), "the operator has seen 20");
}
