//! The records in flight, as rows of the batches that they came in: nothing is copied a record.

use bytes::Bytes;

use crate::{
    EventTime, Record,
    columns::RecordBatch,
    shared::{Share, Shared},
};

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) batch: Share,
    pub(crate) row: u32,
}

/// What records came in.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// A record that came alone.
    One(Record),
    Batch(RecordBatch),
}

/// The batches of which rows are in flight.
pub(crate) type Batches = Shared<Source>;

impl Batches {
    #[inline]
    pub(crate) fn has_key(&self, held: Held) -> bool {
        match &self[held.batch] {
            Source::One(record) => record.key.is_some(),
            Source::Batch(batch) => batch.has_key(held.row as usize),
        }
    }

    /// What keeps its order in key-ordered mode, if anything does.
    pub(crate) fn order_key(&self, held: Held) -> Option<Bytes> {
        self.record(held).order_key().cloned()
    }

    #[inline]
    pub(crate) fn payload(&self, held: Held) -> &[u8] {
        match &self[held.batch] {
            Source::One(record) => &record.payload,
            Source::Batch(batch) => batch.payload(held.row as usize),
        }
    }

    #[inline]
    pub(crate) fn event_time(&self, held: Held) -> EventTime {
        match &self[held.batch] {
            Source::One(record) => record.event_time,
            Source::Batch(batch) => batch.event_time(held.row as usize),
        }
    }

    /// The record by itself; its bytes stay where they are.
    pub(crate) fn record(&self, held: Held) -> Record {
        match &self[held.batch] {
            Source::One(record) => record.clone(),
            Source::Batch(batch) => batch.record(held.row as usize),
        }
    }

    /// The bytes that it holds while it is in flight.
    #[inline]
    pub(crate) fn held_bytes(&self, held: Held) -> u64 {
        match &self[held.batch] {
            Source::One(record) => record.held_bytes(),
            Source::Batch(batch) => batch.held_bytes(held.row as usize),
        }
    }
}
