//! Lookup providers: who answers an operator's lookups.

#![cfg_attr(
    not(all(
        feature = "hbase",
        feature = "http",
        feature = "mysql",
        feature = "postgres",
        feature = "redis",
        feature = "sqlite"
    )),
    allow(dead_code, unused_imports, reason = "what backends share, one alone need not use")
)]

mod address;
mod batch;
mod blocking;
mod catalog;
mod concurrency;
mod encoding;
mod function;
#[cfg(feature = "hbase")]
mod hbase;
#[cfg(feature = "http")]
mod http;
mod key;
mod key_template;
mod latency;
mod limits;
#[cfg(feature = "mysql")]
mod mysql;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod remote;
mod secret;
mod settings;
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod table;
#[cfg(feature = "http")]
mod tls;

use futures::future::BoxFuture;

pub use batch::{Lookup, LookupBatch};
pub use blocking::blocking;
pub use catalog::{LookupKind, lookups};
pub use function::{from_batch_fn, from_fn, from_memory};
pub(crate) use key::KeyWriter;
pub use key::{KeyKind, KeyValue, read_key, write_key};
pub use latency::{Latency, WithLatency};
pub use open::{OpenError, Selection, files, open};
pub use settings::Setting;

use address::Address;
use encoding::ValueEncoding;
use key_template::KeyTemplate;
use limits::Limits;
use settings::Settings;

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
///                 let row = lookup.key();
///                 lookup.answer(Rows::One(row));
///             }
///         })
///     }
/// }
/// ```
///
/// The future runs on the Tokio runtime, beside the driver, so it may wait for whatever it likes;
/// it must not block its thread: wrap what does in [`blocking`]. One that
/// [answers at once](Self::answers_at_once) is first tried by the driver itself. It is dropped once
/// the last deadline of the batch is past, and when the driver is. Each lookup is answered by
/// itself, in any order; one that is dropped unanswered ends as a failure that says so.
pub trait LookupProvider: Send + Sync + 'static {
    /// Answers each lookup of the batch.
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()>;

    /// The names of the fields that its rows have, where it knows them before it has found any.
    fn columns(&self) -> Option<&[String]> {
        None
    }

    /// Says that keys come from a stream without types, as CSV is: a text stands for what it spells. A provider that
    /// compares by rules of its own need not know.
    fn take_untyped_keys(&self) {}

    /// Whether it has all answers at hand, so that it never waits, nor works for long. The driver then asks it itself,
    /// which spares a task.
    fn answers_at_once(&self) -> bool {
        false
    }
}

impl<P: LookupProvider + ?Sized> LookupProvider for std::sync::Arc<P> {
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        (**self).lookup(batch)
    }

    fn columns(&self) -> Option<&[String]> {
        (**self).columns()
    }

    fn take_untyped_keys(&self) {
        (**self).take_untyped_keys();
    }

    fn answers_at_once(&self) -> bool {
        (**self).answers_at_once()
    }
}
