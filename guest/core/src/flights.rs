//! Single flight: equal keys that are looked up at the same time share one lookup.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    Instant, RequestId,
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
        let slot = self.flights.insert(Flight { key: key.clone(), followers: Vec::new() });
        self.by_key.insert(key, slot);
        slot
    }

    /// Has one more record wait for a flight.
    pub(crate) fn join(&mut self, flight: Slot, id: RequestId) {
        self.flights[flight].followers.push(id);
    }

    /// Takes out the record that waits for a flight and has the most time left, of several the last to join.
    ///
    /// `deadline` gives none for a record that waits no more. A backend that never answers is asked once per timeout:
    /// all that waited time out before the record that asks for them.
    pub(crate) fn next_leader(
        &mut self,
        flight: Slot,
        deadline: impl Fn(RequestId) -> Option<Instant>,
    ) -> Option<RequestId> {
        let flight = &mut self.flights[flight];
        let (mut leader, mut latest) = (None, None);
        for id in core::mem::take(&mut flight.followers) {
            let deadline = deadline(id);
            if deadline.is_none() {
                continue;
            }
            if deadline >= latest {
                (leader, latest) = (Some(flight.followers.len()), deadline);
            }
            flight.followers.push(id);
        }
        leader.map(|place| flight.followers.remove(place))
    }

    /// Has a flight's key be kept by these bytes: those that it was kept by may keep more in memory.
    pub(crate) fn move_key(&mut self, flight: Slot, key: HashedKey) {
        self.by_key.remove(&key);
        self.flights[flight].key = key.clone();
        self.by_key.insert(key, flight);
    }

    /// Ends a flight; gives the records that wait for it.
    pub(crate) fn end(&mut self, flight: Slot) -> Vec<RequestId> {
        let flight = self.flights.remove(flight);
        self.by_key.remove(&flight.key);
        flight.followers
    }
}
