//! Lookup providers: who answers an operator's lookups.

mod batch;
mod blocking;
mod function;
mod key;
mod latency;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod table;

use futures::future::BoxFuture;

pub use batch::{Lookup, LookupBatch};
pub use blocking::blocking;
pub use function::{from_batch_fn, from_fn};
pub use key::{KeyKind, KeyValue, read_key, write_key};
pub use latency::{Latency, WithLatency};

/// Answers lookups, a batch at a time.
///
/// ```
/// use futures::future::BoxFuture;
/// use lookaside::{LookupBatch, LookupProvider, Rows};
///
/// struct Echo;
///
/// impl LookupProvider for Echo {
///     fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
///         Box::pin(async move {
///             for lookup in batch {
///                 let row = lookup.key().clone();
///                 lookup.answer(Rows::One(row));
///             }
///         })
///     }
/// }
/// ```
///
/// The future runs on the Tokio runtime, beside the driver, so it may wait for whatever it likes;
/// it must not block its thread: wrap what does in [`blocking`]. It is dropped once the last
/// deadline of the batch is past, and when the driver is. Each lookup is answered by itself, in any
/// order; one that is dropped unanswered ends as a failure that says so.
pub trait LookupProvider: Send + Sync + 'static {
    /// Answers each lookup of the batch.
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()>;

    /// The names of the fields that its rows have, where it knows them before it has found any.
    fn columns(&self) -> Option<&[String]> {
        None
    }
}

impl<P: LookupProvider + ?Sized> LookupProvider for std::sync::Arc<P> {
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        (**self).lookup(batch)
    }

    fn columns(&self) -> Option<&[String]> {
        (**self).columns()
    }
}
