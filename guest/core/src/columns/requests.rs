//! Lookups on their way to the provider.

use alloc::vec::Vec;

use super::{ByteStrings, ByteStringsBuilder, Malformed, same_length};
use crate::{Instant, Request, RequestId};

/// Lookups to start, as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBatch {
    ids: Vec<u64>,
    attempts: Vec<u32>,
    deadlines: Vec<u64>,
    keys: ByteStrings,
    payloads: Option<ByteStrings>,
}

impl RequestBatch {
    /// The batch of these columns.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where they do not fit together.
    pub fn new(
        ids: Vec<u64>,
        attempts: Vec<u32>,
        deadlines: Vec<u64>,
        keys: ByteStrings,
        payloads: Option<ByteStrings>,
    ) -> Result<Self, Malformed> {
        let rows = ids.len();
        same_length("attempts", attempts.len(), rows)?;
        same_length("deadlines", deadlines.len(), rows)?;
        same_length("keys", keys.len(), rows)?;
        if let Some(payloads) = &payloads {
            same_length("payloads", payloads.len(), rows)?;
        }
        Ok(Self { ids, attempts, deadlines, keys, payloads })
    }

    /// How many lookups there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The lookups in order.
    pub fn iter(&self) -> impl Iterator<Item = Request> {
        (0..self.len()).map(|row| Request {
            id: RequestId(self.ids[row]),
            attempt: self.attempts[row],
            deadline: Instant(self.deadlines[row]),
            key: self.keys.get(row),
            payload: self.payloads.as_ref().map(|payloads| payloads.get(row)),
        })
    }
}

/// A [`RequestBatch`] that grows. Its fields are the contract's columns.
#[derive(Debug, Clone, Default)]
pub struct RequestBatchBuilder {
    /// As in the contract.
    pub ids: Vec<u64>,
    /// As in the contract.
    pub attempts: Vec<u32>,
    /// As in the contract.
    pub deadlines: Vec<u64>,
    /// As in the contract.
    pub keys: ByteStringsBuilder,
    /// As in the contract; there where the requests have payloads.
    pub payloads: Option<ByteStringsBuilder>,
}

impl RequestBatchBuilder {
    /// Appends one lookup. All of a batch have payloads, or none has.
    pub fn push(&mut self, request: &Request) {
        self.ids.push(request.id.0);
        self.attempts.push(request.attempt);
        self.deadlines.push(request.deadline.0);
        self.keys.push(&request.key);
        if let Some(payload) = &request.payload {
            self.payloads.get_or_insert_default().push(payload);
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
