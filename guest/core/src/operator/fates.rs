//! Groups fall apart where the fates of their records do.

use super::Operator;
use crate::{positions::Position, slots::Slot};

impl Operator {
    /// The group of the record at `position` of `slot`'s group and of `count - 1` behind it, and of no others.
    ///
    /// Only a group whose attempts run has more than one record to take apart.
    pub(super) fn part(&mut self, slot: Slot, position: Position, count: u32) -> Slot {
        let before = position - self.groups[slot].first;
        if before > 0 {
            self.split(slot, before);
        }
        if count < self.groups[slot].len() { self.split(slot, count) } else { slot }
    }

    /// Makes the first `count` records of a group one of their own, which is given back.
    fn split(&mut self, slot: Slot, count: u32) -> Slot {
        let first = self.groups[slot].take_first(count);
        let position = first.first;
        let new = self.groups.insert(first);
        self.positions.hand_over(position, count, new);
        self.queue.group_split(new, slot, &mut self.groups);
        if self.options.timeout.is_some() {
            self.deadlines.push_before(new, slot, &mut self.groups);
        }
        new
    }
}
