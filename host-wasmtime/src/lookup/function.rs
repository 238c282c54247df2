//! Functions as providers.

use std::future::Future;

use bytes::Bytes;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use lookaside_core::{LookupError, Rows};

use super::{LookupBatch, LookupProvider};

/// A provider that asks `lookup` for each key; the calls of a batch run side by side.
pub fn from_fn<F, R>(lookup: F) -> impl LookupProvider
where
    F: Fn(Bytes) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Rows, LookupError>> + Send + 'static,
{
    from_batch_fn(move |batch| {
        let calls: FuturesUnordered<_> =
            batch.into_iter().map(|asked| lookup(asked.key()).map(move |result| asked.end(result))).collect();
        calls.for_each(|()| std::future::ready(()))
    })
}

/// A provider that asks `lookup` for each key, where all rows are in memory. It must neither block nor work for long:
/// the driver waits for it.
pub fn from_memory<F>(lookup: F) -> impl LookupProvider
where
    F: Fn(&[u8]) -> Result<Rows, LookupError> + Send + Sync + 'static,
{
    Memory(lookup)
}

struct Memory<F>(F);

impl<F> LookupProvider for Memory<F>
where
    F: Fn(&[u8]) -> Result<Rows, LookupError> + Send + Sync + 'static,
{
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        batch.answer_all(|asked| (self.0)(asked.key));
        Box::pin(std::future::ready(()))
    }

    fn answers_at_once(&self) -> bool {
        true
    }
}

/// A provider that hands each batch to `lookup`.
pub fn from_batch_fn<F, R>(lookup: F) -> impl LookupProvider
where
    F: Fn(LookupBatch) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    BatchFunction(lookup)
}

struct BatchFunction<F>(F);

impl<F, R> LookupProvider for BatchFunction<F>
where
    F: Fn(LookupBatch) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        (self.0)(batch).boxed()
    }
}
