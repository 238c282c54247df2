//! Elements on their way out, one by one or as columns.

use super::{Operator, run::Run};
use crate::{
    Element, JoinedRecord, OperatorError, Outcome, Policy,
    batches::Held,
    columns::OutputBatchBuilder,
    finds::{Find, FoundRows},
    group::{Group, GroupState},
    queue::{BarrierKind, Ready},
    slots::Slot,
};

/// What leaves.
enum Leaving {
    /// Neighbours in a batch with one outcome; `find` is the first one's.
    Joined {
        held: Held,
        count: u32,
        has_key: bool,
        outcome: Outcome,
        find: Find,
        attempts: u32,
        bytes: u64,
    },
    /// So many records whose outcome is dropped.
    Dropped(u32),
    Barrier(BarrierKind),
}

impl Operator {
    /// Takes the next element out, if one is ready, and so makes room.
    ///
    /// # Errors
    ///
    /// [`OperatorError::LookupFailed`] where the next one to leave is a record that ended as the policies do not allow:
    /// all that goes before it has left. [`OperatorError::Spent`] from then on.
    pub fn next_output(&mut self) -> Result<Option<Element>, OperatorError> {
        self.check()?;
        if let Some(slot) = self.next_to_fail() {
            return Err(self.fail(slot));
        }
        let Some(leaving) = self.leave(1, u64::MAX) else { return Ok(None) };
        self.compact_where_worth_it();
        Ok(Some(match leaving {
            Leaving::Dropped(_) => Element::Dropped,
            Leaving::Barrier(BarrierKind::Watermark(time)) => Element::Watermark(time),
            Leaving::Barrier(BarrierKind::Idle) => Element::Idle,
            Leaving::Barrier(BarrierKind::Active) => Element::Active,
            Leaving::Joined { held, count, outcome, find, attempts, .. } => {
                let (record, rows) = (self.batches.record(held), self.finds.rows(find));
                self.release(held, find, count);
                Element::Joined(JoinedRecord { record, outcome, rows, attempts })
            }
        }))
    }

    /// Whether [`Self::next_output`] would fail the operator.
    #[must_use]
    pub fn fails_next(&self) -> bool {
        self.next_to_fail().is_some()
    }

    /// As [`Self::next_output`], appended to `outputs`: at most `max` elements, of which a dropped record is
    /// one, and none after `outputs` has `max_bytes` bytes. The quick way where there are many.
    ///
    /// # Errors
    ///
    /// As [`Self::next_output`], where nothing else was to be taken before.
    pub fn next_outputs(
        &mut self,
        outputs: &mut OutputBatchBuilder,
        max: usize,
        max_bytes: usize,
    ) -> Result<(), OperatorError> {
        self.check()?;
        if max > 0
            && let Some(slot) = self.next_to_fail()
        {
            return Err(self.fail(slot));
        }
        outputs.reserve(max.min(self.queued_records + self.queued_barriers));
        let mut records = Run::default();
        let mut rows = Run::default();
        let mut left = max;
        let mut bytes = outputs.byte_len() as u64;
        while left > 0 {
            let room = (max_bytes as u64).saturating_sub(bytes);
            left -= match self.leave(left.min(u32::MAX as usize) as u32, room) {
                None => break,
                Some(Leaving::Dropped(count)) => count as usize,
                Some(Leaving::Barrier(kind)) => {
                    records.write_records(&mut self.batches, outputs);
                    outputs.push_element_barrier(kind);
                    1
                }
                Some(Leaving::Joined { held, count, has_key, outcome, find, attempts, bytes: left_bytes }) => {
                    bytes += left_bytes;
                    if !records.goes_on_with(held.batch, held.row) || !has_key {
                        records.write_records(&mut self.batches, outputs);
                    }
                    records.add(held.batch, held.row, count, count);
                    let mut row_count = 0;
                    if let Some(FoundRows { batch, first, count: found }) = find {
                        row_count = found.get();
                        if !rows.goes_on_with(batch, first) {
                            rows.write_rows(&mut self.finds, &mut outputs.rows);
                        }
                        rows.add(batch, first, row_count * count, count);
                    }
                    outputs.push_joined(count as usize, outcome, has_key, attempts, row_count);
                    if !has_key {
                        records.write_keyless(&mut self.batches, outputs);
                    }
                    count as usize
                }
            };
            if bytes >= max_bytes as u64 {
                break;
            }
        }
        records.write_records(&mut self.batches, outputs);
        rows.write_rows(&mut self.finds, &mut outputs.rows);
        self.compact_where_worth_it();
        Ok(())
    }

    /// The group of one record whose turn to leave it is, and whose outcome the policies do not allow.
    fn next_to_fail(&self) -> Option<Slot> {
        let Ready::Group(slot) = self.queue.peek(&self.groups)? else { return None };
        let GroupState::Done { outcome, .. } = self.groups[slot].state else { return None };
        (self.options.policy(outcome) == Policy::Fail).then_some(slot)
    }

    /// Takes the next element out of the queue, or as many records of a group as are at most `max` and have at most
    /// `max_bytes`, but at least one; their bytes are the caller's to release. One that fails the operator stays.
    fn leave(&mut self, max: u32, max_bytes: u64) -> Option<Leaving> {
        let ready = self.queue.peek(&self.groups)?;
        match ready {
            Ready::Group(slot) => self.leave_group(slot, max, max_bytes),
            Ready::Barrier(barrier) => {
                self.queue.pop(ready, &mut self.groups);
                self.queued_barriers -= 1;
                self.counters.barriers_emitted += 1;
                self.admit_backlog();
                Some(Leaving::Barrier(barrier.kind))
            }
        }
    }

    #[inline]
    fn leave_group(&mut self, slot: Slot, max: u32, max_bytes: u64) -> Option<Leaving> {
        let group = &mut self.groups[slot];
        let mut count = group.len().min(max);
        let mut bytes = group.bytes(count, &self.batches, &self.finds);
        if count > 1 && bytes > max_bytes {
            count = 1;
            bytes = group.bytes(count, &self.batches, &self.finds);
        }
        let Group { held, first, has_key, lookups: attempts, state, .. } = *group;
        let GroupState::Done { outcome, find } = state else { unreachable!("only done records are ready") };
        let policy = self.options.policy(outcome);
        if policy == Policy::Fail {
            return None;
        }
        if count < group.len() {
            group.skip_first(count);
        } else {
            self.queue.pop(Ready::Group(slot), &mut self.groups);
            self.groups.discard(slot);
        }
        self.positions.free(first, count);
        self.queued_records -= count as usize;
        self.queued_bytes -= bytes;
        self.admit_backlog();
        if policy == Policy::Drop {
            self.counters.dropped += u64::from(count);
            self.release(held, find, count);
            return Some(Leaving::Dropped(count));
        }
        self.counters.emitted += u64::from(count);
        Some(Leaving::Joined { held, count, has_key, outcome, find, attempts, bytes })
    }

    /// Lets go of what neighbours that have left came in, and of what was found for them.
    fn release(&mut self, held: Held, find: Find, count: u32) {
        self.batches.release(held.batch, count);
        self.finds.drop_find(find, count);
    }
}
