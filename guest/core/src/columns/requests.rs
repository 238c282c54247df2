//! Lookups on their way to the provider.

use alloc::vec::Vec;

use bytes::Bytes;

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
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The lookups in order, where they are: nothing is copied.
    #[inline]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = RequestRow<'_>> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// Lookup `row`, where it is.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> RequestRow<'_> {
        RequestRow {
            id: RequestId(self.ids[row]),
            attempt: self.attempts[row],
            deadline: Instant(self.deadlines[row]),
            key: self.keys.slice(row),
            payload: self.payloads.as_ref().map(|payloads| payloads.slice(row)),
        }
    }

    /// The lookups in order.
    pub fn iter(&self) -> impl Iterator<Item = Request> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Lookup `row`; its bytes stay where they are.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Request {
        Request {
            id: RequestId(self.ids[row]),
            attempt: self.attempts[row],
            deadline: Instant(self.deadlines[row]),
            key: self.keys.get(row),
            payload: self.payloads.as_ref().map(|payloads| payloads.get(row)),
        }
    }
}

/// A lookup in its batch.
#[derive(Debug, Clone, Copy)]
pub struct RequestRow<'a> {
    /// As in [`Request`].
    pub id: RequestId,
    /// As in [`Request`].
    pub attempt: u32,
    /// As in [`Request`].
    pub deadline: Instant,
    /// As in [`Request`].
    pub key: &'a [u8],
    /// As in [`Request`].
    pub payload: Option<&'a [u8]>,
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
    pub fn push(&mut self, id: RequestId, attempt: u32, deadline: Instant, key: &[u8], payload: Option<&[u8]>) {
        self.ids.push(id.0);
        self.attempts.push(attempt);
        self.deadlines.push(deadline.0);
        self.keys.push(key);
        if let Some(payload) = payload {
            self.payloads.get_or_insert_default().push(payload);
        }
    }

    /// Appends lookups of one attempt, of which keys and payloads are written by themselves.
    pub(crate) fn push_but_keys(
        &mut self,
        ids: impl ExactSizeIterator<Item = RequestId>,
        attempt: u32,
        deadline: Instant,
    ) {
        let lookups = self.ids.len() + ids.len();
        self.ids.extend(ids.map(|id| id.0));
        self.attempts.resize(lookups, attempt);
        self.deadlines.resize(lookups, deadline.0);
    }

    /// Makes place for so many lookups more.
    pub fn reserve(&mut self, lookups: usize) {
        self.ids.reserve(lookups);
        self.attempts.reserve(lookups);
        self.deadlines.reserve(lookups);
    }

    /// How many lookups there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The lookups from `rows` on.
    pub(crate) fn without_first(self, rows: usize) -> Self {
        if rows == 0 {
            return self;
        }
        let mut rest = Self::default();
        for row in rows..self.len() {
            let (id, deadline) = (RequestId(self.ids[row]), Instant(self.deadlines[row]));
            let payload = self.payloads.as_ref().map(|payloads| payloads.slice(row));
            rest.push(id, self.attempts[row], deadline, self.keys.slice(row), payload);
        }
        rest
    }

    /// Lookup `row`, with bytes of its own.
    pub(crate) fn request(&self, row: usize) -> Request {
        Request {
            id: RequestId(self.ids[row]),
            attempt: self.attempts[row],
            deadline: Instant(self.deadlines[row]),
            key: Bytes::copy_from_slice(self.keys.slice(row)),
            payload: self.payloads.as_ref().map(|payloads| Bytes::copy_from_slice(payloads.slice(row))),
        }
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The batch as it is.
    #[must_use]
    pub fn build(self) -> RequestBatch {
        RequestBatch {
            ids: self.ids,
            attempts: self.attempts,
            deadlines: self.deadlines,
            keys: self.keys.build(),
            payloads: self.payloads.map(ByteStringsBuilder::build),
        }
    }
}
