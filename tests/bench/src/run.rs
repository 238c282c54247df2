//! One stream through the operator.

use std::sync::Arc;

use anyhow::{Context, ensure};
use futures::stream;
use lookaside::{Driver, Input, LookupProvider, Options, Order, Record};

use crate::meter::{Cost, Meter};

/// Records handed over together, as a source that reads a file does.
const CHUNK: usize = 1_000;

/// Enriches so many records with the component in wasmtime; each must find its row.
pub(crate) async fn enrich(
    provider: Arc<dyn LookupProvider>,
    records: usize,
    capacity: u32,
    key: impl Fn(usize) -> String + Send + 'static,
) -> anyhow::Result<Cost> {
    let options = Options { order: Order::Unordered, capacity: capacity.try_into()?, ..Options::default() };
    let record = move |number| Input::Record(Record::new(key(number), ""));
    let chunks = (0..records).step_by(CHUNK).map(move |first| {
        let last = (first + CHUNK).min(records);
        (first..last).map(&record).collect::<Vec<_>>()
    });
    let driver = Driver::new(&options, provider)?;
    let meter = Meter::start();
    let mut joined = driver.enrich_chunks(stream::iter(chunks));
    let handle = joined.handle();
    while joined.next_batch().await.context("the operator failed")?.is_some() {}
    let cost = meter.stop(records);
    let stats = handle.stats();
    ensure!(stats.found == records as u64, "{} of {records} records found a row", stats.found);
    Ok(cost)
}
