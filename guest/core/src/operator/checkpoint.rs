//! Snapshot and restore.

use alloc::vec::Vec;

use super::{Operator, arrivals::Queued};
use crate::{
    Instant, OperatorError, Options, SnapshotError,
    snapshot::{self, SavedElement, SnapshotWriter},
};

impl Operator {
    /// Everything accepted and not yet emitted, as bytes. Changes nothing and works when full.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Spent`] once it failed: restore the snapshot before that. [`OperatorError::OutOfMemory`] if there
    /// is no memory for it.
    pub fn snapshot(&self) -> Result<Vec<u8>, OperatorError> {
        self.check()?;
        let elements = self.queued_records + self.queued_barriers + self.backlog.len();
        let order = self.options.order;
        let Some(queued) = self.try_queued() else {
            return Err(OperatorError::OutOfMemory { bytes: self.stats().held_bytes });
        };
        let mut counted = SnapshotWriter::count(order, elements);
        self.write_elements(&queued, &mut counted);
        let bytes = counted.len();
        let Some(mut writer) = SnapshotWriter::new(order, elements, bytes) else {
            return Err(OperatorError::OutOfMemory { bytes });
        };
        self.write_elements(&queued, &mut writer);
        Ok(writer.finish())
    }

    #[inline(never)]
    fn write_elements(&self, queued: &[Queued<'_>], writer: &mut SnapshotWriter) {
        for element in queued {
            match element {
                Queued::Group(group) => {
                    (0..group.len()).for_each(|row| writer.record(&self.batches.record(group.held.after(row))));
                }
                Queued::Barrier(barrier) => writer.barrier(barrier.kind),
            }
        }
        for element in &self.backlog {
            match element {
                SavedElement::Record(record) => writer.record(record),
                SavedElement::Barrier(kind) => writer.barrier(*kind),
            }
        }
    }

    /// An operator that goes on where `snapshot` left off.
    ///
    /// Lookups start anew, with attempt 1 and a fresh timeout. Elements over the capacity wait
    /// inside, in order, until others leave. Capacity, byte cap, timeout, policies and retries may
    /// be others than before, ordered and unordered may change; key-ordered may not.
    ///
    /// # Errors
    ///
    /// [`SnapshotError`], with what does not fit.
    pub fn restore(options: Options, snapshot: &[u8], now: Instant) -> Result<Self, SnapshotError> {
        let options = options.checked()?;
        let backlog = snapshot::read(snapshot, options.order)?;
        let mut operator = Self::new(options, now);
        operator.backlog = backlog;
        operator.counters.restored = operator.backlog.iter().filter_map(SavedElement::record).count() as u64;
        operator.admit_backlog();
        Ok(operator)
    }
}
