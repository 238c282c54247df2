//! The core's errors in the contract's words.

use alloc::string::{String, ToString};

use lookaside_core::{LookupFailed, Outcome, PushError, SnapshotError, columns::Malformed};

use crate::bindings::exports::lookaside::async_lookup::operator::{
    self as wit, ErrorCode, FailedLookup, OperatorError,
};

/// An error that says all in its code and its message.
pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> OperatorError {
    OperatorError { code, message: message.into(), lookup: None }
}

/// The core failed, now or before.
pub(crate) fn operator_error(failure: lookaside_core::OperatorError) -> OperatorError {
    match failure {
        lookaside_core::OperatorError::LookupFailed(failed) => OperatorError {
            code: ErrorCode::LookupFailed,
            message: failed.to_string(),
            lookup: Some(failed_lookup(*failed)),
        },
        lookaside_core::OperatorError::Spent(_) => error(ErrorCode::Spent, failure.to_string()),
        lookaside_core::OperatorError::OutOfMemory { .. } => error(ErrorCode::OutOfMemory, failure.to_string()),
    }
}

/// What a push came to: taken or not, or the error.
pub(crate) fn pushed(result: Result<(), PushError>) -> Result<bool, OperatorError> {
    match result {
        Ok(()) => Ok(true),
        Err(PushError::Full(_)) => Ok(false),
        Err(PushError::AfterEnd) => Err(error(ErrorCode::AfterEnd, "the input was ended before")),
        Err(PushError::Operator(failure)) => Err(operator_error(failure)),
    }
}

pub(crate) fn refused_option(refused: lookaside_core::RefusedOption) -> OperatorError {
    error(ErrorCode::RefusedOption, refused.to_string())
}

pub(crate) fn snapshot_error(failure: SnapshotError) -> OperatorError {
    match failure {
        SnapshotError::Corrupt(why) => error(ErrorCode::CorruptSnapshot, why),
        SnapshotError::Incompatible(why) => error(ErrorCode::IncompatibleSnapshot, why),
        SnapshotError::Options(refused) => refused_option(refused),
    }
}

pub(crate) fn malformed_batch(malformed: Malformed) -> OperatorError {
    error(ErrorCode::MalformedBatch, malformed.0)
}

pub(crate) fn provider_broken(malformed: Malformed) -> OperatorError {
    error(ErrorCode::ProviderBroken, malformed.0)
}

pub(crate) fn outcome(outcome: Outcome) -> wit::Outcome {
    match outcome {
        Outcome::Found => wit::Outcome::Found,
        Outcome::Missing => wit::Outcome::Missing,
        Outcome::Failed => wit::Outcome::Failed,
        Outcome::TimedOut => wit::Outcome::TimedOut,
    }
}

fn failed_lookup(failed: LookupFailed) -> FailedLookup {
    FailedLookup {
        id: failed.id.0,
        outcome: outcome(failed.outcome),
        attempts: failed.attempts,
        key: failed.key.map(Into::into),
        message: failed.message,
    }
}
