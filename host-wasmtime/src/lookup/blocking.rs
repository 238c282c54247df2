//! Clients that block their thread.

use std::sync::Arc;

use bytes::Bytes;
use lookaside_core::{LookupError, Rows};

use super::{LookupProvider, from_batch_fn};

/// A provider that asks `lookup`, which may block, for each key of a batch in turn.
///
/// Each batch runs on a thread that may be blocked, so that neither the driver nor other lookups
/// stand still meanwhile. Tokio bounds the number of these threads (512 by default); batches over
/// it wait, within their records' timeouts.
pub fn blocking<F>(lookup: F) -> impl LookupProvider
where
    F: Fn(&Bytes) -> Result<Rows, LookupError> + Send + Sync + 'static,
{
    let lookup = Arc::new(lookup);
    from_batch_fn(move |batch| {
        let lookup = Arc::clone(&lookup);
        async move {
            let work = tokio::task::spawn_blocking(move || {
                for asked in batch {
                    let result = lookup(&asked.key());
                    asked.end(result);
                }
            });
            // Where the function panics, the lookups that it leaves answer by themselves.
            let _ = work.await;
        }
    })
}
