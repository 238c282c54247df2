//! Batches that few of their records are left of: the few move into a batch of their own.
//!
//! A batch is kept for the last of its records, however slow that is. So that a slow record a batch does not keep all the
//! rest in memory, records and rows move together once what is kept is several times what is in flight. Each time costs a look
//! at every record in flight, and as many bytes have left since the last time as it copies.

use alloc::vec::Vec;

use super::Operator;
use crate::{
    Order,
    batches::{AcceptedAt, Held, Records, Source},
    columns::{ByteStringsBuilder, RecordBatchBuilder},
    finds::FoundRows,
    group::{Group, GroupState},
    hashed_key::HashedKey,
    slots::Slot,
};

/// Bytes that may be kept for nothing in any case.
const NO_MATTER: u64 = 1 << 20;
/// Bytes that may be kept for each place of a group.
const A_PLACE: u64 = 16;
/// How many times what is in flight may be kept.
const TIMES: u64 = 4;
/// Bytes of a batch that is made here, or of one group, which fitted into a batch before: a column ends at 4 GiB.
const TOGETHER: u64 = 64 << 20;

impl Operator {
    /// Moves what is in flight together where that frees more than it costs.
    pub(super) fn compact_where_worth_it(&mut self) {
        // Looking at a place has its price, too, and after a peak there are many of them.
        let no_matter = NO_MATTER.max(A_PLACE * self.groups.places() as u64);
        if self.batches.bytes() + self.finds.bytes() <= TIMES * self.queued_bytes + no_matter {
            return;
        }
        self.write_request_keys();
        let slots: Vec<Slot> = self.groups.iter().map(|(slot, _)| slot).collect();
        self.move_records(&slots);
        self.move_rows(&slots);
        self.move_keys(&slots);
    }

    /// Keys that others wait for are kept beside the records: they move with those.
    fn move_keys(&mut self, slots: &[Slot]) {
        for &slot in slots {
            let Group { held, count, ref state, .. } = self.groups[slot];
            if let GroupState::Running { flight: Some(flight) } = *state
                && let Some(key) = self.batches.record(held).key
            {
                self.flights.move_key(flight, HashedKey::new(key));
            }
            if self.options.order == Order::KeyOrdered && !matches!(state, GroupState::Done { .. }) {
                for row in 0..u32::from(count) {
                    if let Some(key) = self.batches.order_key(held.after(row)) {
                        self.keys.move_key(HashedKey::new(key));
                    }
                }
            }
        }
    }

    fn move_records(&mut self, slots: &[Slot]) {
        let mut moved = RecordBatchBuilder::default();
        let mut bytes = 0;
        let mut moving = Vec::new();
        for &slot in slots {
            let Group { held, has_key, .. } = self.groups[slot];
            let count = self.groups[slot].len();
            let group_bytes = self.batches.held_bytes(held, count, has_key);
            if bytes + group_bytes > TOGETHER && !moving.is_empty() {
                self.place_records(core::mem::take(&mut moved), &moving);
                moving.clear();
                bytes = 0;
            }
            bytes += group_bytes;
            (0..count).for_each(|row| moved.push(&self.batches.record(held.after(row))));
            moving.push(slot);
        }
        if !moving.is_empty() {
            self.place_records(moved, &moving);
        }
    }

    fn place_records(&mut self, moved: RecordBatchBuilder, moving: &[Slot]) {
        let moved = moved.build();
        let (bytes, mut accepted_at) = (moved.byte_len(), Vec::new());
        for &slot in moving {
            let (held, count) = (self.groups[slot].held, self.groups[slot].len());
            accepted_at.extend((0..count).map(|row| self.batches.accepted_at(held.after(row))));
        }
        let moved = Source { records: Records::Batch(moved), accepted_at: AcceptedAt::Each(accepted_at) };
        let batch = self.batches.insert(moved, bytes);
        let mut row = 0;
        for &slot in moving {
            let group = &mut self.groups[slot];
            let before = core::mem::replace(&mut group.held, Held { batch, row });
            row += group.len();
            self.batches.keep(batch, group.len());
            self.batches.release(before.batch, group.len());
        }
        self.batches.release(batch, 1);
    }

    fn move_rows(&mut self, slots: &[Slot]) {
        let mut moved = ByteStringsBuilder::default();
        let mut moving = Vec::new();
        for &slot in slots {
            let (find, records) = (self.groups[slot].find(), self.groups[slot].len());
            if let Some(FoundRows { batch, first, count }) = find {
                let bytes = moved.byte_len() as u64 + self.finds.held_bytes(find, records);
                if bytes > TOGETHER && !moving.is_empty() {
                    self.place_rows(core::mem::take(&mut moved), &moving);
                    moving.clear();
                }
                moving.push((slot, moved.len() as u32));
                moved.push_run(&self.finds[batch], first as usize, (count.get() * records) as usize);
            }
        }
        if !moving.is_empty() {
            self.place_rows(moved, &moving);
        }
    }

    fn place_rows(&mut self, moved: ByteStringsBuilder, moving: &[(Slot, u32)]) {
        let bytes = moved.byte_len() as u64;
        let moved = self.finds.insert(moved.build(), bytes);
        for &(slot, row) in moving {
            let group = &mut self.groups[slot];
            if let GroupState::Done { find: Some(FoundRows { batch, first, .. }), .. } = &mut group.state {
                let before = core::mem::replace(batch, moved);
                *first = row;
                self.finds.keep(moved, group.len());
                self.finds.release(before, group.len());
            }
        }
        self.finds.release(moved, 1);
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec::Vec};

    use super::*;
    use crate::{
        Element, Instant, Options, Order, Rows,
        columns::{CompletionBatchBuilder, OutputBatchBuilder},
    };

    /// Batches of a hundred records of a kilobyte, each with one that is not answered.
    fn with_a_slow_record_a_batch(order: Order, batches: u32) -> Operator {
        let options = Options { order, capacity: 100_000.try_into().unwrap(), timeout: None, ..Options::default() };
        let mut operator = Operator::open(options, Instant(0)).unwrap();
        for batch in 0..batches {
            let mut records = RecordBatchBuilder::default();
            for row in 0..100 {
                let number = batch * 100 + row;
                records.push(&crate::Record::new(format!("{number}"), alloc::vec![number as u8; 1_000]));
            }
            operator.push_records(records.build(), Instant(0)).unwrap();
            let mut answers = CompletionBatchBuilder::default();
            for request in operator.take_requests().build().rows().skip(1) {
                answers.push_rows(request.id, request.attempt, Instant(0), [request.key]);
            }
            operator.complete_all(answers.build(), Instant(0)).unwrap();
            operator.next_outputs(&mut OutputBatchBuilder::default(), usize::MAX, usize::MAX).unwrap();
        }
        operator
    }

    #[test]
    fn a_slow_record_keeps_itself_in_memory_and_not_its_batch() {
        let mut operator = with_a_slow_record_a_batch(Order::Unordered, 500);
        assert_eq!(operator.stats().in_flight, 500);
        let kept = operator.batches.bytes() + operator.finds.bytes();
        assert!(kept <= TIMES * operator.stats().held_bytes + NO_MATTER, "{kept} bytes are kept");
        // What was moved is what it was.
        let slow: Vec<_> =
            operator.inspect(Instant(0), usize::MAX).into_iter().filter_map(|element| element.id).collect();
        for (batch, id) in slow.into_iter().enumerate() {
            let row = Rows::from(format!("{batch}"));
            operator
                .complete(crate::Answer { id, attempt: 1, arrival: Instant(0), result: Ok(row) }, Instant(0))
                .unwrap();
            let Ok(Some(Element::Joined(joined))) = operator.next_output() else { panic!("it is done") };
            let number = batch as u32 * 100;
            assert_eq!(joined.record.key.unwrap(), format!("{number}"));
            assert_eq!(joined.record.payload, alloc::vec![number as u8; 1_000]);
            assert_eq!(joined.rows, Rows::from(format!("{batch}")));
        }
        assert_eq!((operator.batches.bytes(), operator.finds.bytes()), (0, 0));
    }

    #[test]
    fn rows_that_are_held_by_order_stay_right_when_they_move() {
        let mut operator = with_a_slow_record_a_batch(Order::Ordered, 30);
        let slots: Vec<Slot> = operator.groups.iter().map(|(slot, _)| slot).collect();
        operator.move_records(&slots);
        operator.move_rows(&slots);
        let slow: Vec<_> =
            operator.inspect(Instant(0), usize::MAX).into_iter().filter(|seen| seen.outcome.is_none()).collect();
        assert_eq!(slow.len(), 30);
        for seen in slow {
            let (id, attempt) = (seen.id.unwrap(), seen.attempts);
            let answer = crate::Answer { id, attempt, arrival: Instant(0), result: Ok(Rows::One(seen.key.unwrap())) };
            operator.complete(answer, Instant(0)).unwrap();
        }
        for number in 0..3_000 {
            let Ok(Some(Element::Joined(joined))) = operator.next_output() else { panic!("it is done") };
            assert_eq!(joined.rows, Rows::from(format!("{number}")));
            assert_eq!(joined.record.payload, alloc::vec![number as u8; 1_000]);
        }
        assert_eq!((operator.batches.bytes(), operator.finds.bytes()), (0, 0));
    }

    #[test]
    fn what_moves_keeps_its_age() {
        let mut operator = Operator::open(Options { timeout: None, ..Options::default() }, Instant(0)).unwrap();
        for accepted_at in [0, 5, 7] {
            let mut records = RecordBatchBuilder::default();
            records.push(&crate::Record::new("k", "v"));
            operator.push_records(records.build(), Instant(accepted_at)).unwrap();
        }
        let ages = |operator: &Operator| -> Vec<u128> {
            operator.inspect(Instant(10), usize::MAX).iter().map(|element| element.age.as_nanos()).collect()
        };
        assert_eq!(ages(&operator), [10, 5, 3]);
        operator.write_request_keys();
        let slots: Vec<Slot> = operator.groups.iter().map(|(slot, _)| slot).collect();
        operator.move_records(&slots);
        assert_eq!(ages(&operator), [10, 5, 3]);
    }
}
