//! One lookup a key at a time.
//!
//! A tree and not a hash table: keys come from the data, and nobody may choose them so that they collide.

use alloc::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::slots::{Slot, Slots};

#[derive(Debug, Clone)]
pub(crate) struct KeyOrder {
    /// The keys being looked up.
    busy: BTreeMap<Bytes, Slot>,
    /// For each, the records that wait for it.
    waiting: Slots<VecDeque<Slot>>,
}

impl KeyOrder {
    pub(crate) fn new() -> Self {
        Self { busy: BTreeMap::new(), waiting: Slots::new() }
    }

    /// Whether `record` may start now; else it waits for the records of its key before it.
    pub(crate) fn claim(&mut self, key: Bytes, record: Slot) -> bool {
        if let Some(&busy) = self.busy.get(&key) {
            self.waiting[busy].push_back(record);
            return false;
        }
        self.busy.insert(key, self.waiting.insert(VecDeque::new()));
        true
    }

    /// Says that the record that held `key` is done; gives the one that holds it now.
    pub(crate) fn release(&mut self, key: &Bytes) -> Option<Slot> {
        let busy = *self.busy.get(key)?;
        let next = self.waiting[busy].pop_front();
        if next.is_none() {
            self.waiting.remove(busy);
            self.busy.remove(key);
        }
        next
    }
}
