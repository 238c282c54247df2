//! First in, first out: a done element waits for all before it.

use alloc::collections::VecDeque;

use super::{Barrier, Ready};
use crate::{
    group::Group,
    links::{List, ListOf},
    slots::{Slot, Slots},
};

#[derive(Debug, Clone)]
pub(crate) struct OrderedQueue {
    groups: List,
    /// Their places among the groups are told by when they arrived.
    barriers: VecDeque<Barrier>,
}

impl OrderedQueue {
    pub(super) fn new() -> Self {
        Self { groups: List::new(ListOf::Order), barriers: VecDeque::new() }
    }

    pub(super) fn push_group(&mut self, slot: Slot, groups: &mut Slots<Group>) {
        self.groups.push(slot, groups);
    }

    pub(super) fn group_split(&mut self, slot: Slot, rest: Slot, groups: &mut Slots<Group>) {
        self.groups.push_before(slot, rest, groups);
    }

    pub(super) fn push_barrier(&mut self, barrier: Barrier) {
        self.barriers.push_back(barrier);
    }

    pub(super) fn peek(&self, groups: &Slots<Group>) -> Option<Ready> {
        let Some(slot) = self.groups.first() else { return self.barriers.front().copied().map(Ready::Barrier) };
        let group = &groups[slot];
        match self.barriers.front() {
            Some(barrier) if barrier.arrival < group.arrival => Some(Ready::Barrier(*barrier)),
            _ => group.is_done().then_some(Ready::Group(slot)),
        }
    }

    pub(super) fn pop(&mut self, ready: Ready, groups: &mut Slots<Group>) {
        match ready {
            Ready::Group(slot) => self.groups.remove(slot, groups),
            Ready::Barrier(_) => drop(self.barriers.pop_front()),
        }
    }

    pub(super) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        self.barriers.iter().for_each(show);
    }
}
