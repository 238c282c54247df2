//! A look at what is in flight, which changes nothing.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Operator, arrivals::Queued};
use crate::{
    EventTime, InFlight, Instant, Order, WaitsFor,
    group::{Group, GroupState},
    queue::{Barrier, BarrierKind},
    snapshot::SavedElement,
};

impl Operator {
    /// The oldest elements in flight, at most `max`, in order of arrival.
    ///
    /// Costs a look at every element; it is for people, not for each record.
    #[must_use]
    pub fn inspect(&self, now: Instant, max: usize) -> Vec<InFlight> {
        let now = self.now.max(now);
        // Whether an element that is done is held back only by its place: ordered by any that is not
        // done before it, otherwise by a barrier before it that still holds.
        let mut held = false;
        let mut open_records = false;
        let mut views = Vec::new();
        for element in self.first_queued(max) {
            match element {
                Queued::Group(group) => {
                    let left = u32::try_from(max - views.len().min(max)).unwrap_or(u32::MAX);
                    for row in 0..group.len().min(left) {
                        views.push(self.view_record(group, row, held, now));
                        open_records |= !group.is_done();
                        held |= self.options.order == Order::Ordered && !group.is_done();
                    }
                }
                Queued::Barrier(barrier) => {
                    held |= open_records;
                    views.push(view_barrier(&barrier, held, now));
                }
            }
        }
        views.truncate(max);
        views.extend(self.backlog.iter().take(max - views.len()).map(view_backlog));
        views
    }

    #[inline(never)]
    fn view_record(&self, group: &Group, row: u32, held: bool, now: Instant) -> InFlight {
        let (waits_for, outcome) = match group.state {
            GroupState::Blocked => (WaitsFor::Key, None),
            GroupState::Running { .. } | GroupState::Sharing => (WaitsFor::Answer, None),
            GroupState::Waiting => (WaitsFor::Retry, None),
            GroupState::Done { outcome, .. } if held => (WaitsFor::Order, Some(outcome)),
            GroupState::Done { outcome, .. } => (WaitsFor::Downstream, Some(outcome)),
        };
        let place = group.held.after(row);
        InFlight {
            id: (group.attempt > 0).then(|| self.positions.id(group.first + row)),
            event_time: self.batches.event_time(place),
            barrier: false,
            key: self.batches.record(place).key,
            waits_for,
            age: now.since(self.batches.accepted_at(place)),
            attempts: group.attempt,
            deadline: Some(group.deadline).filter(|&deadline| deadline != Instant::NEVER && !group.is_done()),
            outcome,
            last_error: group.last_error.0.as_deref().cloned(),
        }
    }
}

fn view_barrier(barrier: &Barrier, held: bool, now: Instant) -> InFlight {
    let waits_for = if held { WaitsFor::Order } else { WaitsFor::Downstream };
    InFlight { age: now.since(barrier.accepted_at), waits_for, ..view_barrier_kind(barrier.kind) }
}

fn view_backlog(element: &SavedElement) -> InFlight {
    match element {
        SavedElement::Barrier(kind) => view_barrier_kind(*kind),
        SavedElement::Record(record) => InFlight {
            event_time: record.event_time,
            barrier: false,
            key: record.key.clone(),
            ..view_barrier_kind(BarrierKind::Idle)
        },
    }
}

fn view_barrier_kind(kind: BarrierKind) -> InFlight {
    InFlight {
        id: None,
        event_time: match kind {
            BarrierKind::Watermark(time) => time,
            BarrierKind::Idle | BarrierKind::Active => EventTime::NONE,
        },
        barrier: true,
        key: None,
        waits_for: WaitsFor::Slot,
        age: Duration::ZERO,
        attempts: 0,
        deadline: None,
        outcome: None,
        last_error: None,
    }
}
