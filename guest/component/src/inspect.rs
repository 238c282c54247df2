//! The interface `operator-inspect`: why a stream stands still.

use alloc::vec::Vec;

use lookaside_core::{InFlight, Instant};

use crate::{
    Component,
    bindings::exports::lookaside::async_lookup::{
        operator::OperatorError,
        operator_inspect::{Element, Guest, WaitsFor},
    },
    errors::outcome,
    instance,
};

impl Guest for Component {
    fn inspect(now: u64, max: u32) -> Result<Vec<Element>, OperatorError> {
        instance::look(|operator| operator.inspect(Instant(now), max as usize).into_iter().map(element).collect())
    }
}

fn element(view: InFlight) -> Element {
    Element {
        id: view.id.map(|id| id.0),
        event_time: view.event_time.0,
        barrier: view.barrier,
        key: view.key.map(Vec::from),
        waits_for: match view.waits_for {
            lookaside_core::WaitsFor::Slot => WaitsFor::Slot,
            lookaside_core::WaitsFor::Key => WaitsFor::Key,
            lookaside_core::WaitsFor::Answer => WaitsFor::Answer,
            lookaside_core::WaitsFor::Retry => WaitsFor::Retry,
            lookaside_core::WaitsFor::Order => WaitsFor::Order,
            lookaside_core::WaitsFor::Downstream => WaitsFor::Downstream,
        },
        age: view.age.as_nanos() as u64,
        attempts: view.attempts,
        deadline: view.deadline.map(|at| at.0),
        outcome: view.outcome.map(outcome),
        last_error: view.last_error,
    }
}
