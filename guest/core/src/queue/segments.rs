//! Records leave as they are done, but never across a barrier.
//!
//! A segment is a run of records and the barriers right behind them. Only the first segment gives
//! anything out: its records in the order in which they were done, then, once none is left, its
//! barriers. Records of later segments may be done long before; they wait in their segment.

use alloc::collections::VecDeque;

use super::{Barrier, Ready, Segment};
use crate::slots::Slot;

#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentedQueue {
    /// At least one once anything was pushed; all but the last end in a barrier.
    segments: VecDeque<Run>,
    /// The number of the first segment.
    first: Segment,
}

#[derive(Debug, Clone, Default)]
struct Run {
    /// Records that are not done.
    open: usize,
    /// Records that are, in the order in which they were.
    done: VecDeque<Slot>,
    /// Behind all of the records.
    barriers: VecDeque<Barrier>,
}

impl SegmentedQueue {
    pub(super) fn push_record(&mut self) -> Segment {
        if self.segments.back().is_none_or(|run| !run.barriers.is_empty()) {
            self.segments.push_back(Run::default());
        }
        let last = self.segments.len() - 1;
        self.segments[last].open += 1;
        self.first.wrapping_add(last as Segment)
    }

    pub(super) fn push_barrier(&mut self, barrier: Barrier) {
        if self.segments.is_empty() {
            self.segments.push_back(Run::default());
        }
        let last = self.segments.len() - 1;
        self.segments[last].barriers.push_back(barrier);
    }

    pub(super) fn record_done(&mut self, slot: Slot, segment: Segment) {
        let run = &mut self.segments[segment.wrapping_sub(self.first) as usize];
        run.open -= 1;
        run.done.push_back(slot);
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<Ready> {
        let run = self.segments.front()?;
        match (run.done.front(), run.open) {
            (Some(&slot), _) => Some(Ready::Record(slot)),
            (None, 0) => run.barriers.front().copied().map(Ready::Barrier),
            (None, _) => None,
        }
    }

    pub(super) fn pop(&mut self) -> Option<Ready> {
        let ready = self.peek()?;
        let run = &mut self.segments[0];
        match ready {
            Ready::Record(_) => drop(run.done.pop_front()),
            Ready::Barrier(_) => {
                run.barriers.pop_front();
                if run.barriers.is_empty() && self.segments.len() > 1 {
                    self.segments.pop_front();
                    self.first = self.first.wrapping_add(1);
                }
            }
        }
        Some(ready)
    }

    pub(super) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        self.segments.iter().for_each(|run| run.barriers.iter().for_each(&mut *show));
    }
}
