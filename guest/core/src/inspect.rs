//! What is in flight, for whoever asks why a stream stands still.

use alloc::string::String;
use core::time::Duration;

use bytes::Bytes;

use crate::{EventTime, Instant, Outcome, RequestId};

/// What an element waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitsFor {
    /// Restored, and over the capacity: a slot.
    Slot,
    /// Key-ordered: the lookup of an earlier record of its key.
    Key,
    /// The answer to its lookup.
    Answer,
    /// The delay before its next attempt.
    Retry,
    /// It is done; an element before it is not.
    Order,
    /// It is ready, and so are all before it: the driver's next poll.
    Downstream,
}

/// One element in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// None for watermarks and statuses, and before the first attempt.
    pub id: Option<RequestId>,
    /// The record's, or the watermark's; [`EventTime::NONE`] for a status.
    pub event_time: EventTime,
    /// A watermark or a status, not a record.
    pub barrier: bool,
    /// The record's key.
    pub key: Option<Bytes>,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// Since it was accepted; zero for what waits for a slot.
    pub age: Duration,
    /// Attempts made.
    pub attempts: u32,
    /// When it times out, while it is looked up.
    pub deadline: Option<Instant>,
    /// How it ended, once it did.
    pub outcome: Option<Outcome>,
    /// What the last failed attempt said; of a long text the first 256 bytes.
    pub last_error: Option<String>,
}
