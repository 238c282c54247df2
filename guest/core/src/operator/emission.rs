//! Elements on their way out, one by one or as columns.

use super::{InFlightRecord, Operator, RecordState, run::Run};
use crate::{
    Element, JoinedRecord, Outcome,
    batches::Held,
    columns::OutputBatchBuilder,
    finds::{Find, FoundRows},
    queue::{BarrierKind, Ready},
    slots::Slot,
};

/// An element that leaves.
enum Leaving {
    Record { held: Held, has_key: bool, outcome: Outcome, find: Find, attempts: u32, bytes: u64 },
    Dropped,
    Barrier(BarrierKind),
}

impl Operator {
    /// Takes the next element out, if one is ready, and so makes room.
    ///
    /// A failed operator gives nothing more: what was ready is in its last snapshot.
    pub fn next_output(&mut self) -> Option<Element> {
        let leaving = self.leave()?;
        self.compact_where_worth_it();
        Some(match leaving {
            Leaving::Dropped => Element::Dropped,
            Leaving::Barrier(BarrierKind::Watermark(time)) => Element::Watermark(time),
            Leaving::Barrier(BarrierKind::Idle) => Element::Idle,
            Leaving::Barrier(BarrierKind::Active) => Element::Active,
            Leaving::Record { held, outcome, find, attempts, .. } => {
                let (record, rows) = (self.batches.record(held), self.finds.rows(find));
                self.batches.release(held.batch, 1);
                self.finds.drop_find(find);
                Element::Joined(JoinedRecord { record, outcome, rows, attempts })
            }
        })
    }

    /// As [`Self::next_output`], appended to `outputs`: at most `max` elements, of which a dropped record is
    /// one, and none after `outputs` has `max_bytes` bytes. The quick way where there are many.
    pub fn next_outputs(&mut self, outputs: &mut OutputBatchBuilder, max: usize, max_bytes: usize) {
        outputs.reserve(max.min(self.records.len() + self.queued_barriers));
        let mut records = Run::default();
        let mut rows = Run::default();
        let mut bytes = outputs.byte_len() as u64;
        for _ in 0..max {
            match self.leave() {
                None => break,
                Some(Leaving::Dropped) => {}
                Some(Leaving::Barrier(kind)) => {
                    records.write_records(&mut self.batches, outputs);
                    outputs.push_element_barrier(kind);
                }
                Some(Leaving::Record { held, has_key, outcome, find, attempts, bytes: held_bytes }) => {
                    bytes += held_bytes;
                    if !records.goes_on_with(held.batch, held.row) || !has_key {
                        records.write_records(&mut self.batches, outputs);
                    }
                    records.add(held.batch, held.row, 1, 1);
                    let mut row_count = 0;
                    if let Some(FoundRows { batch, first, count }) = find {
                        row_count = count.get();
                        if !rows.goes_on_with(batch, first) {
                            rows.write_rows(&mut self.finds, &mut outputs.rows);
                        }
                        rows.add(batch, first, row_count, 1);
                    }
                    outputs.push_joined(outcome, has_key, attempts, row_count);
                    if !has_key {
                        records.write_keyless(&mut self.batches, outputs);
                    }
                }
            }
            if bytes >= max_bytes as u64 {
                break;
            }
        }
        records.write_records(&mut self.batches, outputs);
        rows.write_rows(&mut self.finds, &mut outputs.rows);
        self.compact_where_worth_it();
    }

    /// Takes the next element out of the queue; its bytes are the caller's to release.
    fn leave(&mut self) -> Option<Leaving> {
        if self.failed.is_some() {
            return None;
        }
        let records = &self.records;
        let leaving = match self.queue.pop(|slot| records[slot].is_done())? {
            Ready::Record(slot) => self.leave_record(slot),
            Ready::Barrier(barrier) => {
                self.queued_barriers -= 1;
                self.counters.barriers_emitted += 1;
                Leaving::Barrier(barrier.kind)
            }
        };
        self.admit_backlog();
        Some(leaving)
    }

    #[inline]
    fn leave_record(&mut self, slot: Slot) -> Leaving {
        let InFlightRecord { held, has_key, bytes, lookups, state, .. } = self.records[slot];
        let RecordState::Done { outcome, find } = state else { unreachable!("only done records are ready") };
        self.records.discard(slot);
        let bytes = bytes as u64;
        self.queued_bytes -= bytes;
        if self.options.policy(outcome) == crate::Policy::Drop {
            self.counters.dropped += 1;
            self.batches.release(held.batch, 1);
            self.finds.drop_find(find);
            return Leaving::Dropped;
        }
        self.counters.emitted += 1;
        Leaving::Record { held, has_key, outcome, find, attempts: lookups, bytes }
    }
}
