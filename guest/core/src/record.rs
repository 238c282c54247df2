//! Records on their way in and out, and what was found for them.

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::EventTime;
use bytes::Bytes;

/// One element of the stream, to be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it happened; [`EventTime::NONE`] where that is not known.
    pub event_time: EventTime,
    /// What to look up; none joins the record with no rows, without a call.
    pub key: Option<Bytes>,
    /// What keeps its order in key-ordered mode; the lookup key where there is none. An empty one is none.
    pub order_key: Option<Bytes>,
    /// Travels with the record, unread.
    pub payload: Bytes,
}

impl Record {
    /// A record without event time.
    pub fn new(key: impl Into<Bytes>, payload: impl Into<Bytes>) -> Self {
        Self { event_time: EventTime::NONE, key: Some(key.into()), order_key: None, payload: payload.into() }
    }

    /// A record without a key.
    pub fn keyless(payload: impl Into<Bytes>) -> Self {
        Self { event_time: EventTime::NONE, key: None, order_key: None, payload: payload.into() }
    }

    /// The same record at `event_time`.
    #[must_use]
    pub fn at(self, event_time: EventTime) -> Self {
        Self { event_time, ..self }
    }

    /// What keeps its order in key-ordered mode, if anything does.
    pub(crate) fn order_key(&self) -> Option<&Bytes> {
        self.order_key.as_ref().filter(|key| !key.is_empty()).or(self.key.as_ref())
    }

    /// The bytes that it holds while it is in flight.
    pub(crate) fn held_bytes(&self) -> u64 {
        let key = self.key.as_ref().map_or(0, Bytes::len);
        let order_key = self.order_key.as_ref().map_or(0, Bytes::len);
        (key + order_key + self.payload.len()) as u64
    }
}

/// How a record's lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// At least one row.
    Found,
    /// No row, or no key.
    Missing,
    /// The last attempt failed.
    Failed,
    /// The deadline came first.
    TimedOut,
}

/// What a lookup found. Most find one row, so one row costs no list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Rows {
    /// No row.
    #[default]
    None,
    /// One row.
    One(Bytes),
    /// Two rows or more.
    Many(Box<[Bytes]>),
}

impl Rows {
    /// The rows in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Bytes] {
        match self {
            Self::None => &[],
            Self::One(row) => core::slice::from_ref(row),
            Self::Many(rows) => rows,
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The bytes of all rows together.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.as_slice().iter().map(|row| row.len() as u64).sum()
    }
}

impl FromIterator<Bytes> for Rows {
    fn from_iter<I: IntoIterator<Item = Bytes>>(rows: I) -> Self {
        let mut rows = rows.into_iter();
        let Some(first) = rows.next() else { return Self::None };
        let Some(second) = rows.next() else { return Self::One(first) };
        Self::Many([first, second].into_iter().chain(rows).collect::<Vec<_>>().into_boxed_slice())
    }
}

impl From<&'static str> for Rows {
    fn from(row: &'static str) -> Self {
        Self::One(Bytes::from_static(row.as_bytes()))
    }
}

impl From<String> for Rows {
    fn from(row: String) -> Self {
        Self::One(Bytes::from(row))
    }
}

/// A record and what was found for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedRecord {
    /// The record as it came in.
    pub record: Record,
    /// How its lookup ended.
    pub outcome: Outcome,
    /// What was found; for failed and timed out one row, the message.
    pub rows: Rows,
    /// Lookups made for this record; 0 where none was needed.
    pub attempts: u32,
}

/// One element that leaves the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// Send this record downstream.
    Joined(JoinedRecord),
    /// A record left whose outcome the policies drop: send nothing.
    Dropped,
    /// Send this watermark downstream: every record before it has left.
    Watermark(EventTime),
    /// The input is idle from here on.
    Idle,
    /// The input is active again.
    Active,
}
