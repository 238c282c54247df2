//! Values in places of one list, which are used again.

use alloc::vec::Vec;

/// A position in [`Slots`].
pub(crate) type Slot = u32;

/// Places that stay though all of them are free.
const KEPT: usize = 4_096;

/// Values in reused slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<Slot>,
}

impl<T> Slots<T> {
    /// Bytes of each value, as the component has them.
    #[cfg(target_pointer_width = "32")]
    pub(crate) const PLACE: usize = size_of::<Option<T>>();

    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(value);
            return slot;
        }
        self.grow();
        self.slots.push(Some(value));
        (self.slots.len() - 1) as Slot
    }

    /// Whether there is memory for one more value.
    #[inline(never)]
    pub(crate) fn has_place(&mut self) -> bool {
        !self.free.is_empty() || self.grow()
    }

    /// Gets memory for one more place, if there is none; says whether it has.
    ///
    /// Twice as many places as before, beside those that are copied, may not fit into the memory that a component has, when a
    /// few more still do.
    #[inline(never)]
    fn grow(&mut self) -> bool {
        let places = self.slots.len();
        let has_place = places < self.slots.capacity();
        has_place || [places.max(4), places / 8].iter().any(|&more| self.slots.try_reserve_exact(more).is_ok())
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> T {
        let value = self.slots[slot as usize].take().expect("the slot is in use");
        self.free.push(slot);
        value
    }

    /// As [`Self::remove`], for a value that nobody wants any more.
    pub(crate) fn discard(&mut self, slot: Slot) {
        self.slots[slot as usize] = None;
        self.free.push(slot);
        // After a peak nothing of it stays, once nothing is left.
        if self.free.len() == self.slots.len() && self.slots.len() > KEPT {
            *self = Self::new();
        }
    }

    /// How many places there are, free ones included: what [`Self::iter`] looks at.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    /// The values with their slots, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.slots.iter().enumerate().filter_map(|(slot, value)| Some((slot as Slot, value.as_ref()?)))
    }
}

impl<T> core::ops::Index<Slot> for Slots<T> {
    type Output = T;

    fn index(&self, slot: Slot) -> &T {
        self.slots[slot as usize].as_ref().expect("the slot is in use")
    }
}

impl<T> core::ops::IndexMut<Slot> for Slots<T> {
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        self.slots[slot as usize].as_mut().expect("the slot is in use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_peak_stays_once_nothing_is_left() {
        let mut slots = Slots::new();
        let peak: Vec<Slot> = (0..2 * KEPT).map(|value| slots.insert(value)).collect();
        peak[1..].iter().for_each(|&slot| slots.discard(slot));
        assert_eq!((slots.len(), slots.places()), (1, 2 * KEPT));
        slots.discard(peak[0]);
        assert_eq!((slots.len(), slots.places()), (0, 0));
        assert_eq!(slots.insert(7), 0);
    }
}
