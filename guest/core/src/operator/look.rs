//! A look at what is in flight, which changes nothing.

use alloc::vec::Vec;
use core::time::Duration;

use super::{InFlightRecord, Operator, RecordState, arrivals::Queued};
use crate::{
    EventTime, InFlight, Instant, Order, WaitsFor,
    queue::{Barrier, BarrierKind},
    slots::Slot,
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
        for element in self.queued() {
            match element {
                Queued::Record(slot, record) => {
                    views.push(self.view_record(slot, record, held, now));
                    open_records |= !record.is_done();
                    held |= self.options.order == Order::Ordered && !record.is_done();
                }
                Queued::Barrier(barrier) => {
                    held |= open_records;
                    views.push(view_barrier(&barrier, held, now));
                }
            }
        }
        views.extend(self.backlog.iter().map(view_backlog));
        views.truncate(max);
        views
    }

    fn view_record(&self, slot: Slot, record: &InFlightRecord, held: bool, now: Instant) -> InFlight {
        let (waits_for, outcome) = match record.state {
            RecordState::Blocked => (WaitsFor::Key, None),
            RecordState::Running { .. } | RecordState::Sharing => (WaitsFor::Answer, None),
            RecordState::Waiting => (WaitsFor::Retry, None),
            RecordState::Done { outcome, .. } if held => (WaitsFor::Order, Some(outcome)),
            RecordState::Done { outcome, .. } => (WaitsFor::Downstream, Some(outcome)),
        };
        InFlight {
            id: (record.attempt > 0).then(|| self.records.id(slot)),
            event_time: self.batches.event_time(record.held),
            barrier: false,
            key: self.batches.record(record.held).key,
            waits_for,
            age: now.since(self.batches.accepted_at(record.held)),
            attempts: record.attempt,
            deadline: Some(record.deadline).filter(|&deadline| deadline != Instant::NEVER && !record.is_done()),
            outcome,
            last_error: record.last_error.0.as_deref().cloned(),
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
