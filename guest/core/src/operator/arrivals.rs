//! What is in flight, in order of arrival.

use alloc::{collections::BinaryHeap, vec::Vec};
use core::cmp::Ordering;

use super::{InFlightRecord, Operator};
use crate::{queue::Barrier, slots::Slot};

/// An element in the queue.
#[derive(Clone, Copy)]
pub(super) enum Queued<'a> {
    Record(Slot, &'a InFlightRecord),
    Barrier(Barrier),
}

impl Queued<'_> {
    fn arrival(&self) -> u64 {
        match self {
            Self::Record(_, record) => record.arrival,
            Self::Barrier(barrier) => barrier.arrival,
        }
    }
}

struct ByArrival<'a>(Queued<'a>);

impl PartialEq for ByArrival<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.arrival() == other.0.arrival()
    }
}

impl Eq for ByArrival<'_> {}

impl PartialOrd for ByArrival<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByArrival<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.arrival().cmp(&other.0.arrival())
    }
}

impl Operator {
    /// The elements in the queue. Costs a sort: it is for what happens rarely.
    pub(super) fn queued(&self) -> Vec<Queued<'_>> {
        // A heap: it makes a far smaller component than a general sort.
        let mut heap = BinaryHeap::new();
        for (slot, record) in self.records.iter() {
            heap.push(ByArrival(Queued::Record(slot, record)));
        }
        self.queue.each_barrier(&mut |barrier| heap.push(ByArrival(Queued::Barrier(*barrier))));
        heap.into_sorted_vec().into_iter().map(|ByArrival(queued)| queued).collect()
    }
}
