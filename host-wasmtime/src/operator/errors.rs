//! What can go wrong with an operator, by who acts next.

use crate::{
    LookupFailed, RequestId,
    component::exports::lookaside::async_lookup::operator::{self as single, ErrorCode},
};

/// A call to an operator was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// A record ended as the policies do not allow. Restore the last snapshot.
    #[error(transparent)]
    LookupFailed(Box<LookupFailed>),
    /// An option cannot be used.
    #[error("{0}")]
    RefusedOption(String),
    /// The bytes are no whole snapshot.
    #[error("{0}")]
    CorruptSnapshot(String),
    /// The snapshot's format or settings are others.
    #[error("{0}")]
    IncompatibleSnapshot(String),
    /// The input was ended before.
    #[error("{0}")]
    AfterEnd(String),
    /// An earlier error, told here, ended this operator. Restore the last snapshot.
    #[error("the operator is spent: {0}")]
    Spent(String),
    /// There is no memory for a snapshot: let records leave, then take it.
    #[error("{0}")]
    OutOfMemory(String),
    /// The component does not keep to the contract.
    #[error("the component broke the contract: {0}")]
    Broken(String),
    /// The component was stopped: it failed by itself, or went past its limits.
    #[error("the component was stopped: {}", first_line(.0))]
    Trapped(wasmtime::Error),
}

impl OperatorError {
    /// Whether the operator is spent; if not, it is as it was before the call.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::LookupFailed(_) | Self::Spent(_) | Self::Broken(_) | Self::Trapped(_) => true,
            Self::RefusedOption(_)
            | Self::CorruptSnapshot(_)
            | Self::IncompatibleSnapshot(_)
            | Self::AfterEnd(_)
            | Self::OutOfMemory(_) => false,
        }
    }
}

impl From<single::OperatorError> for OperatorError {
    fn from(error: single::OperatorError) -> Self {
        let single::OperatorError { code, message, lookup } = error;
        match (code, lookup) {
            (ErrorCode::LookupFailed, Some(lookup)) => Self::LookupFailed(Box::new(LookupFailed {
                id: RequestId(lookup.id),
                outcome: super::outcome(lookup.outcome),
                key: lookup.key.map(Into::into),
                attempts: lookup.attempts,
                message: lookup.message,
            })),
            (ErrorCode::RefusedOption, _) => Self::RefusedOption(message),
            (ErrorCode::CorruptSnapshot, _) => Self::CorruptSnapshot(message),
            (ErrorCode::IncompatibleSnapshot, _) => Self::IncompatibleSnapshot(message),
            (ErrorCode::AfterEnd, _) => Self::AfterEnd(message),
            (ErrorCode::Spent, _) => Self::Spent(message),
            (ErrorCode::OutOfMemory, _) => Self::OutOfMemory(message),
            (code, _) => Self::Broken(format!("{code:?}: {message}")),
        }
    }
}

/// A trap's cause, without the backtrace that follows it.
fn first_line(error: &wasmtime::Error) -> String {
    error.root_cause().to_string().lines().next().unwrap_or_default().to_owned()
}
