//! One lookup a key at a time.

use alloc::collections::{BTreeMap, VecDeque};

use crate::{
    hashed_key::HashedKey,
    slots::{Slot, Slots},
};

/// Stands for no waiting records.
const NONE: Slot = Slot::MAX;

#[derive(Debug, Clone)]
pub(crate) struct KeyOrder {
    /// The keys being looked up, each with where the records that wait for it are; most have none.
    busy: BTreeMap<HashedKey, Slot>,
    waiting: Slots<VecDeque<Slot>>,
}

impl KeyOrder {
    pub(crate) fn new() -> Self {
        Self { busy: BTreeMap::new(), waiting: Slots::new() }
    }

    /// Whether a record of `key` may start now: then it holds the key.
    pub(crate) fn claim(&mut self, key: HashedKey) -> bool {
        // One search of the tree for a key that is free, as most are.
        match self.busy.insert(key.clone(), NONE) {
            None => true,
            Some(waiting) => {
                self.busy.insert(key, waiting);
                false
            }
        }
    }

    /// Has a record wait for `key`, which is held: for those of its key before it.
    pub(crate) fn wait(&mut self, key: HashedKey, record: Slot) {
        let waiting = self.busy.get(&key).copied().filter(|&waiting| waiting != NONE);
        let waiting = waiting.unwrap_or_else(|| self.waiting.insert(VecDeque::new()));
        self.waiting[waiting].push_back(record);
        self.busy.insert(key, waiting);
    }

    /// Whether the records that hold keys are the only ones of them.
    pub(crate) fn nobody_waits(&self) -> bool {
        self.waiting.len() == 0
    }

    /// Has a key that is held be kept by these bytes: those that it was kept by may keep more in memory.
    pub(crate) fn move_key(&mut self, key: HashedKey) {
        if let Some(waiting) = self.busy.remove(&key) {
            self.busy.insert(key, waiting);
        }
    }

    /// Says that the record that held `key` is done; gives the one that holds it now.
    pub(crate) fn release(&mut self, key: HashedKey) -> Option<Slot> {
        let waiting = self.busy.remove(&key)?;
        if waiting == NONE {
            return None;
        }
        let next = self.waiting[waiting].pop_front();
        match next {
            Some(_) => drop(self.busy.insert(key, waiting)),
            None => self.waiting.discard(waiting),
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_key_is_held_by_one_record_at_a_time_in_order() {
        let key = |name: &'static str| HashedKey::new(Bytes::from_static(name.as_bytes()));
        let mut keys = KeyOrder::new();
        assert!(keys.claim(key("a")) && keys.claim(key("b")) && keys.nobody_waits());
        for record in 1..4 {
            assert!(!keys.claim(key("a")));
            keys.wait(key("a"), record);
        }
        assert!(!keys.nobody_waits());
        let held: Vec<_> = (0..5).map(|_| keys.release(key("a"))).collect();
        assert_eq!(held, [Some(1), Some(2), Some(3), None, None]);
        assert_eq!((keys.busy.len(), keys.waiting.len()), (1, 0));
    }
}
