//! The interface `operator`: one element a call.

use alloc::{string::String, vec::Vec};

use bytes::Bytes;
use lookaside_core::{Element, EventTime, Instant, JoinedRecord, Operator, Options, Record};

use crate::{
    Component,
    bindings::exports::lookaside::async_lookup::operator::{
        Admission, Guest, JoinedRecord as WitJoinedRecord, OperatorError, Output, Poll, PollState, StreamRecord,
    },
    errors::{operator_error, outcome, pushed, refused_option, snapshot_error},
    instance, provider,
};

impl Guest for Component {
    fn open(now: u64, options: Vec<(String, String)>) -> Result<(), OperatorError> {
        instance::open(now, || Operator::open(read_options(&options)?, Instant(now)).map_err(refused_option))
    }

    fn restore(now: u64, options: Vec<(String, String)>, snapshot: Vec<u8>) -> Result<(), OperatorError> {
        instance::open(now, || {
            Operator::restore(read_options(&options)?, &snapshot, Instant(now)).map_err(snapshot_error)
        })
    }

    fn push_record(now: u64, element: StreamRecord) -> Result<Admission, OperatorError> {
        let record = Record {
            event_time: EventTime(element.event_time),
            key: element.key.map(Bytes::from),
            order_key: element.order_key.map(Bytes::from),
            payload: Bytes::from(element.payload),
        };
        push(now, |operator| operator.push_record(record, Instant(now)))
    }

    fn push_watermark(now: u64, time: i64) -> Result<Admission, OperatorError> {
        push(now, |operator| operator.push_watermark(EventTime(time), Instant(now)))
    }

    fn push_idle(now: u64, idle: bool) -> Result<Admission, OperatorError> {
        push(now, |operator| operator.push_idle(idle, Instant(now)))
    }

    fn end_input(now: u64) -> Result<(), OperatorError> {
        instance::with(|operator| {
            // What is there stands, before time ends anything.
            provider::take(operator, now)?;
            operator.end_input(Instant(now)).map_err(operator_error)?;
            provider::start(operator, now);
            Ok(())
        })
        .map_err(instance::end)
    }

    fn poll_output(now: u64, max: u32) -> Result<Poll, OperatorError> {
        instance::with(|operator| {
            provider::take(operator, now)?;
            let mut outputs = Vec::new();
            for taken in 0..max {
                // What was taken goes first; the next call tells the failure.
                if taken > 0 && operator.fails_next() {
                    break;
                }
                let Some(element) = operator.next_output().map_err(operator_error)? else { break };
                outputs.extend(output(element));
            }
            provider::start_and_take(operator, now)?;
            let wake_at = operator.wake_at().map(|at| at.0);
            Ok(Poll { outputs, state: poll_state(operator), wake_at, room: operator.room() })
        })
        .map_err(instance::end)
    }

    fn snapshot() -> Result<Vec<u8>, OperatorError> {
        instance::with(|operator| operator.snapshot().map_err(operator_error))
    }

    fn stats() -> Vec<(String, u64)> {
        let stats = instance::look(|operator| operator.stats()).unwrap_or_default();
        stats.iter().map(|(name, value)| (name.into(), value)).collect()
    }
}

/// What the contract calls the operator's state.
pub(crate) fn poll_state(operator: &Operator) -> PollState {
    match operator.poll_state() {
        lookaside_core::PollState::Ready => PollState::Ready,
        lookaside_core::PollState::Waiting => PollState::Waiting,
        lookaside_core::PollState::Drained => PollState::Drained,
    }
}

fn read_options(options: &[(String, String)]) -> Result<Options, OperatorError> {
    Options::from_pairs(options.iter().map(|(name, text)| (name.as_str(), text.as_str()))).map_err(refused_option)
}

fn push(
    now: u64,
    push: impl FnOnce(&mut Operator) -> Result<(), lookaside_core::PushError>,
) -> Result<Admission, OperatorError> {
    instance::with(|operator| {
        let taken = pushed(push(operator))?;
        provider::start(operator, now);
        Ok(if taken { Admission::Accepted } else { Admission::Full })
    })
}

fn output(element: Element) -> Option<Output> {
    Some(match element {
        Element::Dropped => return None,
        Element::Watermark(time) => Output::Watermark(time.0),
        Element::Idle => Output::Idle,
        Element::Active => Output::Active,
        Element::Joined(JoinedRecord { record, outcome: ended, rows, attempts }) => Output::Joined(WitJoinedRecord {
            event_time: record.event_time.0,
            key: record.key.map(Vec::from),
            payload: record.payload.into(),
            outcome: outcome(ended),
            rows: rows.as_slice().iter().map(|row| row.to_vec()).collect(),
            attempts,
        }),
    })
}
