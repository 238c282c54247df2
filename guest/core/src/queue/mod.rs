//! The order in which elements leave.

mod ordered;
mod segments;

use crate::{EventTime, Instant, Order, slots::Slot};
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
    Record(Slot),
    Barrier(Barrier),
}

/// The records between two barriers have one segment; in ordered mode all have the same.
///
/// Numbers of segments start anew after the last one: far fewer are in flight at once.
pub(crate) type Segment = u32;

/// Elements in flight, as slots of their records and as barriers.
#[derive(Debug, Clone)]
pub(crate) enum StreamElementQueue {
    Ordered(OrderedQueue),
    Segmented(SegmentedQueue),
}

impl StreamElementQueue {
    pub(crate) fn new(order: Order) -> Self {
        match order {
            Order::Ordered => Self::Ordered(OrderedQueue::default()),
            Order::Unordered | Order::KeyOrdered => Self::Segmented(SegmentedQueue::default()),
        }
    }

    /// Appends a record; its segment is needed again when it is done.
    #[inline]
    pub(crate) fn push_record(&mut self, slot: Slot) -> Segment {
        match self {
            Self::Ordered(queue) => {
                queue.push_record(slot);
                0
            }
            Self::Segmented(queue) => queue.push_record(),
        }
    }

    pub(crate) fn push_barrier(&mut self, barrier: Barrier) {
        match self {
            Self::Ordered(queue) => queue.push_barrier(barrier),
            Self::Segmented(queue) => queue.push_barrier(barrier),
        }
    }

    /// Notes that a record is done. Call it once a record.
    #[inline]
    pub(crate) fn record_done(&mut self, slot: Slot, segment: Segment) {
        if let Self::Segmented(queue) = self {
            queue.record_done(slot, segment);
        }
    }

    /// The element that [`Self::pop`] would give.
    #[inline]
    pub(crate) fn peek(&self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        match self {
            Self::Ordered(queue) => queue.peek(is_done),
            Self::Segmented(queue) => queue.peek(),
        }
    }

    /// Takes the next element out, if one is ready.
    #[inline]
    pub(crate) fn pop(&mut self, is_done: impl Fn(Slot) -> bool) -> Option<Ready> {
        match self {
            Self::Ordered(queue) => queue.pop(is_done),
            Self::Segmented(queue) => queue.pop(),
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
