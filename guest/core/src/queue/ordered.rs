//! First in, first out: a done element waits for all before it.

use alloc::collections::VecDeque;

use super::{Barrier, Ready};
use crate::slots::Slot;

/// Stands for a barrier where slots stand for records.
const BARRIER: Slot = Slot::MAX;

#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedQueue {
    elements: VecDeque<Slot>,
    barriers: VecDeque<Barrier>,
}

impl OrderedQueue {
    #[inline]
    pub(super) fn push_record(&mut self, slot: Slot) {
        self.elements.push_back(slot);
    }

    pub(super) fn push_barrier(&mut self, barrier: Barrier) {
        self.elements.push_back(BARRIER);
        self.barriers.push_back(barrier);
    }

    #[inline]
    pub(super) fn peek(&self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        match *self.elements.front()? {
            BARRIER => self.barriers.front().copied().map(Ready::Barrier),
            slot if is_done(slot) => Some(Ready::Record(slot)),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn pop(&mut self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        let ready = self.peek(is_done)?;
        self.elements.pop_front();
        if matches!(ready, Ready::Barrier(_)) {
            self.barriers.pop_front();
        }
        Some(ready)
    }

    pub(super) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        self.barriers.iter().for_each(show);
    }
}
