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
            batch.into_iter().map(|asked| lookup(asked.key().clone()).map(move |result| asked.end(result))).collect();
        calls.for_each(|()| std::future::ready(()))
    })
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
