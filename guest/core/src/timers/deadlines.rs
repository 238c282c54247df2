//! The deadlines of the records whose lookups run.
//!
//! One timeout for all, and instants that never go back: so deadlines rise in the order in which
//! they are set, and a list through the records orders them. A record that is done leaves the list.

use crate::slots::{Slot, Slots};

/// Stands for no record, where a place is worth its bytes.
const NONE: Slot = Slot::MAX;

/// A record's neighbours in the list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neighbours {
    earlier: Slot,
    later: Slot,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { earlier: NONE, later: NONE }
    }
}

/// What has a place in the list.
pub(crate) trait HasDeadline {
    fn neighbours(&mut self) -> &mut Neighbours;
}

/// The ends of the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    first: Option<Slot>,
    last: Option<Slot>,
}

impl Deadlines {
    /// Appends a record, whose deadline is no earlier than those set before.
    #[inline]
    pub(crate) fn set<T: HasDeadline>(&mut self, slot: Slot, records: &mut Slots<T>) {
        *records[slot].neighbours() = Neighbours { earlier: self.last.unwrap_or(NONE), later: NONE };
        match self.last {
            Some(last) => records[last].neighbours().later = slot,
            None => self.first = Some(slot),
        }
        self.last = Some(slot);
    }

    /// Takes a record out that is in the list.
    #[inline]
    pub(crate) fn remove<T: HasDeadline>(&mut self, slot: Slot, records: &mut Slots<T>) {
        let Neighbours { earlier, later } = *records[slot].neighbours();
        match earlier {
            NONE => self.first = Some(later).filter(|&later| later != NONE),
            earlier => records[earlier].neighbours().later = later,
        }
        match later {
            NONE => self.last = Some(earlier).filter(|&earlier| earlier != NONE),
            later => records[later].neighbours().earlier = earlier,
        }
    }

    /// The record whose deadline is next.
    pub(crate) fn next(&self) -> Option<Slot> {
        self.first
    }
}
