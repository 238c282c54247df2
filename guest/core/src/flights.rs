//! Single flight: equal keys that are looked up at the same time share one lookup.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    RequestId,
    hashed_key::HashedKey,
    slots::{Slot, Slots},
};

/// One lookup that several records wait for.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    key: HashedKey,
    /// The records that wait for it besides the one that makes it, in the order in which they
    /// joined. Some may have ended since.
    followers: Vec<RequestId>,
    /// Of these, the first so many have left it: they made its lookup in their turn.
    left: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Flights {
    by_key: BTreeMap<HashedKey, Slot>,
    flights: Slots<Flight>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self { by_key: BTreeMap::new(), flights: Slots::new() }
    }

    /// The flight of `key`, if one is under way.
    pub(crate) fn find(&self, key: &HashedKey) -> Option<Slot> {
        self.by_key.get(key).copied()
    }

    /// Begins the flight of `key`; there is none yet.
    pub(crate) fn begin(&mut self, key: HashedKey) -> Slot {
        let slot = self.flights.insert(Flight { key: key.clone(), followers: Vec::new(), left: 0 });
        self.by_key.insert(key, slot);
        slot
    }

    /// Has one more record wait for a flight.
    pub(crate) fn join(&mut self, flight: Slot, id: RequestId) {
        self.flights[flight].followers.push(id);
    }

    /// The first record that waits for a flight and that `may_lead` is true of: it waits no more, nor do those before it.
    pub(crate) fn next_leader(&mut self, flight: Slot, may_lead: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        let flight = &mut self.flights[flight];
        while let Some(&id) = flight.followers.get(flight.left) {
            flight.left += 1;
            if may_lead(id) {
                return Some(id);
            }
        }
        None
    }

    /// Has a flight's key be kept by these bytes: those that it was kept by may keep more in memory.
    pub(crate) fn move_key(&mut self, flight: Slot, key: HashedKey) {
        self.by_key.remove(&key);
        self.flights[flight].key = key.clone();
        self.by_key.insert(key, flight);
    }

    /// Ends a flight; gives the records that wait for it.
    pub(crate) fn end(&mut self, flight: Slot) -> Vec<RequestId> {
        let mut flight = self.flights.remove(flight);
        self.by_key.remove(&flight.key);
        flight.followers.drain(..flight.left);
        flight.followers
    }
}
