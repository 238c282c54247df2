//! First in, first out: a done element waits for all before it.

use alloc::collections::VecDeque;

use super::{Barrier, Ready};
use crate::slots::Slot;

#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedQueue {
    elements: VecDeque<Ready>,
}

impl OrderedQueue {
    pub(super) fn push_record(&mut self, slot: Slot) {
        self.elements.push_back(Ready::Record(slot));
    }

    pub(super) fn push_barrier(&mut self, barrier: Barrier) {
        self.elements.push_back(Ready::Barrier(barrier));
    }

    pub(super) fn peek(&self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        match *self.elements.front()? {
            Ready::Record(slot) if !is_done(slot) => None,
            ready => Some(ready),
        }
    }

    pub(super) fn pop(&mut self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        self.peek(is_done)?;
        self.elements.pop_front()
    }

    pub(super) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        for element in &self.elements {
            if let Ready::Barrier(barrier) = element {
                show(barrier);
            }
        }
    }
}
