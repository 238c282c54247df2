//! Request ids: a position for each record in flight leads to its group without searching.
//!
//! Records that come together get positions in a row, where there are any, so that a group is told by its first one.

use alloc::vec::Vec;

use crate::{RequestId, slots::Slot};

/// A place in [`Positions`].
pub(crate) type Position = u32;

/// Where a request id leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// To a record in flight: to its group, and its own position.
    Here(Slot, Position),
    /// To a record that has left.
    Gone,
    /// Nowhere: the id was never given.
    Never,
}

/// How many bits of a request id say the position; the rest counts the position's uses.
const POSITION_BITS: u32 = 32;

/// Stands for no group.
const FREE: Slot = Slot::MAX;
/// All ids of the position have been given: it stays out of use, so that none is given twice.
const RETIRED: Slot = Slot::MAX - 1;

/// Positions in reused places; each use of a position has an id of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions {
    places: Vec<Place>,
    /// Where to look for free ones first: those before it were given later than those behind it.
    next: usize,
    /// Those that are not free.
    taken: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// Uses so far, this one included.
    uses: u32,
    group: Slot,
}

impl Positions {
    /// At most `count` free positions in a row, and at least one: the first, and how many.
    ///
    /// Where less than a fifth is free there are new ones: so what is taken is passed over a few times for each that is found.
    pub(crate) fn find_free(&mut self, count: u32) -> (Position, u32) {
        let places = self.places.len();
        if places - self.taken <= self.taken / 4 {
            self.places.resize(places + count as usize, Place { uses: 0, group: FREE });
            return (places as Position, count);
        }
        while self.places.get(self.next).is_none_or(|place| place.group != FREE) {
            self.next = if self.next < places { self.next + 1 } else { 0 };
        }
        let first = self.next;
        let free = self.places[first..].iter().take(count as usize).take_while(|place| place.group == FREE).count();
        self.next += free;
        (first as Position, free as u32)
    }

    /// Gives free positions to a group: each has a new id.
    #[inline]
    pub(crate) fn take(&mut self, first: Position, count: u32, group: Slot) {
        self.taken += count as usize;
        for place in self.row(first, count) {
            place.uses += 1;
            place.group = group;
        }
    }

    /// Gives positions of a group to another group; their ids stay.
    pub(crate) fn hand_over(&mut self, first: Position, count: u32, group: Slot) {
        self.row(first, count).iter_mut().for_each(|place| place.group = group);
    }

    /// Frees positions whose records have left.
    #[inline]
    pub(crate) fn free(&mut self, first: Position, count: u32) {
        let mut retired = 0;
        for place in self.row(first, count) {
            let is_used_up = place.uses == u32::MAX;
            retired += usize::from(is_used_up);
            place.group = if is_used_up { RETIRED } else { FREE };
        }
        self.taken -= count as usize - retired;
    }

    /// The id of a position's record.
    #[inline]
    pub(crate) fn id(&self, position: Position) -> RequestId {
        self.places[position as usize].id(position)
    }

    /// The ids of positions in a row.
    #[inline]
    pub(crate) fn ids(&self, first: Position, count: u32) -> impl ExactSizeIterator<Item = RequestId> {
        let places = &self.places[first as usize..(first + count) as usize];
        places.iter().enumerate().map(move |(row, place)| place.id(first + row as u32))
    }

    #[inline]
    pub(crate) fn find(&self, id: RequestId) -> Found {
        let position = id.0 as Position;
        let uses = (id.0 >> POSITION_BITS) as u32;
        match self.places.get(position as usize) {
            Some(place) if uses == place.uses && place.group < RETIRED => Found::Here(place.group, position),
            Some(place) if uses >= 1 && uses <= place.uses => Found::Gone,
            _ => Found::Never,
        }
    }

    #[inline]
    fn row(&mut self, first: Position, count: u32) -> &mut [Place] {
        &mut self.places[first as usize..(first + count) as usize]
    }
}

impl Place {
    #[inline]
    fn id(&self, position: Position) -> RequestId {
        RequestId(u64::from(self.uses) << POSITION_BITS | u64::from(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(positions: &mut Positions, count: u32, group: Slot) -> (Position, u32) {
        let (first, count) = positions.find_free(count);
        positions.take(first, count, group);
        (first, count)
    }

    #[test]
    fn an_id_leads_to_its_group_until_its_record_leaves() {
        let mut positions = Positions::default();
        assert_eq!(taken(&mut positions, 3, 7), (0, 3));
        let ids: Vec<RequestId> = positions.ids(0, 3).collect();
        assert_eq!(positions.find(ids[1]), Found::Here(7, 1));
        positions.hand_over(0, 2, 8);
        assert_eq!((positions.find(ids[1]), positions.find(ids[2])), (Found::Here(8, 1), Found::Here(7, 2)));
        positions.free(0, 2);
        assert_eq!((positions.find(ids[1]), positions.find(ids[2])), (Found::Gone, Found::Here(7, 2)));

        assert_eq!(taken(&mut positions, 2, 9), (0, 2), "free positions are used again");
        assert_eq!(positions.find(ids[1]), Found::Gone);
        assert_ne!(positions.id(1), ids[1]);
        assert_eq!(positions.find(positions.id(1)), Found::Here(9, 1));
    }

    #[test]
    fn what_is_found_is_free_and_in_a_row() {
        let mut positions = Positions::default();
        assert_eq!(taken(&mut positions, 100, 1), (0, 100));
        positions.free(0, 40);
        positions.free(41, 59);
        assert_eq!(taken(&mut positions, 50, 2), (0, 40), "the position behind them is taken");
        assert_eq!(taken(&mut positions, 10, 3), (41, 10));
        assert_eq!(taken(&mut positions, 49, 4), (51, 49), "as far as the list goes");
        assert_eq!(taken(&mut positions, 5, 5), (100, 5), "all are taken");
        assert_eq!(positions.taken, positions.places.len());
    }

    #[test]
    fn an_id_that_was_never_given_is_told_from_one_that_left() {
        let mut positions = Positions::default();
        taken(&mut positions, 1, 0);
        let id = positions.id(0).0;
        for never in [0, 1, id + 1, id + (1 << POSITION_BITS), u64::MAX] {
            assert_eq!(positions.find(RequestId(never)), Found::Never, "{never}");
        }
    }

    #[test]
    fn a_position_whose_ids_are_used_up_is_given_no_more() {
        let mut positions = Positions::default();
        taken(&mut positions, 2, 0);
        positions.places[0].uses = u32::MAX;
        let last = positions.id(0);
        positions.free(0, 2);
        assert_eq!(taken(&mut positions, 2, 1), (1, 1));
        assert_eq!(positions.find(last), Found::Gone);
    }
}
