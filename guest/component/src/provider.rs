//! The imported lookups: starting them, and taking their answers.

use lookaside_core::{
    Instant, Operator,
    columns::{ByteStrings, CompletionBatch},
};

use crate::{
    bindings::{
        exports::lookaside::async_lookup::operator::OperatorError,
        lookaside::async_lookup::{
            lookup::{self, RequestBatch},
            types,
        },
    },
    errors::{operator_error, provider_broken},
};

/// Starts the lookups that the operator asks for, in one call; says whether it asks for any.
pub(crate) fn start(operator: &mut Operator, now: u64) -> bool {
    let batch = operator.take_requests();
    if batch.is_empty() {
        return false;
    }
    let byte_strings = |column: lookaside_core::columns::ByteStringsBuilder| {
        let (ends, bytes) = column.into_parts();
        types::ByteStrings { ends, bytes }
    };
    lookup::async_lookup(
        now,
        &RequestBatch {
            ids: batch.ids,
            attempts: batch.attempts,
            deadlines: batch.deadlines,
            keys: byte_strings(batch.keys),
            payloads: batch.payloads.map(byte_strings),
        },
    );
    true
}

/// Starts the lookups that a poll leads to, and takes what is answered within the call: a provider that is a component can tell
/// nobody of it later.
pub(crate) fn start_and_take(operator: &mut Operator, now: u64) -> Result<(), OperatorError> {
    while start(operator, now) && take_once(operator, now)?.0 > 0 {}
    Ok(())
}

/// Hands the answers that are there to the operator, then lets it handle what is due.
///
/// Where a deadline is due, all answers are taken first: one that was there in time stands.
pub(crate) fn take(operator: &mut Operator, now: u64) -> Result<(), OperatorError> {
    if operator.check().is_err() {
        // It says why, and takes no more answers.
        return operator.advance(Instant(now)).map_err(operator_error);
    }
    loop {
        let (taken, may_be_more) = take_once(operator, now)?;
        if taken == 0 || !(operator.is_due(Instant(now)) || may_be_more) {
            break;
        }
    }
    operator.advance(Instant(now)).map_err(operator_error)
}

/// Takes answers once: says how many, and whether they may not have been all.
fn take_once(operator: &mut Operator, now: u64) -> Result<(usize, bool), OperatorError> {
    // One more than there are lookups tells that others lie behind, such as old answers.
    let most = u32::try_from(operator.lookups_in_flight()).unwrap_or(u32::MAX).saturating_add(1);
    let batch = lookup::take_completions(now, most);
    let rows = ByteStrings::new("rows", batch.rows.ends, batch.rows.bytes).map_err(provider_broken)?;
    let answers = CompletionBatch::new(
        batch.ids,
        batch.attempts,
        batch.statuses,
        batch.arrivals,
        batch.row_counts,
        rows,
        batch.retry_after,
    )
    .map_err(provider_broken)?;
    let taken = answers.len();
    operator.complete_all(answers, Instant(now)).map_err(operator_error)?;
    Ok((taken, taken >= most as usize))
}
