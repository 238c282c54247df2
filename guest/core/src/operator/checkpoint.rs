//! Snapshot and restore.

use alloc::{collections::VecDeque, vec::Vec};

use super::{Operator, arrivals::Queued};
use crate::{
    Instant, OperatorError, Options, Order, SnapshotError,
    snapshot::{SavedElement, Snapshot},
};

impl Operator {
    /// Everything accepted and not yet emitted, as bytes. Changes nothing and works when full.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Spent`] once it failed: restore the snapshot before that.
    pub fn snapshot(&self) -> Result<Vec<u8>, OperatorError> {
        self.check()?;
        let queued = self.queued().into_iter().map(|element| match element {
            Queued::Record(_, record) => SavedElement::Record(record.record.clone()),
            Queued::Barrier(barrier) => SavedElement::Barrier(barrier.kind),
        });
        let snapshot = Snapshot {
            key_ordered: self.options.order == Order::KeyOrdered,
            elements: queued.chain(self.backlog.iter().cloned()).collect(),
        };
        Ok(snapshot.encode())
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
        let mut operator = Self::open(options, now)?;
        let snapshot = Snapshot::decode(snapshot)?;
        snapshot.fits(operator.options.order)?;
        operator.backlog = VecDeque::from(snapshot.elements);
        operator.counters.restored = operator.backlog.iter().filter_map(SavedElement::record).count() as u64;
        operator.admit_backlog();
        Ok(operator)
    }
}
