//! What can go wrong, by who acts next.

use alloc::{boxed::Box, string::String, vec::Vec};

use bytes::Bytes;

use crate::{Outcome, Record, RequestId};

/// A push was not taken. The operator is unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PushError {
    /// No room: take outputs, then offer it again. Hands a record back; none for a watermark or status.
    #[error("the operator is full: take outputs, then offer the element again")]
    Full(Option<Box<Record>>),
    /// The input was ended; no element can follow.
    #[error("the input was ended before this element")]
    AfterEnd,
    /// The operator failed, now or before.
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

/// The operator failed and stays so, except by [`Self::OutOfMemory`]. Restore it from the last snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// A record ended as the policies do not allow.
    #[error(transparent)]
    LookupFailed(#[from] Box<LookupFailed>),
    /// It failed before, as told here.
    #[error("the operator failed before: {0}")]
    Spent(Box<LookupFailed>),
    /// There is no memory for a snapshot. The operator is unchanged: let records leave, then take it.
    #[error("there is no memory for a snapshot of {bytes} bytes; let records leave, then take it")]
    OutOfMemory {
        /// The bytes of the snapshot.
        bytes: u64,
    },
}

/// The record whose end the policies do not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupFailed {
    /// Its request.
    pub id: RequestId,
    /// Its key; none for a record without one.
    pub key: Option<Bytes>,
    /// How it ended.
    pub outcome: Outcome,
    /// Attempts made.
    pub attempts: u32,
    /// What the last attempt said, or what was missed.
    pub message: String,
}

impl core::error::Error for LookupFailed {}

impl core::fmt::Display for LookupFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.key {
            Some(key) => write!(f, "the lookup of {} ", Excerpt(key))?,
            None => f.write_str("a record without a key ")?,
        }
        f.write_str(match self.outcome {
            Outcome::Found => "found rows",
            Outcome::Missing => "found nothing",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed out",
        })?;
        if self.attempts > 1 {
            write!(f, " after {} attempts", self.attempts)?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// A key for people: its start as text, control characters escaped.
struct Excerpt<'a>(&'a [u8]);

impl core::fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        const LONGEST: usize = 120;
        let shown = &self.0[..self.0.len().min(LONGEST)];
        for c in String::from_utf8_lossy(shown).chars() {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
        }
        if self.0.len() > LONGEST {
            write!(f, "... ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

/// A text of a failed lookup, from a provider's bytes.
pub(crate) fn message_text(bytes: &[u8]) -> String {
    match String::from_utf8(Vec::from(bytes)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}
