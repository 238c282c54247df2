//! Which elements are taken into flight, and when.

use alloc::boxed::Box;

use super::{InFlightRecord, LastError, Operator, RecordState};
use crate::{
    Instant, Order, PushError, Record,
    batches::{AcceptedAt, Held, Records, Source},
    columns::RecordBatch,
    hashed_key::HashedKey,
    queue::{Barrier, BarrierKind},
    shared::Share,
    snapshot::SavedElement,
    timers::Neighbours,
};

impl Operator {
    /// Takes one record into flight and starts its lookup.
    ///
    /// Its timeout starts with its first attempt, which is now, or in key-ordered mode when the
    /// records of its key before it are done.
    ///
    /// # Errors
    ///
    /// [`PushError::Full`] hands the record back where there is no room, [`PushError::AfterEnd`]
    /// after the end of the input: the operator is unchanged in both cases. It fails where the
    /// record has no key and missing ones are not allowed.
    pub fn push_record(&mut self, record: Record, now: Instant) -> Result<(), PushError> {
        self.see(now);
        self.check()?;
        if self.input_ended {
            return Err(PushError::AfterEnd);
        }
        if !self.backlog.is_empty() || !self.has_room_for(record.held_bytes()) {
            return Err(PushError::Full(Some(Box::new(record))));
        }
        self.counters.accepted += 1;
        self.admit_alone(record)?;
        Ok(())
    }

    /// Takes as many records, from the first on, as there is room for, and says how many.
    ///
    /// The batch is kept until the last of them has left; one that most would be kept of for nothing is copied.
    ///
    /// # Errors
    ///
    /// As [`Self::push_record`], but that a full operator takes 0.
    pub fn push_records(&mut self, batch: RecordBatch, now: Instant) -> Result<usize, PushError> {
        self.see(now);
        self.check()?;
        if self.input_ended {
            return Err(PushError::AfterEnd);
        }
        let room = self.room() as usize;
        let batch = if room < batch.len() { batch.first(room) } else { batch };
        let rows = batch.len();
        if rows == 0 {
            return Ok(0);
        }
        self.requests.reserve(rows);
        let bytes = batch.byte_len();
        let batch = self.keep(Records::Batch(batch), bytes);
        // One hold for each record, and the first one until all are in.
        self.batches.keep(batch, rows as u32);
        let mut taken = 0;
        let mut admitted = Ok(());
        while taken < rows && admitted.is_ok() {
            let held = Held { batch, row: taken as u32 };
            let (has_key, bytes) = (self.batches.has_key(held), self.batches.held_bytes(held));
            if !self.has_room_for(bytes) {
                break;
            }
            self.counters.accepted += 1;
            admitted = self.admit_record(held, has_key, bytes);
            taken += 1;
        }
        self.batches.release(batch, (rows - taken) as u32 + 1);
        admitted?;
        Ok(taken)
    }

    /// How many more elements the capacity has room for; [`Options::max_bytes`](crate::Options::max_bytes)
    /// may let in fewer. Key-ordered, watermarks and statuses need none.
    #[must_use]
    pub fn room(&self) -> u32 {
        if !self.backlog.is_empty() {
            return 0;
        }
        self.options.capacity.get().saturating_sub(self.slots_used() as u32)
    }

    pub(super) fn push_barrier(&mut self, kind: BarrierKind, now: Instant) -> Result<(), PushError> {
        self.see(now);
        self.check()?;
        if self.input_ended {
            return Err(PushError::AfterEnd);
        }
        if !self.backlog.is_empty() || !self.has_room_for_barrier() {
            return Err(PushError::Full(None));
        }
        self.admit_barrier(kind);
        Ok(())
    }

    /// Takes restored elements into flight, in order, as far as there is room.
    ///
    /// One that fails the operator does so at the next call; it was not refused here.
    pub(super) fn admit_backlog(&mut self) {
        while let Some(element) = self.backlog.front() {
            let has_room = match element {
                SavedElement::Record(record) => self.has_room_for(record.held_bytes()),
                SavedElement::Barrier(_) => self.has_room_for_barrier(),
            };
            if !has_room || self.failed.is_some() {
                return;
            }
            match self.backlog.pop_front() {
                // The failure, if it is one, is kept and told at every later call.
                Some(SavedElement::Record(record)) => drop(self.admit_alone(record)),
                Some(SavedElement::Barrier(kind)) => self.admit_barrier(kind),
                None => return,
            }
        }
    }

    fn admit_alone(&mut self, record: Record) -> Result<(), crate::OperatorError> {
        let (has_key, bytes) = (record.key.is_some(), record.held_bytes());
        let batch = self.keep(Records::One(record), bytes);
        self.admit_record(Held { batch, row: 0 }, has_key, bytes)
    }

    /// Keeps what comes now; its one user is the caller.
    fn keep(&mut self, records: Records, bytes: u64) -> Share {
        self.batches.insert(Source { records, accepted_at: AcceptedAt::Once(self.now) }, bytes)
    }

    /// Takes a record of a batch that is held for it.
    fn admit_record(&mut self, held: Held, has_key: bool, bytes: u64) -> Result<(), crate::OperatorError> {
        self.queued_bytes += bytes;
        let arrival = self.arrive();
        let slot = self.records.insert(InFlightRecord {
            held,
            has_key,
            bytes: bytes as usize,
            arrival,
            segment: 0,
            attempt: 0,
            lookups: 0,
            missed: false,
            deadline: Instant::NEVER,
            neighbours: Neighbours::default(),
            last_error: LastError::default(),
            state: RecordState::Blocked,
        });
        self.records[slot].segment = self.queue.push_record(slot);
        let order_key = match self.options.order {
            Order::KeyOrdered => self.batches.order_key(held),
            Order::Ordered | Order::Unordered => None,
        };
        if order_key.is_some_and(|key| !self.keys.claim(HashedKey::new(key), slot)) {
            return Ok(());
        }
        self.start(slot)?;
        self.start_all()
    }

    fn admit_barrier(&mut self, kind: BarrierKind) {
        self.queued_barriers += 1;
        let arrival = self.arrive();
        self.queue.push_barrier(Barrier { arrival, accepted_at: self.now, kind });
    }

    #[inline]
    fn arrive(&mut self) -> u64 {
        self.next_arrival += 1;
        self.next_arrival - 1
    }

    /// Whether there is room for a record of so many bytes.
    fn has_room_for(&self, bytes: u64) -> bool {
        if self.slots_used() >= self.options.capacity.get() as usize {
            return false;
        }
        let Some(max_bytes) = self.options.max_bytes else { return true };
        self.records.len() == 0 || self.queued_bytes + bytes <= max_bytes
    }

    fn has_room_for_barrier(&self) -> bool {
        self.options.order == Order::KeyOrdered || self.slots_used() < self.options.capacity.get() as usize
    }

    /// The part of the capacity that is taken.
    fn slots_used(&self) -> usize {
        let barriers = match self.options.order {
            Order::KeyOrdered => 0,
            Order::Ordered | Order::Unordered => self.queued_barriers,
        };
        self.records.len() + barriers
    }
}
