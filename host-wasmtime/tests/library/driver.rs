//! What the driver promises whatever the provider and the reader do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use lookaside::{
    Driver, Element, EventTime, FailureKind, Input, JoinedRecord, LookupBatch, LookupError, LookupProvider, Options,
    Order, Outcome, Policy, Record, Retry, RetryOn, Rows, columns::RecordBatchBuilder, lookup,
};

pub(crate) fn records(count: usize) -> impl futures::Stream<Item = Record> + Send + 'static {
    stream::iter((0..count).map(|number| Record::new(number.to_string(), format!("payload {number}"))))
}

fn emit_all(options: Options) -> Options {
    Options { on_failure: Policy::Emit, on_timeout: Policy::Emit, ..options }
}

pub(crate) async fn collect(
    driver: Driver,
    input: impl futures::Stream<Item = Record> + Send + 'static,
) -> Vec<JoinedRecord> {
    let joined =
        driver.enrich(input).into_stream().filter_map(async |element| match element.expect("it does not fail") {
            Element::Joined(joined) => Some(joined),
            _ => None,
        });
    joined.collect().await
}

#[tokio::test]
async fn each_record_ends_in_exactly_one_outcome() {
    let provider = lookup::from_fn(async |key| match key.last() {
        Some(b'0'..=b'3') => Ok(Rows::One(key)),
        Some(b'4'..=b'6') => Ok(Rows::None),
        _ => Err(LookupError::new(FailureKind::Rejected, "odd")),
    });
    let driver = Driver::new(&emit_all(Options::default()), provider).unwrap();
    let joined = collect(driver, records(1_000)).await;
    assert_eq!(joined.len(), 1_000);
    for (number, joined) in joined.iter().enumerate() {
        assert_eq!(joined.record.payload, format!("payload {number}"));
        let expected = match number % 10 {
            0..=3 => Outcome::Found,
            4..=6 => Outcome::Missing,
            _ => Outcome::Failed,
        };
        assert_eq!(joined.outcome, expected);
        assert_eq!(joined.attempts, 1);
    }
}

#[tokio::test]
async fn a_wait_for_outputs_that_is_given_up_loses_none() {
    let provider = lookup::from_fn(async |key| {
        tokio::time::sleep(Duration::from_millis(u64::from(key[key.len() - 1] % 4))).await;
        Ok(Rows::One(key))
    });
    let options = Options { capacity: 20.try_into().unwrap(), ..Options::default() };
    let mut joined = Driver::new(&options, provider).unwrap().enrich(records(500));
    let (mut given_up, mut payloads) = (0, Vec::new());
    loop {
        let outputs = tokio::select! {
            biased;
            outputs = joined.next_batch() => outputs.unwrap(),
            () = tokio::task::yield_now() => {
                given_up += 1;
                continue;
            }
        };
        let Some(outputs) = outputs else { break };
        payloads.extend(outputs.joined().map(|joined| String::from_utf8_lossy(joined.payload).into_owned()));
    }
    assert!(given_up > 0);
    assert_eq!(payloads, (0..500).map(|number| format!("payload {number}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn watermarks_and_statuses_keep_their_places() {
    let provider = lookup::from_fn(async |key| {
        tokio::time::sleep(Duration::from_millis(if key == "slow" { 30 } else { 1 })).await;
        Ok(Rows::None)
    });
    let options = Options { order: Order::Unordered, ..Options::default() };
    let input = [
        Input::Record(Record::new("slow", "a")),
        Input::Watermark(EventTime(1)),
        Input::Record(Record::new("quick", "b")),
        Input::Idle(true),
        Input::Idle(false),
    ];
    let elements: Vec<Element> = Driver::new(&options, provider)
        .unwrap()
        .enrich(stream::iter(input))
        .into_stream()
        .map(Result::unwrap)
        .collect()
        .await;
    let names: Vec<String> = elements
        .iter()
        .map(|element| match element {
            Element::Joined(joined) => String::from_utf8_lossy(&joined.record.payload).into_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["a", "Watermark(EventTime(1))", "b", "Idle", "Active"]);
}

#[tokio::test]
async fn batches_of_records_go_through_like_records_whatever_has_room() {
    for (capacity, max_bytes) in [(1, None), (7, None), (64, Some(100)), (1_000, Some(1)), (10_000, None)] {
        let provider = lookup::from_fn(async |key| Ok(Rows::One(key)));
        let options = Options { capacity: capacity.try_into().unwrap(), max_bytes, ..Options::default() };
        let record = |number: usize| Record::new(number.to_string(), format!("payload {number}"));
        let batch = |numbers: std::ops::Range<usize>| {
            let mut batch = RecordBatchBuilder::default();
            numbers.for_each(|number| batch.push(&record(number)));
            Input::Records(batch)
        };
        let chunks = [
            vec![Input::Record(record(0)), batch(1..400), batch(400..400), Input::Watermark(EventTime(1))],
            vec![Input::Idle(true), batch(400..403), Input::Record(record(403)), Input::Record(record(404))],
            vec![batch(405..1_500)],
        ];
        let joined = Driver::new(&options, provider).unwrap().enrich_chunks(stream::iter(chunks)).into_stream();
        let elements: Vec<Element> = joined.map(Result::unwrap).collect().await;
        assert_eq!(elements[400], Element::Watermark(EventTime(1)));
        assert_eq!(elements[401], Element::Idle);
        let joined = elements.iter().filter_map(|element| match element {
            Element::Joined(joined) => Some(joined),
            _ => None,
        });
        let mut count = 0;
        for (number, joined) in joined.enumerate() {
            assert_eq!((&joined.record, &joined.rows), (&record(number), &Rows::One(number.to_string().into())));
            count += 1;
        }
        assert_eq!(count, 1_500, "capacity {capacity}, {max_bytes:?} bytes");
    }
}

#[tokio::test]
async fn capacity_bounds_what_is_in_flight_and_is_used() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, peak) = (Arc::clone(&now), Arc::clone(&most));
    let provider = lookup::from_fn(move |_| {
        let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
        async move {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(Rows::None)
        }
    });
    let options = Options { capacity: 50.try_into().unwrap(), ..Options::default() };
    assert_eq!(collect(Driver::new(&options, provider).unwrap(), records(1_000)).await.len(), 1_000);
    assert_eq!(most.load(Ordering::SeqCst), 50);
}

#[tokio::test(start_paused = true)]
async fn the_driver_sleeps_until_the_deadline_and_no_longer() {
    let provider = lookup::from_fn(async |_| std::future::pending().await);
    let options = emit_all(Options { timeout: Some(Duration::from_secs(3_600)), ..Options::default() });
    let start = tokio::time::Instant::now();
    let joined = collect(Driver::new(&options, provider).unwrap(), records(3)).await;
    assert!(joined.iter().all(|joined| joined.outcome == Outcome::TimedOut));
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(3_600) && waited < Duration::from_secs(3_601), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_keep_their_delays_to_the_end_of_the_input() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let provider = lookup::from_fn(move |_| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        async move { if call < 2 { Err(LookupError::new(FailureKind::Unavailable, "down")) } else { Ok(Rows::from("up")) } }
    });
    let retry = Retry { on: RetryOn::Failure, delay: Duration::from_secs(5), ..Retry::default() };
    let start = tokio::time::Instant::now();
    let joined = collect(Driver::new(&Options { retry, ..Options::default() }, provider).unwrap(), records(1)).await;
    assert_eq!((joined[0].outcome, joined[0].attempts), (Outcome::Found, 3));
    assert!(start.elapsed() >= Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn lookups_deadlines_and_retries_go_on_while_nobody_reads() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let provider = lookup::from_fn(move |key| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            match key.as_ref() {
                b"1" => Err(LookupError::new(FailureKind::Unavailable, "down")),
                b"2" => std::future::pending().await,
                _ => Ok(Rows::None),
            }
        }
    });
    let retry = Retry { on: RetryOn::Failure, attempts: 4, delay: Duration::from_secs(1), ..Retry::default() };
    let options = emit_all(Options { retry, timeout: Some(Duration::from_secs(20)), ..Options::default() });
    let enriched = Driver::new(&options, provider).unwrap().enrich(records(400));
    let handle = enriched.handle();
    tokio::time::sleep(Duration::from_secs(30)).await;
    // The output is full since long, and yet record 1 has had all its attempts and record 2 its end.
    assert!(calls.load(Ordering::SeqCst) > 4);
    let held = handle.inspect().await;
    assert!(held.iter().all(|view| view.outcome.is_some()), "{held:?}");
    let elements: Vec<_> = enriched.into_stream().collect().await;
    assert_eq!(elements.len(), 400);
}

#[tokio::test]
async fn a_failed_operator_ends_the_stream_with_its_error() {
    let provider = lookup::from_fn(async |key| {
        if key == "7" { Err(LookupError::new(FailureKind::Rejected, "no sevens")) } else { Ok(Rows::None) }
    });
    let mut elements = Driver::new(&Options::default(), provider).unwrap().enrich(records(20)).into_stream();
    let mut last = None;
    while let Some(element) = elements.next().await {
        last = Some(element);
    }
    let error = last.unwrap().expect_err("the stream ends with it");
    assert_eq!(error.to_string(), "the lookup of 7 failed: rejected: no sevens");
}

#[tokio::test]
async fn options_that_cannot_be_used_are_refused_before_the_first_record() {
    let options = Options { timeout: Some(Duration::ZERO), ..Options::default() };
    let Err(error) = Driver::new(&options, lookup::from_fn(async |_| Ok(Rows::None))) else { panic!("refused") };
    assert_eq!(error.to_string(), "option timeout: 0 leaves no time for any lookup; `none` sets no timeout");
}

/// How long until what `is_awaited` has left, of a driver whose operator times out after two seconds.
async fn time_to(
    options: Options,
    provider: impl LookupProvider,
    input: impl Stream<Item = Vec<Input>> + Send + 'static,
    is_awaited: impl Fn(&JoinedRecord) -> bool,
) -> (Outcome, Duration) {
    let mut elements = Driver::new(&options, provider).unwrap().enrich_chunks(input).into_stream();
    let mut begin = tokio::time::Instant::now();
    while let Some(element) = elements.next().await {
        match element.unwrap() {
            Element::Joined(joined) if is_awaited(&joined) => return (joined.outcome, begin.elapsed()),
            _ => begin = tokio::time::Instant::now(),
        }
    }
    panic!("it did not leave");
}

#[tokio::test]
async fn answers_behind_many_that_are_stale_are_taken_at_once() {
    let provider = lookup::from_fn(async |key: bytes::Bytes| {
        if key.starts_with(b"slow") {
            std::future::pending::<()>().await;
        }
        Ok(Rows::One(key))
    });
    // The two hundred end by their deadline, and what their lookups answer then lies before the next record's answer.
    let input = stream::unfold(0, |step| async move {
        match step {
            0 => {
                let slow = |number| Input::Record(Record::new(format!("slow{number}"), "p"));
                Some(((0..200).map(slow).collect::<Vec<_>>(), 1))
            }
            1 => {
                tokio::time::sleep(Duration::from_millis(2_300)).await;
                Some((vec![Input::Record(Record::new("fast", "p"))], 2))
            }
            _ => std::future::pending().await,
        }
    });
    let options = Options {
        order: Order::Unordered,
        capacity: 10_000.try_into().unwrap(),
        timeout: Some(Duration::from_secs(2)),
        on_timeout: Policy::Emit,
        ..Options::default()
    };
    let is_fast = |joined: &JoinedRecord| joined.record.key.as_deref() == Some(b"fast");
    let (outcome, waited) = time_to(options, provider, input, is_fast).await;
    assert_eq!(outcome, Outcome::Found);
    assert!(waited < Duration::from_millis(1_000), "{waited:?}");
}

#[tokio::test]
async fn a_head_whose_answer_lies_behind_many_bytes_leaves_at_once() {
    for timeout in [Some(Duration::from_secs(30)), None] {
        let provider = lookup::from_batch_fn(async |batch: LookupBatch| {
            let mut lookups: Vec<_> = batch.into_iter().collect();
            let head = lookups.remove(0);
            lookups.into_iter().for_each(|lookup| lookup.answer(Rows::One(vec![b'x'; 400_000].into())));
            head.answer(Rows::One("head".into()));
        });
        let records = (0..150).map(|number| Input::Record(Record::new(number.to_string(), "p"))).collect();
        let input = stream::iter([records]).chain(stream::pending());
        let options = Options { timeout, capacity: 1_000.try_into().unwrap(), ..Options::default() };
        let left = tokio::time::timeout(Duration::from_secs(20), time_to(options, provider, input, |_| true)).await;
        assert_eq!(left.expect("it does not wait for another arrival").0, Outcome::Found);
    }
}

#[test]
fn a_driver_whose_runtime_is_gone_says_so() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let mut joined = first.block_on(async {
        let provider = lookup::from_fn(async |_| std::future::pending().await);
        let records = stream::iter([Record::new("a", "b")]).chain(stream::pending());
        Driver::new(&Options::default(), provider).unwrap().enrich(records)
    });
    drop(first);
    let ended = runtime().block_on(joined.next_batch());
    assert!(matches!(ended, Err(lookaside::DriverError::Stopped)), "{ended:?}");
}

#[tokio::test]
async fn retries_without_end_let_others_have_their_turn() {
    let provider = lookup::from_memory(|key| {
        if key.starts_with(b"never") {
            Err(LookupError::new(FailureKind::Unavailable, "down"))
        } else {
            Ok(Rows::from("row"))
        }
    });
    let retry = Retry { on: RetryOn::Failure, attempts: u32::MAX, delay: Duration::ZERO, ..Retry::default() };
    let options = Options { order: Order::Unordered, timeout: None, retry, ..Options::default() };
    // The second record comes while the first is retried without a pause.
    let input = stream::unfold(0, |step| async move {
        match step {
            0 => Some((vec![Input::Record(Record::new("never", "p"))], 1)),
            1 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Some((vec![Input::Record(Record::new("found", "p"))], 2))
            }
            _ => std::future::pending().await,
        }
    });
    let joined = Driver::new(&options, provider).unwrap().enrich_chunks(input);
    let handle = joined.handle();
    let mut elements = joined.into_stream();
    let found = tokio::time::timeout(Duration::from_secs(10), elements.next()).await.expect("input is read");
    assert!(matches!(found, Some(Ok(Element::Joined(_)))));
    let seen = tokio::time::timeout(Duration::from_secs(10), handle.inspect()).await.expect("who asks is answered");
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn a_byte_cap_bounds_each_push_whatever_came_at_once() {
    let provider = lookup::from_memory(|_| Ok(Rows::from("row")));
    let options = Options { capacity: 4_096.try_into().unwrap(), max_bytes: Some(64 << 20), ..Options::default() };
    // 600 MB in one batch: the component's memory ends at 1 GiB.
    let mut records = RecordBatchBuilder::default();
    let payload = vec![b'x'; 900_000];
    (0..670)
        .for_each(|number: u32| records.push_row(EventTime(0), Some(number.to_string().as_bytes()), None, &payload));
    let joined = Driver::new(&options, provider).unwrap().enrich_chunks(stream::iter([vec![Input::Records(records)]]));
    assert_eq!(
        joined.into_stream().map(|element| element.map(drop)).filter(|e| std::future::ready(e.is_ok())).count().await,
        670
    );
}
