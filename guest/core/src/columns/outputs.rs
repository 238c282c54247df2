//! Elements on their way out.

use alloc::{format, vec::Vec};
use core::ops::Range;

use bytes::Bytes;

use super::{ByteStrings, ByteStringsBuilder, Malformed, counts_add_up, rising_rows, same_length};
use crate::{Element, EventTime, JoinedRecord, Outcome, Record, Rows, queue::BarrierKind};

/// The kind of each outcome's records; their positions are the contract's.
const OUTCOMES: [Outcome; 4] = [Outcome::Found, Outcome::Missing, Outcome::Failed, Outcome::TimedOut];
const WATERMARK: u8 = 4;
const IDLE: u8 = 5;
const ACTIVE: u8 = 6;

fn kind_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Found => 0,
        Outcome::Missing => 1,
        Outcome::Failed => 2,
        Outcome::TimedOut => 3,
    }
}

/// Elements in the order in which to send them downstream, as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputBatch {
    kinds: Vec<u8>,
    event_times: Vec<i64>,
    keys: ByteStrings,
    keyless: Vec<u32>,
    payloads: ByteStrings,
    attempts: Vec<u32>,
    row_counts: Vec<u32>,
    rows: ByteStrings,
}

impl OutputBatch {
    /// The batch of these columns.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where they do not fit together, or a kind has no meaning.
    #[allow(clippy::too_many_arguments, reason = "one argument a column of the contract")]
    pub fn new(
        kinds: Vec<u8>,
        event_times: Vec<i64>,
        keys: ByteStrings,
        keyless: Vec<u32>,
        payloads: ByteStrings,
        attempts: Vec<u32>,
        row_counts: Vec<u32>,
        rows: ByteStrings,
    ) -> Result<Self, Malformed> {
        let outputs = kinds.len();
        same_length("event-times", event_times.len(), outputs)?;
        same_length("keys", keys.len(), outputs)?;
        same_length("payloads", payloads.len(), outputs)?;
        same_length("attempts", attempts.len(), outputs)?;
        same_length("row-counts", row_counts.len(), outputs)?;
        counts_add_up(&row_counts, rows.len())?;
        rising_rows(&keyless, outputs)?;
        if let Some(row) = kinds.iter().position(|&kind| kind > ACTIVE) {
            return Err(Malformed(format!("output {row} has kind {}; the greatest is {ACTIVE}", kinds[row])));
        }
        Ok(Self { kinds, event_times, keys, keyless, payloads, attempts, row_counts, rows })
    }

    /// How many elements there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The joined records in order, where they are: nothing is copied.
    #[inline]
    pub fn joined(&self) -> impl Iterator<Item = JoinedRow<'_>> {
        let mut next = 0;
        let mut keyless = self.keyless.iter().copied().peekable();
        (0..self.len()).filter_map(move |row| {
            let first = next;
            next += self.row_counts[row] as usize;
            let has_key = keyless.next_if_eq(&(row as u32)).is_none();
            Some(JoinedRow {
                event_time: EventTime(self.event_times[row]),
                key: has_key.then(|| self.keys.slice(row)),
                payload: self.payloads.slice(row),
                outcome: *OUTCOMES.get(self.kinds[row] as usize)?,
                attempts: self.attempts[row],
                found: &self.rows,
                rows: first..next,
            })
        })
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Element> {
        let mut next = 0;
        let mut keyless = self.keyless.iter().copied().peekable();
        (0..self.len()).map(move |row| {
            let first = next;
            next += self.row_counts[row] as usize;
            let event_time = EventTime(self.event_times[row]);
            let has_key = keyless.next_if_eq(&(row as u32)).is_none();
            match self.kinds[row] {
                WATERMARK => Element::Watermark(event_time),
                IDLE => Element::Idle,
                ACTIVE => Element::Active,
                outcome => Element::Joined(JoinedRecord {
                    record: Record {
                        event_time,
                        key: has_key.then(|| self.keys.get(row)),
                        order_key: None,
                        payload: self.payloads.get(row),
                    },
                    outcome: OUTCOMES[outcome as usize],
                    rows: (first..next).map(|row| self.rows.get(row)).collect::<Rows>(),
                    attempts: self.attempts[row],
                }),
            }
        })
    }
}

/// A joined record in its batch.
#[derive(Debug, Clone)]
pub struct JoinedRow<'a> {
    /// As the record came in.
    pub event_time: EventTime,
    /// As the record came in; none where it had none.
    pub key: Option<&'a [u8]>,
    /// As the record came in.
    pub payload: &'a [u8],
    /// How its lookup ended.
    pub outcome: Outcome,
    /// Lookups made for this record; 0 where none was needed.
    pub attempts: u32,
    found: &'a ByteStrings,
    rows: Range<usize>,
}

impl<'a> JoinedRow<'a> {
    /// What was found; for failed and timed out one row, the message.
    #[inline]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let found = self.found;
        self.rows.clone().map(|row| found.slice(row))
    }
}

/// An [`OutputBatch`] that grows. Its fields are the contract's columns.
#[derive(Debug, Clone, Default)]
pub struct OutputBatchBuilder {
    /// As in the contract.
    pub kinds: Vec<u8>,
    /// As in the contract.
    pub event_times: Vec<i64>,
    /// As in the contract.
    pub keys: ByteStringsBuilder,
    /// As in the contract.
    pub keyless: Vec<u32>,
    /// As in the contract.
    pub payloads: ByteStringsBuilder,
    /// As in the contract.
    pub attempts: Vec<u32>,
    /// As in the contract.
    pub row_counts: Vec<u32>,
    /// As in the contract.
    pub rows: ByteStringsBuilder,
}

impl OutputBatchBuilder {
    /// Appends one element; a dropped record leaves no trace.
    pub fn push(&mut self, element: &Element) {
        match element {
            Element::Dropped => {}
            Element::Watermark(time) => self.push_barrier(WATERMARK, *time),
            Element::Idle => self.push_barrier(IDLE, EventTime::NONE),
            Element::Active => self.push_barrier(ACTIVE, EventTime::NONE),
            Element::Joined(JoinedRecord { record, outcome, rows, attempts }) => {
                let row_count = rows.as_slice().len() as u32;
                self.push_joined(1, *outcome, record.key.is_some(), *attempts, row_count);
                self.event_times.push(record.event_time.0);
                self.keys.push(record.key.as_deref().unwrap_or_default());
                self.payloads.push(&record.payload);
                rows.as_slice().iter().for_each(|row: &Bytes| self.rows.push(row));
            }
        }
    }

    /// Appends joined records but for their event times, their keys, their payloads and their rows.
    pub(crate) fn push_joined(&mut self, count: usize, outcome: Outcome, has_key: bool, attempts: u32, row_count: u32) {
        let before = self.kinds.len();
        let outputs = before + count;
        if !has_key {
            self.keyless.extend(before as u32..outputs as u32);
        }
        self.kinds.resize(outputs, kind_of(outcome));
        self.attempts.resize(outputs, attempts);
        self.row_counts.resize(outputs, row_count);
    }

    /// Appends a barrier; what came before it has its key and payload.
    pub(crate) fn push_element_barrier(&mut self, kind: BarrierKind) {
        match kind {
            BarrierKind::Watermark(time) => self.push_barrier(WATERMARK, time),
            BarrierKind::Idle => self.push_barrier(IDLE, EventTime::NONE),
            BarrierKind::Active => self.push_barrier(ACTIVE, EventTime::NONE),
        }
    }

    /// Makes place for so many elements more, but for what may come with a whole batch.
    pub(crate) fn reserve(&mut self, elements: usize) {
        self.kinds.reserve(elements);
        self.attempts.reserve(elements);
        self.row_counts.reserve(elements);
    }

    /// How many elements there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The batch as it is.
    #[must_use]
    pub fn build(self) -> OutputBatch {
        OutputBatch {
            kinds: self.kinds,
            event_times: self.event_times,
            keys: self.keys.build(),
            keyless: self.keyless,
            payloads: self.payloads.build(),
            attempts: self.attempts,
            row_counts: self.row_counts,
            rows: self.rows.build(),
        }
    }

    /// The bytes of all keys, payloads and rows.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.keys.byte_len() + self.payloads.byte_len() + self.rows.byte_len()
    }

    fn push_barrier(&mut self, kind: u8, time: EventTime) {
        self.kinds.push(kind);
        self.event_times.push(time.0);
        self.keys.push(&[]);
        self.payloads.push(&[]);
        self.attempts.push(0);
        self.row_counts.push(0);
    }
}
