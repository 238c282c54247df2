//! The interface `operator-batch`: many elements a call.

use lookaside_core::{
    Instant, PushError,
    columns::{ByteStrings, ByteStringsBuilder, OutputBatchBuilder, RecordBatch},
};

use crate::{
    Component,
    bindings::{
        exports::lookaside::async_lookup::{
            operator::OperatorError,
            operator_batch::{Guest, OutputBatch, PollBatch, RecordBatch as WitRecordBatch},
        },
        lookaside::async_lookup::types,
    },
    errors::{malformed_batch, operator_error, pushed},
    instance, provider,
    single::poll_state,
};

impl Guest for Component {
    fn push_records(now: u64, records: WitRecordBatch) -> Result<u32, OperatorError> {
        instance::with(|operator| {
            operator.check().map_err(operator_error)?;
            let batch = read(records).map_err(malformed_batch)?;
            let taken = match operator.push_records(batch, Instant(now)) {
                Ok(taken) => taken as u32,
                Err(PushError::Full(_)) => 0,
                Err(error) => return pushed(Err(error)).map(u32::from),
            };
            provider::start(operator, now);
            Ok(taken)
        })
    }

    fn poll_outputs(now: u64, max: u32, max_bytes: u32) -> Result<PollBatch, OperatorError> {
        instance::with(|operator| {
            provider::take(operator, now)?;
            let mut outputs = OutputBatchBuilder::default();
            operator.next_outputs(&mut outputs, max as usize, max_bytes as usize).map_err(operator_error)?;
            provider::start_and_take(operator, now)?;
            let wake_at = operator.wake_at().map(|at| at.0);
            Ok(PollBatch { outputs: write(outputs), state: poll_state(operator), wake_at, room: operator.room() })
        })
        .map_err(instance::end)
    }
}

fn read(records: WitRecordBatch) -> Result<RecordBatch, lookaside_core::columns::Malformed> {
    let column = |name, column: types::ByteStrings| ByteStrings::new(name, column.ends, column.bytes);
    RecordBatch::new(
        records.event_times,
        column("keys", records.keys)?,
        records.keyless,
        records.order_keys.map(|keys| column("order-keys", keys)).transpose()?,
        column("payloads", records.payloads)?,
    )
}

fn write(outputs: OutputBatchBuilder) -> OutputBatch {
    let column = |column: ByteStringsBuilder| {
        let (ends, bytes) = column.into_parts();
        types::ByteStrings { ends, bytes }
    };
    OutputBatch {
        kinds: outputs.kinds,
        event_times: outputs.event_times,
        keys: column(outputs.keys),
        keyless: outputs.keyless,
        payloads: column(outputs.payloads),
        attempts: outputs.attempts,
        row_counts: outputs.row_counts,
        rows: column(outputs.rows),
    }
}
