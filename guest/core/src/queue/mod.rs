//! The order in which elements leave.

mod ordered;
mod segments;

use crate::{
    EventTime, Instant, Order,
    group::Group,
    slots::{Slot, Slots},
};
use ordered::OrderedQueue;
use segments::SegmentedQueue;

/// A watermark or status in flight: no record passes it in either direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier {
    /// Its place in the stream.
    pub(crate) arrival: u64,
    pub(crate) accepted_at: Instant,
    pub(crate) kind: BarrierKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Watermark(EventTime),
    Idle,
    Active,
}

/// The next element to leave.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ready {
    Group(Slot),
    Barrier(Barrier),
}

/// The records between two barriers have one segment; in ordered mode all have the same.
///
/// Numbers of segments start anew after the last one: far fewer are in flight at once.
pub(crate) type Segment = u32;

/// Elements in flight, as groups of records and as barriers.
#[derive(Debug, Clone)]
pub(crate) enum StreamElementQueue {
    Ordered(OrderedQueue),
    Segmented(SegmentedQueue),
}

impl StreamElementQueue {
    pub(crate) fn new(order: Order) -> Self {
        match order {
            Order::Ordered => Self::Ordered(OrderedQueue::new()),
            Order::Unordered | Order::KeyOrdered => Self::Segmented(SegmentedQueue::default()),
        }
    }

    /// Appends a group; its segment is needed again when it is done.
    pub(crate) fn push_group(&mut self, slot: Slot, groups: &mut Slots<Group>) {
        match self {
            Self::Ordered(queue) => queue.push_group(slot, groups),
            Self::Segmented(queue) => groups[slot].segment = queue.push_records(groups[slot].len()),
        }
    }

    /// A group whose records were the first of another's.
    pub(crate) fn group_split(&mut self, slot: Slot, rest: Slot, groups: &mut Slots<Group>) {
        if let Self::Ordered(queue) = self {
            queue.group_split(slot, rest, groups);
        }
    }

    pub(crate) fn push_barrier(&mut self, barrier: Barrier) {
        match self {
            Self::Ordered(queue) => queue.push_barrier(barrier),
            Self::Segmented(queue) => queue.push_barrier(barrier),
        }
    }

    /// Whether its last element is a watermark; ordered, nobody asks.
    pub(crate) fn ends_with_watermark(&self) -> bool {
        matches!(self, Self::Segmented(queue) if queue.ends_with_watermark())
    }

    /// Merges a watermark into the one that it ends with.
    pub(crate) fn merge_watermark(&mut self, time: EventTime) {
        if let Self::Segmented(queue) = self {
            queue.merge_watermark(time);
        }
    }

    /// Notes that a group is done. Call it once a group.
    pub(crate) fn group_done(&mut self, slot: Slot, group: &Group) {
        if let Self::Segmented(queue) = self {
            queue.group_done(slot, group);
        }
    }

    /// Notes that a group is done whose turn to leave fails the operator: in ordered mode it waits for all before it, in the
    /// other modes for what may leave now.
    pub(crate) fn group_failed(&mut self, slot: Slot) {
        if let Self::Segmented(queue) = self {
            queue.group_failed(slot);
        }
    }

    /// The element that leaves next, if one is ready; of a group it is the first record.
    pub(crate) fn peek(&self, groups: &Slots<Group>) -> Option<Ready> {
        match self {
            Self::Ordered(queue) => queue.peek(groups),
            Self::Segmented(queue) => queue.peek(),
        }
    }

    /// Takes out what [`Self::peek`] gave, of a group all records.
    pub(crate) fn pop(&mut self, ready: Ready, groups: &mut Slots<Group>) {
        match self {
            Self::Ordered(queue) => queue.pop(ready, groups),
            Self::Segmented(queue) => queue.pop(ready),
        }
    }

    /// Shows the barriers in flight, in order of arrival.
    pub(crate) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        match self {
            Self::Ordered(queue) => queue.each_barrier(show),
            Self::Segmented(queue) => queue.each_barrier(show),
        }
    }
}
