//! The records that wait for their next attempt.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::{Instant, RequestId};

/// One record's wait. Ordered by when it is due, then by the record's arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitingRetry {
    pub(crate) due: Instant,
    pub(crate) arrival: u64,
    pub(crate) id: RequestId,
    /// The attempt that failed.
    pub(crate) after_attempt: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Retries {
    heap: BinaryHeap<Reverse<WaitingRetry>>,
}

impl Retries {
    pub(crate) fn set(&mut self, retry: WaitingRetry) {
        self.heap.push(Reverse(retry));
    }

    /// The next one due that still counts.
    pub(crate) fn next(&mut self, is_live: impl Fn(&WaitingRetry) -> bool) -> Option<WaitingRetry> {
        while let Some(Reverse(retry)) = self.heap.peek() {
            if is_live(retry) {
                return Some(*retry);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes out what [`Self::next`] gave.
    pub(crate) fn take(&mut self) {
        self.heap.pop();
    }
}
