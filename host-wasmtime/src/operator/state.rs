//! What the host keeps for one operator, and the import that it offers.

use wasmtime::StoreLimits;

use crate::{
    Mailbox,
    columns::{ByteStrings, RequestBatch},
    component::lookaside::async_lookup::{lookup, types},
};

/// Bytes of rows that one `take-completions` gives at most, and one answer more.
const MAX_TAKEN_BYTES: usize = 16 << 20;

pub(crate) struct HostState {
    limits: StoreLimits,
    /// Lookups that were asked for and not taken yet.
    pub(super) requests: Vec<RequestBatch>,
    pub(super) mailbox: Mailbox,
}

impl HostState {
    pub(super) fn new(limits: StoreLimits) -> Self {
        Self { limits, requests: Vec::new(), mailbox: Mailbox::default() }
    }

    pub(super) fn limits(&mut self) -> &mut dyn wasmtime::ResourceLimiter {
        &mut self.limits
    }
}

impl lookup::Host for HostState {
    /// Notes the requests; they are started when the export has returned.
    fn async_lookup(&mut self, _now: u64, requests: lookup::RequestBatch) -> wasmtime::Result<()> {
        let read = |name, column: types::ByteStrings| ByteStrings::new(name, column.ends, column.bytes);
        let batch = RequestBatch::new(
            requests.ids,
            requests.attempts,
            requests.deadlines,
            read("keys", requests.keys)?,
            requests.payloads.map(|payloads| read("payloads", payloads)).transpose()?,
        )?;
        self.requests.push(batch);
        Ok(())
    }

    fn take_completions(&mut self, _now: u64, max: u32) -> wasmtime::Result<lookup::CompletionBatch> {
        let batch = self.mailbox.take(max as usize, MAX_TAKEN_BYTES);
        let (ends, bytes) = batch.rows.into_parts();
        Ok(lookup::CompletionBatch {
            ids: batch.ids,
            attempts: batch.attempts,
            statuses: batch.statuses,
            arrivals: batch.arrivals,
            row_counts: batch.row_counts,
            rows: types::ByteStrings { ends, bytes },
            retry_after: batch.retry_after,
        })
    }
}

impl types::Host for HostState {}
