//! Records leave as they are done, but never across a barrier.
//!
//! A segment is a run of records and the barriers right behind them. Only the first segment gives
//! anything out: its records in the order in which they were done, then, once none is left, its
//! barriers. Records of later segments may be done long before; they wait in their segment.

use alloc::collections::VecDeque;

use super::{Barrier, BarrierKind, Ready, Segment};
use crate::{EventTime, group::Group, slots::Slot};

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
    open: u32,
    /// Groups that are, in the order in which they were.
    done: VecDeque<Slot>,
    /// Behind all of the records.
    barriers: VecDeque<Barrier>,
}

impl SegmentedQueue {
    pub(super) fn push_records(&mut self, count: u32) -> Segment {
        if self.segments.back().is_none_or(|run| !run.barriers.is_empty()) {
            self.segments.push_back(Run::default());
        }
        let last = self.segments.len() - 1;
        self.segments[last].open += count;
        self.first.wrapping_add(last as Segment)
    }

    pub(super) fn push_barrier(&mut self, barrier: Barrier) {
        if self.segments.is_empty() {
            self.segments.push_back(Run::default());
        }
        let last = self.segments.len() - 1;
        self.segments[last].barriers.push_back(barrier);
    }

    pub(super) fn ends_with_watermark(&self) -> bool {
        let last = self.segments.back().and_then(|run| run.barriers.back());
        matches!(last, Some(Barrier { kind: BarrierKind::Watermark(_), .. }))
    }

    pub(super) fn merge_watermark(&mut self, time: EventTime) {
        let last = self.segments.back_mut().and_then(|run| run.barriers.back_mut());
        if let Some(Barrier { kind: BarrierKind::Watermark(last), .. }) = last {
            *last = time.max(*last);
        }
    }

    pub(super) fn group_done(&mut self, slot: Slot, group: &Group) {
        let run = &mut self.segments[group.segment.wrapping_sub(self.first) as usize];
        run.open -= group.len();
        run.done.push_back(slot);
    }

    /// Puts a group behind all that may leave now. Its segment stays open, so that nothing behind it leaves.
    pub(super) fn group_failed(&mut self, slot: Slot) {
        if let Some(run) = self.segments.iter_mut().find(|run| run.open > 0) {
            run.done.push_back(slot);
        }
    }

    pub(super) fn peek(&self) -> Option<Ready> {
        let run = self.segments.front()?;
        match (run.done.front(), run.open) {
            (Some(&slot), _) => Some(Ready::Group(slot)),
            (None, 0) => run.barriers.front().copied().map(Ready::Barrier),
            (None, _) => None,
        }
    }

    pub(super) fn pop(&mut self, ready: Ready) {
        let run = &mut self.segments[0];
        match ready {
            Ready::Group(_) => drop(run.done.pop_front()),
            Ready::Barrier(_) => {
                run.barriers.pop_front();
                if run.barriers.is_empty() && self.segments.len() > 1 {
                    self.segments.pop_front();
                    self.first = self.first.wrapping_add(1);
                }
            }
        }
    }

    pub(super) fn each_barrier(&self, show: &mut dyn FnMut(&Barrier)) {
        self.segments.iter().for_each(|run| run.barriers.iter().for_each(&mut *show));
    }
}
