//! The records: a number, a key of 12 digits, and 100 bytes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use lookaside::columns::RecordBatchBuilder;

use super::{Arguments, Workload};

/// Every so many records one is timed; it shares no factor with 100.
pub(super) const SAMPLE: u64 = 61;
/// Keys; a record's is its number's rest.
const POOL: u64 = 1 << 16;
/// What each lookup finds.
pub(super) const FOUND: [u8; 100] = [b'f'; 100];

/// Keys that a store has, and how far one is from the next that is asked for.
const STORED: u64 = 1_000_000;
const STRIDE: u64 = 7_919;

/// When the sampled records were made, by their place among the sampled: nanoseconds since the start.
#[derive(Clone)]
pub(super) struct Made {
    start: Instant,
    times: Arc<[AtomicU64]>,
}

impl Made {
    fn note(&self, number: u64) {
        self.times[(number / SAMPLE) as usize].store(self.start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Nanoseconds since that sampled record was made.
    pub(super) fn since(&self, number: u64) -> u64 {
        let made = self.times[(number / SAMPLE) as usize].load(Ordering::Relaxed);
        self.start.elapsed().as_nanos() as u64 - made
    }
}

/// The number that a record's payload begins with.
pub(super) fn number_in(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Makes records, each a fresh copy in a batch. The event time is the record's number.
pub(super) struct Source {
    keys: Vec<Vec<u8>>,
    /// What each record carries, but for its number in the first eight bytes.
    value: Vec<u8>,
    stride: u64,
    records: u64,
    watermark_every: u64,
    next: u64,
    watermark_due: bool,
    pub(super) made: Made,
}

/// What comes next.
pub(super) enum Next {
    Records(RecordBatchBuilder),
    Watermark(i64),
    End,
}

impl Source {
    /// With the keys of a store in the workload that asks one, so that all of them are asked for in turn.
    pub(super) fn new(arguments: &Arguments, records: u64) -> Self {
        let is_store = arguments.workload == Workload::W4;
        let (count, stride) = if is_store { (STORED, STRIDE) } else { (POOL, 1) };
        // Providers of stores take keys with types.
        let key =
            |number: u64| if is_store { format!("[\"{number:012}\"]") } else { format!("{number:012}") }.into_bytes();
        let times = (0..=records / SAMPLE).map(|_| AtomicU64::new(0)).collect();
        Self {
            keys: (0..count).map(key).collect(),
            value: vec![b'v'; arguments.payload_bytes as usize],
            stride,
            records,
            watermark_every: arguments.watermark_every,
            next: 0,
            watermark_due: false,
            made: Made { start: Instant::now(), times },
        }
    }

    /// At most `room` records in a row, or the watermark that follows them; `batch` is empty.
    pub(super) fn next(&mut self, room: u32, mut batch: RecordBatchBuilder) -> Next {
        if self.watermark_due {
            self.watermark_due = false;
            return Next::Watermark(self.next as i64 - 1);
        }
        if self.next == self.records {
            return Next::End;
        }
        let until_watermark = match self.watermark_every {
            0 => u64::MAX,
            every => every - self.next % every,
        };
        let count = until_watermark.min(u64::from(room)).min(self.records - self.next);
        batch.reserve(count as usize, count as usize * self.keys[0].len(), count as usize * self.value.len());
        for number in self.next..self.next + count {
            if number.is_multiple_of(SAMPLE) {
                self.made.note(number);
            }
            batch.event_times.push(number as i64);
            batch.keys.push(&self.keys[(number * self.stride % self.keys.len() as u64) as usize]);
            self.value[..8].copy_from_slice(&number.to_le_bytes());
            batch.payloads.push(&self.value);
        }
        self.next += count;
        self.watermark_due = count == until_watermark;
        Next::Records(batch)
    }
}
