//! Which elements are taken into flight, and when.

use alloc::boxed::Box;

use super::Operator;
use crate::{
    Instant, Order, PushError, Record,
    batches::{AcceptedAt, Held, Records, Source},
    columns::RecordBatch,
    group::{Count, Group, GroupState, LastError},
    hashed_key::HashedKey,
    links::Links,
    queue::{Barrier, BarrierKind},
    shared::Share,
    snapshot::SavedElement,
};

/// Records of a group at most: one that falls apart record by record costs a look at half of it for each.
const MAX_GROUP: Count = 256;

impl Operator {
    /// Takes one record into flight and starts its lookup.
    ///
    /// Its timeout starts with its first attempt, which is now, or in key-ordered mode when the
    /// records of its key before it are done.
    ///
    /// # Errors
    ///
    /// [`PushError::Full`] hands the record back where there is no room, [`PushError::AfterEnd`]
    /// after the end of the input, [`PushError::Operator`] once it failed: it is unchanged in each case.
    pub fn push_record(&mut self, record: Record, now: Instant) -> Result<(), PushError> {
        self.see(now);
        self.check()?;
        if self.input_ended {
            return Err(PushError::AfterEnd);
        }
        if !self.backlog.is_empty() || !self.has_room_for(1, || record.held_bytes()) || !self.groups.has_place() {
            return Err(PushError::Full(Some(Box::new(record))));
        }
        self.counters.accepted += 1;
        self.admit_alone(record);
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
        while taken < rows {
            let (has_key, alike) = self.alike(batch, taken);
            let held = Held { batch, row: taken as u32 };
            // Where not all of them fit, one still may.
            let Some(count) = [alike, 1].into_iter().find(|&count| self.fits(held, count, has_key)) else { break };
            if !self.groups.has_place() {
                break;
            }
            let count = self.admit_group(held, has_key, count);
            self.counters.accepted += u64::from(count);
            taken += count as usize;
        }
        self.batches.release(batch, (rows - taken) as u32 + 1);
        if taken < rows {
            // What was refused is kept for nothing.
            self.compact_where_worth_it();
        }
        Ok(taken)
    }

    /// How many more elements the capacity has room for; [`Options::max_bytes`](crate::Options::max_bytes)
    /// may let in fewer. Key-ordered, watermarks and statuses need none; if there are as many of them as
    /// the capacity says, nothing more is taken until one leaves.
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
        if self.backlog.is_empty() && (self.merges(kind) || self.has_room_for_barrier()) {
            self.admit_barrier(kind);
            return Ok(());
        }
        Err(PushError::Full(None))
    }

    /// Takes restored elements into flight, in order, as far as there is room.
    pub(super) fn admit_backlog(&mut self) {
        while let Some(element) = self.backlog.front() {
            let has_room = match element {
                SavedElement::Record(record) => self.has_room_for(1, || record.held_bytes()),
                SavedElement::Barrier(kind) => self.merges(*kind) || self.has_room_for_barrier(),
            };
            if !has_room || !self.groups.has_place() {
                return;
            }
            match self.backlog.pop_front() {
                Some(SavedElement::Record(record)) => self.admit_alone(record),
                Some(SavedElement::Barrier(kind)) => self.admit_barrier(kind),
                None => return,
            }
        }
    }

    fn admit_alone(&mut self, record: Record) {
        let (has_key, bytes) = (record.key.is_some(), record.held_bytes());
        let batch = self.keep(Records::One(record), bytes);
        self.admit_group(Held { batch, row: 0 }, has_key, 1);
    }

    /// Keeps what comes now; its one user is the caller.
    fn keep(&mut self, records: Records, bytes: u64) -> Share {
        self.batches.insert(Source { records, accepted_at: AcceptedAt::Once(self.now) }, bytes)
    }

    /// How many records of a batch, from a row on, have the same fate as far as is known now, and whether they have keys.
    fn alike(&self, batch: Share, row: usize) -> (bool, u32) {
        let Records::Batch(records) = &self.batches[batch].records else { return (true, 1) };
        match records.keyed_from(row) {
            0 => (false, 1),
            // Each asks the cache.
            _ if self.cache.is_some() => (true, 1),
            keyed => (true, keyed.min(usize::from(MAX_GROUP)) as u32),
        }
    }

    /// Takes at most `count` records of a batch that is held for them, and says how many.
    fn admit_group(&mut self, held: Held, has_key: bool, count: u32) -> u32 {
        let (first, count) = self.positions.find_free(count);
        let free = if self.options.order == Order::KeyOrdered { self.claim_keys(held, count) } else { count };
        // One whose key is held waits, and is a group of its own.
        let count = free.max(1);
        let arrival = self.arrive(count);
        let slot = self.groups.insert(Group {
            held,
            count: count as Count,
            first,
            arrival,
            has_key,
            missed: false,
            segment: 0,
            attempt: 0,
            lookups: 0,
            deadline: Instant::NEVER,
            deadline_links: Links::default(),
            order_links: Links::default(),
            last_error: LastError::default(),
            state: GroupState::Blocked,
        });
        self.positions.take(first, count, slot);
        self.queue.push_group(slot, &mut self.groups);
        self.queued_records += count as usize;
        self.queued_bytes += self.batches.held_bytes(held, count, has_key);
        if free == 0
            && let Some(key) = self.batches.order_key(held)
        {
            self.keys.wait(HashedKey::new(key), slot);
            return count;
        }
        self.start(slot);
        self.start_all();
        count
    }

    /// Claims the keys of neighbours up to the first one whose key is held, and says how many those are.
    fn claim_keys(&mut self, held: Held, count: u32) -> u32 {
        let (batches, keys) = (&self.batches, &mut self.keys);
        let is_free = |&row: &u32| batches.order_key(held.after(row)).is_none_or(|key| keys.claim(HashedKey::new(key)));
        (0..count).take_while(is_free).count() as u32
    }

    fn admit_barrier(&mut self, kind: BarrierKind) {
        if let BarrierKind::Watermark(time) = kind
            && self.merges(kind)
        {
            return self.queue.merge_watermark(time);
        }
        self.queued_barriers += 1;
        let arrival = self.arrive(1);
        self.queue.push_barrier(Barrier { arrival, accepted_at: self.now, kind });
    }

    /// The place in the stream of the first of so many elements.
    fn arrive(&mut self, count: u32) -> u64 {
        let first = self.next_arrival;
        self.next_arrival += u64::from(count);
        first
    }

    /// Whether there is room for these records of a batch.
    fn fits(&self, held: Held, count: u32, has_key: bool) -> bool {
        self.has_room_for(count, || self.batches.held_bytes(held, count, has_key))
    }

    /// Whether there is room for so many records of so many bytes; one that is alone may have any size.
    fn has_room_for(&self, count: u32, bytes: impl FnOnce() -> u64) -> bool {
        if self.slots_used() + count as usize > self.options.capacity.get() as usize {
            return false;
        }
        let Some(max_bytes) = self.options.max_bytes else { return true };
        (self.queued_records == 0 && count == 1) || self.queued_bytes + bytes() <= max_bytes
    }

    /// Whether a barrier becomes one with the last element, which is a watermark: key-ordered, where it takes no slot.
    fn merges(&self, kind: BarrierKind) -> bool {
        let is_watermark = matches!(kind, BarrierKind::Watermark(_));
        is_watermark && self.options.order == Order::KeyOrdered && self.queue.ends_with_watermark()
    }

    /// Key-ordered they take no slot of the records', and have as many of their own.
    fn has_room_for_barrier(&self) -> bool {
        let used = match self.options.order {
            Order::KeyOrdered => self.queued_barriers,
            Order::Ordered | Order::Unordered => self.slots_used(),
        };
        used < self.options.capacity.get() as usize
    }

    /// The part of the capacity that is taken.
    fn slots_used(&self) -> usize {
        let capacity = self.options.capacity.get() as usize;
        match self.options.order {
            Order::Ordered | Order::Unordered => self.queued_records + self.queued_barriers,
            Order::KeyOrdered if self.queued_barriers < capacity => self.queued_records,
            // A host that is refused a barrier must not be told of room, or it would offer it again at once.
            Order::KeyOrdered => capacity,
        }
    }
}
