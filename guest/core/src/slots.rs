//! Values in places of one list, which are used again.

use alloc::vec::Vec;

/// A position in [`Slots`].
pub(crate) type Slot = u32;

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
        self.slots.push(Some(value));
        (self.slots.len() - 1) as Slot
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
