//! The component in wasmtime, driven as a program drives it: a stream of records, and lookups that take time.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use futures::{FutureExt, stream};
use lookaside::{
    Driver, EventTime, Input, LookupBatch, LookupProvider, Options, Order, Rows,
    columns::RecordBatchBuilder,
    lookup::{self, Selection},
};

use super::{
    Arguments, Workload,
    sink::{Arrived, Sink},
    source::{FOUND, Next, Source, number_in},
};

/// Records that the source hands over together at most.
const CHUNK: u32 = 1_000;

/// Makes records as fast as they are taken, and has their lookups made.
pub(super) fn delayed(arguments: &Arguments, options: &Options, records: u64) -> anyhow::Result<Arrived> {
    // Where this fails, another part of the program chose before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let provider = provider(arguments).await?;
        let options = Options { request_payload: arguments.workload == Workload::W3, ..options.clone() };
        let driver = Driver::new(&options, provider)?;
        let mut source = Source::new(arguments, records);
        let made = source.made.clone();
        let mut sink = Sink::start(arguments, options.order != Order::Unordered, records);
        let mut joined = driver.enrich_chunks(stream::iter(std::iter::from_fn(move || {
            match source.next(CHUNK, RecordBatchBuilder::default()) {
                Next::Records(batch) => Some(vec![Input::Records(batch)]),
                Next::Watermark(time) => Some(vec![Input::Watermark(EventTime(time))]),
                Next::End => None,
            }
        })));
        while let Some(outputs) = joined.next_batch().await.context("the operator failed")? {
            sink.take(&outputs, &made)?;
        }
        sink.finish(records)
    })
}

async fn provider(arguments: &Arguments) -> anyhow::Result<Arc<dyn LookupProvider>> {
    Ok(match arguments.workload {
        Workload::W1 => Arc::new(lookup::from_memory(|_| Ok(Rows::One(Bytes::from_static(&FOUND))))),
        // The lookups of a batch began together, so one timer ends them all.
        Workload::W2 => {
            Arc::new(lookup::from_batch_fn(|batch| tokio::time::sleep(Duration::from_millis(2)).map(|()| found(batch))))
        }
        Workload::W3 => Arc::new(lookup::from_batch_fn(|batch| {
            let is_slow = |payload: &[u8]| number_in(payload) % 100 == 99;
            let (slow, quick) = batch.partition(|asked| asked.payload.is_some_and(is_slow));
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                found(quick);
                tokio::time::sleep(Duration::from_millis(49)).await;
                found(slow);
            }
        })),
        Workload::W4 => {
            let settings = if arguments.one_by_one { "&batch=1" } else { "" };
            let port = arguments.redis_port;
            let address = format!("redis://127.0.0.1:{port}?key={{key}}{settings}");
            lookup::open(&address, &Selection { key_columns: vec!["id".into()], ..Selection::default() }).await?
        }
    })
}

fn found(batch: LookupBatch) {
    batch.answer_all(|_| Ok(Rows::One(Bytes::from_static(&FOUND))));
}
