//! Neighbours in a batch, which are copied together.

use core::mem::take;

use crate::{
    batches::{Batches, Held, Records, Source},
    columns::{ByteStringsBuilder, OutputBatchBuilder},
    finds::Finds,
    shared::Share,
};

/// Rows one after another of one batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    batch: Share,
    first: u32,
    count: u32,
    /// How often its batch is held for it.
    users: u32,
}

impl Run {
    pub(super) fn goes_on_with(&self, batch: Share, first: u32) -> bool {
        self.count > 0 && self.batch == batch && self.first + self.count == first
    }

    /// Adds rows for which the batch is held `users` times.
    pub(super) fn add(&mut self, batch: Share, first: u32, count: u32, users: u32) {
        if self.count == 0 {
            (self.batch, self.first) = (batch, first);
        }
        self.count += count;
        self.users += users;
    }

    /// Writes event times, keys and payloads of records, and lets them go. A batch that leaves whole is not copied.
    pub(super) fn write_records(&mut self, batches: &mut Batches, outputs: &mut OutputBatchBuilder) {
        let Self { batch, first, count, users } = take(self);
        if count == 0 {
            return;
        }
        if outputs.event_times.is_empty()
            && let Records::Batch(records) = &batches[batch].records
            && records.len() == count as usize
            && let Some(Source { records: Records::Batch(records), .. }) = batches.take_from_all(batch, users)
        {
            return records.leave_whole(outputs);
        }
        match &batches[batch].records {
            Records::One(record) => {
                outputs.event_times.push(record.event_time.0);
                outputs.keys.push(record.key.as_deref().unwrap_or_default());
                outputs.payloads.push(&record.payload);
            }
            Records::Batch(batch) => batch.write_run(first as usize, count as usize, outputs),
        }
        batches.release(batch, users);
    }

    /// Writes the one record of it, which has no key: what stands in its place counts for nothing.
    pub(super) fn write_keyless(&mut self, batches: &mut Batches, outputs: &mut OutputBatchBuilder) {
        let Self { batch, first: row, users, .. } = take(self);
        let held = Held { batch, row };
        outputs.event_times.push(batches.event_time(held).0);
        outputs.keys.push(&[]);
        outputs.payloads.push(batches.payload(held));
        batches.release(batch, users);
    }

    /// Writes the keys of records, and lets them go.
    pub(super) fn write_keys(&mut self, batches: &mut Batches, keys: &mut ByteStringsBuilder) {
        let Self { batch, first, count, users } = take(self);
        if count == 0 {
            return;
        }
        match &batches[batch].records {
            Records::One(record) => keys.push(record.key.as_deref().unwrap_or_default()),
            Records::Batch(batch) => keys.push_run(batch.keys(), first as usize, count as usize),
        }
        batches.release(batch, users);
    }

    /// Writes what was found, and lets it go; a batch of it that leaves whole is not copied.
    pub(super) fn write_rows(&mut self, finds: &mut Finds, rows: &mut ByteStringsBuilder) {
        let Self { batch, first, count, users } = take(self);
        if count == 0 {
            return;
        }
        if rows.is_empty()
            && finds[batch].len() == count as usize
            && let Some(found) = finds.take_from_all(batch, users)
        {
            *rows = found.into();
            return;
        }
        rows.push_run(&finds[batch], first as usize, count as usize);
        finds.release(batch, users);
    }
}
