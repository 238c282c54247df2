//! What is in flight, in order of arrival.

use alloc::{collections::BinaryHeap, vec::Vec};
use core::cmp::Ordering;

use super::Operator;
use crate::{group::Group, queue::Barrier};

/// A group or a barrier in the queue.
#[derive(Clone, Copy)]
pub(super) enum Queued<'a> {
    Group(&'a Group),
    Barrier(Barrier),
}

impl Queued<'_> {
    fn arrival(&self) -> u64 {
        match self {
            Self::Group(group) => group.arrival,
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
    /// What is in the queue. Costs a sort: it is for what happens rarely.
    pub(super) fn queued(&self) -> Vec<Queued<'_>> {
        self.first_queued(usize::MAX)
    }

    /// As [`Self::queued`]; none if there is no memory for it.
    pub(super) fn try_queued(&self) -> Option<Vec<Queued<'_>>> {
        let mut list = Vec::new();
        list.try_reserve_exact(self.groups.len() + self.queued_barriers + 1).ok()?;
        Some(self.fill(list.into(), usize::MAX))
    }

    /// The first `max` groups and barriers in the queue. Costs a look at each, and memory for those.
    pub(super) fn first_queued(&self, max: usize) -> Vec<Queued<'_>> {
        self.fill(BinaryHeap::new(), max)
    }

    /// A heap: it makes a far smaller component than a general sort.
    fn fill<'a>(&'a self, mut heap: BinaryHeap<ByArrival<'a>>, max: usize) -> Vec<Queued<'a>> {
        let mut add = |queued| {
            heap.push(ByArrival(queued));
            if heap.len() > max {
                heap.pop();
            }
        };
        for (_, group) in self.groups.iter() {
            add(Queued::Group(group));
        }
        self.queue.each_barrier(&mut |barrier| add(Queued::Barrier(*barrier)));
        heap.into_sorted_vec().into_iter().map(|ByArrival(queued)| queued).collect()
    }
}
