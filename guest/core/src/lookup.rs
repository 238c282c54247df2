//! What passes between the operator and whoever makes its lookups.

use alloc::string::String;
use core::time::Duration;

use bytes::Bytes;

use crate::{Instant, Rows};

/// Names one record's lookup; an operator never gives the same one twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A lookup to start. Hand its answer to [`Operator::complete`](crate::Operator::complete).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Whose lookup this is.
    pub id: RequestId,
    /// Counts from 1.
    pub attempt: u32,
    /// When the record times out; [`Instant::NEVER`] where it does not.
    pub deadline: Instant,
    /// What to look up.
    pub key: Bytes,
    /// The record's payload, where [`Options::request_payload`](crate::Options::request_payload) asks for it.
    pub payload: Option<Bytes>,
}

/// Why an attempt failed: what another one could do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The backend could not answer now; another attempt may.
    Unavailable,
    /// The backend asks to slow down; another attempt may succeed later.
    Throttled,
    /// The request itself is wrong; no attempt will succeed.
    Rejected,
    /// The provider broke its promise or its data is unreadable; no attempt will succeed.
    Malformed,
}

impl FailureKind {
    /// Whether another attempt may end better.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Unavailable | Self::Throttled)
    }

    /// The name that messages and the contract use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Throttled => "throttled",
            Self::Rejected => "rejected",
            Self::Malformed => "malformed",
        }
    }
}

/// A lookup that failed. Never a miss.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", kind.name())]
pub struct LookupError {
    /// What another attempt could do about it.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
    /// Make no further attempt until this long after the answer.
    pub retry_after: Option<Duration>,
}

impl LookupError {
    /// A failure of `kind` that says nothing about when to try again.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }
}

/// The end of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whose lookup is answered.
    pub id: RequestId,
    /// Which attempt is answered.
    pub attempt: u32,
    /// When the answer was there. One that was there before its deadline stands, however late it
    /// is handed over.
    pub arrival: Instant,
    /// The rows, none of them for a miss, or why there is no answer.
    pub result: Result<Rows, LookupError>,
}

impl Answer {
    /// The answer `rows` to `request`.
    #[must_use]
    pub fn rows(request: &Request, rows: Rows, arrival: Instant) -> Self {
        Self { id: request.id, attempt: request.attempt, arrival, result: Ok(rows) }
    }

    /// The failure `error` of `request`.
    #[must_use]
    pub fn failed(request: &Request, error: LookupError, arrival: Instant) -> Self {
        Self { id: request.id, attempt: request.attempt, arrival, result: Err(error) }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It ended the record, or made it wait for another attempt.
    Accepted,
    /// Ignored: the record has its end already, or a newer attempt.
    Stale,
    /// Ignored: it came at the deadline or after it.
    Late,
    /// Ignored: this operator never started such an attempt.
    Unknown,
}
