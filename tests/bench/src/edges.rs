//! What lies at the edges: peaks, hot keys, slow records, failures that many share, and large operators.

use std::{
    num::NonZero,
    sync::Arc,
    time::{Duration, Instant as WallTime},
};

use anyhow::Context;
use futures::stream;
use lookaside::{
    CacheOptions, Driver, EventTime, FailureKind, Instant, LookupError, OperatorComponent, Options, Order, Policy,
    Retry, RetryOn, columns::RecordBatchBuilder, lookup,
};
use lookaside_core::{
    Answer, Operator, Record, Rows,
    columns::{CompletionBatchBuilder, OutputBatchBuilder},
};
use tokio::sync::Semaphore;

use crate::{instances::resident_bytes, meter::Meter};

/// Which of them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// One case alone, by its place in the table. Without it each has a process of its own, so that none uses memory that
    /// another has freed.
    #[arg(long)]
    only: Option<usize>,
}

type Case = (&'static str, fn() -> anyhow::Result<String>);

const CASES: &[Case] = &[
    ("1,000 batches of 1,000 keys of 1 KB, one slow record in each", slow_record_of_each_batch),
    ("500,000 records of one key that fail with the same 1,000 bytes", shared_failure),
    ("a cache of 16 MiB, 1,000 rows of one byte an entry", cache_of_tiny_rows),
    ("after a peak of 1,000,000 records, batches of 1,000 with a slow record in each", after_a_peak),
    ("100,000 records of one key, and a backend that never answers", dead_backend),
    ("ten of 3,000,000 in flight looked at, in the component", inspection),
    ("a snapshot of 300 MiB, in the component", snapshot),
    ("one key in five fails and waits 200 ms for each of 3 retries, ten calls of 1 ms at once, by capacity", retries),
];

/// Measures them, and prints a table.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(place) = arguments.only {
        let (case, measure) = CASES.get(place).context("--only: there is no such case")?;
        println!("| {case} | {} |", measure()?);
        return Ok(());
    }
    println!("| case | measured |\n|---|---|");
    for place in 0..CASES.len() {
        let program = std::env::current_exe()?;
        let ended = std::process::Command::new(program).args(["edges", "--only", &place.to_string()]).status()?;
        anyhow::ensure!(ended.success(), "case {place} failed: {ended}");
    }
    Ok(())
}

fn options(order: Order) -> Options {
    Options {
        order,
        capacity: 16_000_000.try_into().unwrap_or(std::num::NonZero::<u32>::MIN),
        timeout: None,
        on_failure: Policy::Emit,
        on_timeout: Policy::Emit,
        ..Options::default()
    }
}

fn cached(max_bytes: u64) -> Options {
    Options { cache: Some(CacheOptions::with_max_bytes(max_bytes)), ..options(Order::Unordered) }
}

/// The memory that `work` leaves behind, in megabytes, as long as what it gives lives.
fn megabytes_of<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<String> {
    let before = resident_bytes()?;
    let kept = work()?;
    let megabytes = resident_bytes()?.saturating_sub(before) as f64 / 1e6;
    drop(kept);
    Ok(format!("{megabytes:.0} MB resident"))
}

fn batch(first: u64, count: u64, key_bytes: usize, payload: &[u8]) -> RecordBatchBuilder {
    let mut records = RecordBatchBuilder::default();
    for number in first..first + count {
        let key = format!("{number:0>key_bytes$}");
        records.push_row(EventTime(0), Some(key.as_bytes()), None, payload);
    }
    records
}

/// Answers all that is asked but the first.
fn answer_all_but_one(operator: &mut Operator) -> anyhow::Result<()> {
    let mut answers = CompletionBatchBuilder::default();
    for asked in operator.take_requests().build().rows().skip(1) {
        answers.push_rows(asked.id, asked.attempt, Instant(0), [&b"row"[..]]);
    }
    operator.complete_all(answers.build(), Instant(0))?;
    operator.next_outputs(&mut OutputBatchBuilder::default(), usize::MAX, usize::MAX)?;
    Ok(())
}

fn slow_record_of_each_batch() -> anyhow::Result<String> {
    megabytes_of(|| {
        let mut operator = Operator::open(cached(1 << 20), Instant(0))?;
        for number in 0..1_000 {
            operator.push_records(batch(number * 1_000, 1_000, 1_000, b"p").build(), Instant(0))?;
            answer_all_but_one(&mut operator)?;
        }
        Ok(operator)
    })
}

fn shared_failure() -> anyhow::Result<String> {
    megabytes_of(|| {
        let mut operator = Operator::open(cached(1 << 20), Instant(0))?;
        for _ in 0..500_000 {
            operator.push_record(Record::new("hot", "p"), Instant(0))?;
        }
        let asked = operator.next_request().context("it asks")?;
        let error = LookupError::new(FailureKind::Unavailable, "x".repeat(1_000));
        operator.complete(Answer::failed(&asked, error, Instant(0)), Instant(0))?;
        Ok(operator)
    })
}

fn cache_of_tiny_rows() -> anyhow::Result<String> {
    megabytes_of(|| {
        let mut operator = Operator::open(cached(16 << 20), Instant(0))?;
        for number in 0..20_000 {
            operator.push_record(Record::new(format!("{number}"), "p"), Instant(0))?;
            let asked = operator.next_request().context("it asks")?;
            operator.next_request();
            let rows: Rows = (0..1_000).map(|_| bytes::Bytes::from_static(b"1")).collect();
            operator.complete(Answer::rows(&asked, rows, Instant(0)), Instant(0))?;
            operator.next_output()?;
        }
        Ok(operator)
    })
}

fn after_a_peak() -> anyhow::Result<String> {
    let mut operator = Operator::open(options(Order::Unordered), Instant(0))?;
    let peak: u64 = 1_000_000;
    for first in (0..peak).step_by(1_000) {
        operator.push_records(batch(first, 1_000, 9, b"p").build(), Instant(0))?;
    }
    // From the last to the first, so that each has a fate of its own.
    let asked = operator.take_requests().build();
    let mut answers = CompletionBatchBuilder::default();
    for row in (0..asked.len()).rev() {
        let request = asked.row(row);
        answers.push_rows(request.id, request.attempt, Instant(0), [&b"row"[..]]);
    }
    operator.complete_all(answers.build(), Instant(0))?;
    while operator.stats().in_flight > 0 {
        operator.next_outputs(&mut OutputBatchBuilder::default(), 4_096, 1 << 20)?;
    }
    let payload = vec![b'x'; 1_000];
    let meter = Meter::start();
    for number in 0..300 {
        operator.push_records(batch(peak + number * 1_000, 1_000, 9, &payload).build(), Instant(0))?;
        answer_all_but_one(&mut operator)?;
    }
    Ok(format!("{:.2} us of CPU per record", meter.stop(300_000).cpu_us()))
}

fn dead_backend() -> anyhow::Result<String> {
    let (records, second) = (100_000, 1_000_000_000);
    let timeout = Some(Duration::from_nanos(second));
    let mut operator = Operator::open(Options { timeout, ..cached(1 << 20) }, Instant(0))?;
    for number in 0..records {
        operator.push_record(Record::new("k", "p"), Instant(number))?;
    }
    let meter = Meter::start();
    for number in 0..records {
        operator.advance(Instant(second + number))?;
        operator.take_requests();
        operator.next_output()?;
    }
    let cost = meter.stop(records as usize);
    Ok(format!("{:.2} us of CPU per record, {} lookups", cost.cpu_us(), operator.stats().attempts))
}

fn inspection() -> anyhow::Result<String> {
    let mut operator = OperatorComponent::bundled()?.open(&options(Order::Unordered), Instant(0))?;
    for first in 0..300 {
        operator.push_records(batch(first * 10_000, 10_000, 9, b"p"), Instant(0))?;
        operator.take_request_batches();
    }
    let start = WallTime::now();
    let shown = operator.inspect(10, Instant(0))?.len();
    Ok(format!("{:.1} ms for {shown}", start.elapsed().as_secs_f64() * 1e3))
}

fn snapshot() -> anyhow::Result<String> {
    let mut operator = OperatorComponent::bundled()?.open(&options(Order::Unordered), Instant(0))?;
    for _ in 0..300 {
        operator.push_record(&Record::new("k", vec![b'p'; 1 << 20]), Instant(0))?;
    }
    let start = WallTime::now();
    let bytes = operator.snapshot()?.len();
    Ok(format!("{:.0} ms for {} MiB", start.elapsed().as_secs_f64() * 1e3, bytes >> 20))
}

/// A waiting retry holds a place of the capacity, and none of the backend's calls.
fn retries() -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut rates = Vec::new();
    for capacity in [10, 100, 2_000] {
        let records: u64 = if capacity == 10 { 500 } else { 5_000 };
        let rate = runtime.block_on(async {
            let calls = Arc::new(Semaphore::new(10));
            let provider = lookup::from_fn(move |key| {
                let calls = Arc::clone(&calls);
                async move {
                    let _call = calls.acquire().await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    match key[key.len() - 1] % 5 {
                        0 => Err(LookupError::new(FailureKind::Unavailable, "down")),
                        _ => Ok(Rows::One(key)),
                    }
                }
            });
            let delay = Duration::from_millis(200);
            let retry = Retry { on: RetryOn::Failure, attempts: 3, delay, ..Retry::default() };
            let capacity = NonZero::new(capacity).context("a capacity of 0")?;
            let options = Options { capacity, retry, ..options(Order::Unordered) };
            let input = stream::iter((0..records).map(|number| Record::new(number.to_string(), "p")));
            let start = WallTime::now();
            let mut joined = Driver::new(&options, provider)?.enrich(input);
            while joined.next_batch().await?.is_some() {}
            anyhow::Ok(records as f64 / start.elapsed().as_secs_f64())
        })?;
        rates.push(format!("{capacity}: {rate:.0} records/s"));
    }
    Ok(rates.join(", "))
}
