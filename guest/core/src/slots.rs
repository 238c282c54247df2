//! A fixed place for each record in flight, found by its request id without searching.

use alloc::vec::Vec;

use crate::RequestId;

/// A position in [`Slots`].
pub(crate) type Slot = u32;

/// How many bits of a request id say the slot; the rest counts the slot's uses.
const SLOT_BITS: u32 = 24;

/// The greatest number of slots.
pub(crate) const MAX_SLOTS: u32 = (1 << SLOT_BITS) - 1;

/// Where a request id leads.
pub(crate) enum Found {
    /// To a record in flight.
    Here(Slot),
    /// To a record that has left.
    Gone,
    /// Nowhere: the id was never given.
    Never,
}

/// Values in reused slots; each use of a slot has an id of its own.
#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    slots: Vec<Place<T>>,
    free: Vec<Slot>,
    in_use: usize,
}

#[derive(Debug, Clone)]
struct Place<T> {
    /// Uses so far, this one included.
    uses: u64,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// Bytes of each place, as the component has them.
    #[cfg(target_pointer_width = "32")]
    pub(crate) const PLACE: usize = size_of::<Place<T>>();

    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), in_use: 0 }
    }

    /// How many values are in flight.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.in_use
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Slot {
        self.in_use += 1;
        if let Some(slot) = self.free.pop() {
            let place = &mut self.slots[slot as usize];
            place.uses += 1;
            place.value = Some(value);
            return slot;
        }
        self.slots.push(Place { uses: 1, value: Some(value) });
        (self.slots.len() - 1) as Slot
    }

    /// The id of the value that is in `slot` now.
    #[inline]
    pub(crate) fn id(&self, slot: Slot) -> RequestId {
        RequestId(self.slots[slot as usize].uses << SLOT_BITS | u64::from(slot))
    }

    #[inline]
    pub(crate) fn find(&self, id: RequestId) -> Found {
        let slot = (id.0 & u64::from(MAX_SLOTS)) as Slot;
        let uses = id.0 >> SLOT_BITS;
        match self.slots.get(slot as usize) {
            Some(place) if uses == place.uses && place.value.is_some() => Found::Here(slot),
            Some(place) if uses >= 1 && uses <= place.uses => Found::Gone,
            _ => Found::Never,
        }
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> T {
        let value = self.slots[slot as usize].value.take().expect("the slot is in use");
        self.discard(slot);
        value
    }

    /// As [`Self::remove`], for a value that nobody wants any more.
    #[inline]
    pub(crate) fn discard(&mut self, slot: Slot) {
        self.in_use -= 1;
        let place = &mut self.slots[slot as usize];
        // A slot whose ids are used up stays out of use, so that no id is given twice.
        if place.uses < u64::MAX >> SLOT_BITS {
            self.free.push(slot);
        }
        place.value = None;
    }

    /// The values in flight with their slots, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.slots.iter().enumerate().filter_map(|(slot, place)| Some((slot as Slot, place.value.as_ref()?)))
    }
}

impl<T> core::ops::Index<Slot> for Slots<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: Slot) -> &T {
        self.slots[slot as usize].value.as_ref().expect("the slot is in use")
    }
}

impl<T> core::ops::IndexMut<Slot> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        self.slots[slot as usize].value.as_mut().expect("the slot is in use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_to_its_value_until_that_leaves() {
        let mut slots = Slots::new();
        let first = slots.insert('a');
        let first_id = slots.id(first);
        assert!(matches!(slots.find(first_id), Found::Here(slot) if slot == first));
        slots.remove(first);
        assert!(matches!(slots.find(first_id), Found::Gone));

        let second = slots.insert('b');
        assert_eq!(second, first, "a free slot is used again");
        assert!(matches!(slots.find(first_id), Found::Gone));
        assert!(matches!(slots.find(slots.id(second)), Found::Here(_)));
    }

    #[test]
    fn an_id_that_was_never_given_is_told_from_one_that_left() {
        let mut slots = Slots::new();
        let slot = slots.insert('a');
        let id = slots.id(slot).0;
        for never in [0, 1, id + 1, id + (1 << SLOT_BITS), u64::MAX] {
            assert!(matches!(slots.find(RequestId(never)), Found::Never), "{never}");
        }
    }
}
