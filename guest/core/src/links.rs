//! Lists through the groups in flight: each can be taken out wherever it is, and one put in before another.

use crate::{
    group::Group,
    slots::{Slot, Slots},
};

/// Stands for no group, where a place is worth its bytes.
const NONE: Slot = Slot::MAX;

/// A group's neighbours in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    earlier: Slot,
    later: Slot,
}

impl Default for Links {
    fn default() -> Self {
        Self { earlier: NONE, later: NONE }
    }
}

/// The lists that a group may be in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListOf {
    /// Those whose deadline is to come.
    Deadlines,
    /// Those that leave in order of arrival.
    Order,
}

/// The ends of a list.
#[derive(Debug, Clone)]
pub(crate) struct List {
    of: ListOf,
    first: Slot,
    last: Slot,
}

impl List {
    pub(crate) fn new(of: ListOf) -> Self {
        Self { of, first: NONE, last: NONE }
    }

    /// Appends a group.
    pub(crate) fn push(&mut self, slot: Slot, groups: &mut Slots<Group>) {
        *groups[slot].links(self.of) = Links { earlier: self.last, later: NONE };
        match self.last {
            NONE => self.first = slot,
            last => groups[last].links(self.of).later = slot,
        }
        self.last = slot;
    }

    /// Puts a group in before another.
    pub(crate) fn push_before(&mut self, slot: Slot, later: Slot, groups: &mut Slots<Group>) {
        let earlier = core::mem::replace(&mut groups[later].links(self.of).earlier, slot);
        *groups[slot].links(self.of) = Links { earlier, later };
        match earlier {
            NONE => self.first = slot,
            earlier => groups[earlier].links(self.of).later = slot,
        }
    }

    /// Takes a group out that is in the list.
    pub(crate) fn remove(&mut self, slot: Slot, groups: &mut Slots<Group>) {
        let Links { earlier, later } = *groups[slot].links(self.of);
        match earlier {
            NONE => self.first = later,
            earlier => groups[earlier].links(self.of).later = later,
        }
        match later {
            NONE => self.last = earlier,
            later => groups[later].links(self.of).earlier = earlier,
        }
    }

    /// The first group.
    #[inline]
    pub(crate) fn first(&self) -> Option<Slot> {
        (self.first != NONE).then_some(self.first)
    }
}
