//! One lookup a key at a time.
//!
//! A tree and not a hash table: keys come from the data, and nobody may choose them so that they collide.

use alloc::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::slots::Slot;

#[derive(Debug, Default)]
pub(crate) struct KeyOrder {
    /// The keys being looked up, each with the records that wait for it.
    busy: BTreeMap<Bytes, VecDeque<Slot>>,
}

impl KeyOrder {
    /// Whether `slot`'s record may start now; else it waits for the records of its key before it.
    pub(crate) fn claim(&mut self, key: Bytes, slot: Slot) -> bool {
        if let Some(waiting) = self.busy.get_mut(&key) {
            waiting.push_back(slot);
            return false;
        }
        self.busy.insert(key, VecDeque::new());
        true
    }

    /// Says that the record that held `key` is done; gives the one that holds it now.
    pub(crate) fn release(&mut self, key: &Bytes) -> Option<Slot> {
        let next = self.busy.get_mut(key)?.pop_front();
        if next.is_none() {
            self.busy.remove(key);
        }
        next
    }
}
