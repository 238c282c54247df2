//! The records in flight, as rows of the batches that they came in: nothing is copied a record.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::{
    EventTime, Instant, Record,
    columns::{ByteStringsBuilder, RecordBatch},
    shared::{Share, Shared},
};

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) batch: Share,
    pub(crate) row: u32,
}

impl Held {
    /// The record so many rows behind it.
    pub(crate) fn after(self, rows: u32) -> Self {
        Self { row: self.row + rows, ..self }
    }
}

/// What records came in.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) records: Records,
    pub(crate) accepted_at: AcceptedAt,
}

/// Records that are kept together.
#[derive(Debug, Clone)]
pub(crate) enum Records {
    /// One that came alone.
    One(Record),
    Batch(RecordBatch),
}

/// When records came.
#[derive(Debug, Clone)]
pub(crate) enum AcceptedAt {
    /// All at once.
    Once(Instant),
    /// Each by itself, those of several batches that were moved together.
    Each(Vec<Instant>),
}

/// The batches of which rows are in flight.
pub(crate) type Batches = Shared<Source>;

impl Batches {
    /// What keeps its order in key-ordered mode, if anything does.
    pub(crate) fn order_key(&self, held: Held) -> Option<Bytes> {
        match &self[held.batch].records {
            Records::One(record) => record.order_key().cloned(),
            Records::Batch(batch) => batch.order_key(held.row as usize),
        }
    }

    pub(crate) fn payload(&self, held: Held) -> &[u8] {
        match &self[held.batch].records {
            Records::One(record) => &record.payload,
            Records::Batch(batch) => batch.payload(held.row as usize),
        }
    }

    /// Writes the payloads of it and its neighbours, `count` of them.
    pub(crate) fn write_payloads(&self, held: Held, count: u32, payloads: &mut ByteStringsBuilder) {
        match &self[held.batch].records {
            Records::One(record) => payloads.push(&record.payload),
            Records::Batch(batch) => payloads.push_run(batch.payloads(), held.row as usize, count as usize),
        }
    }

    pub(crate) fn event_time(&self, held: Held) -> EventTime {
        match &self[held.batch].records {
            Records::One(record) => record.event_time,
            Records::Batch(batch) => batch.event_time(held.row as usize),
        }
    }

    /// When it was taken into flight.
    pub(crate) fn accepted_at(&self, held: Held) -> Instant {
        match &self[held.batch].accepted_at {
            AcceptedAt::Once(instant) => *instant,
            AcceptedAt::Each(instants) => instants[held.row as usize],
        }
    }

    /// The record by itself; its bytes stay where they are.
    pub(crate) fn record(&self, held: Held) -> Record {
        match &self[held.batch].records {
            Records::One(record) => record.clone(),
            Records::Batch(batch) => batch.record(held.row as usize),
        }
    }

    /// The bytes that it and its neighbours, `count` of them, hold while they are in flight; all have a key, or none has.
    pub(crate) fn held_bytes(&self, held: Held, count: u32, has_key: bool) -> u64 {
        match &self[held.batch].records {
            Records::One(record) => record.held_bytes(),
            Records::Batch(batch) => batch.held_bytes(held.row as usize, count as usize, has_key),
        }
    }
}
