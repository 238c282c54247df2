//! The thread that reads: from bytes to records with keys, in chunks.

use std::{
    io::BufRead,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use futures::Stream;
use lookaside_core::EventTime;
use tokio::sync::mpsc;

use super::arguments::OnBadRecord;
use crate::{
    Input,
    join::RecordReader,
    source::{Format, Source, SourceError},
};

/// Records in a chunk at most.
const CHUNK: usize = 1_024;
/// Chunks that wait to be taken at most.
const CHUNKS: usize = 4;

/// How to read.
pub(super) struct Reading {
    pub(super) format: Format,
    pub(super) reader: RecordReader,
    pub(super) watermarks: Option<Watermarks>,
    pub(super) on_bad_record: OnBadRecord,
    pub(super) limit: Option<u64>,
}

/// When watermarks follow.
pub(super) struct Watermarks {
    /// Milliseconds that they stay behind the latest event time.
    pub(super) delay: i64,
    /// Records between two of them.
    pub(super) every: u64,
}

/// What was read so far, for whoever watches.
#[derive(Debug, Default)]
pub(super) struct ReadCounts {
    pub(super) records: AtomicU64,
    pub(super) skipped: AtomicU64,
}

/// Records on their way to the driver: those read since the last chunk.
#[derive(Clone)]
pub(super) struct Outbox {
    pending: Arc<Mutex<Vec<Input>>>,
    chunks: mpsc::Sender<Vec<Input>>,
}

impl Outbox {
    /// An outbox, and the stream that its chunks come out of.
    pub(super) fn new() -> (Self, impl Stream<Item = Vec<Input>> + Send + 'static) {
        let (chunks, mut receiver) = mpsc::channel(CHUNKS);
        let stream = futures::stream::poll_fn(move |context| receiver.poll_recv(context));
        (Self { pending: Arc::default(), chunks }, stream)
    }

    /// Passes on what waits before a read that may block.
    pub(super) fn flush_before_read(&self) {
        // Where nobody takes it any more, the next record tells the reader.
        self.flush();
    }

    /// Passes on what waits; says whether anybody still takes it.
    fn flush(&self) -> bool {
        let chunk = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        chunk.is_empty() && !self.chunks.is_closed() || self.chunks.blocking_send(chunk).is_ok()
    }

    fn put(&self, input: Input) -> bool {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push(input);
        let full = pending.len() >= CHUNK;
        drop(pending);
        !full || self.flush()
    }
}

/// Starts the thread. It ends with the input, at the first error, or when nobody takes more.
pub(super) fn start(
    reading: Reading,
    input: Box<dyn BufRead + Send>,
    outbox: Outbox,
    counts: Arc<ReadCounts>,
) -> std::io::Result<JoinHandle<Result<(), SourceError>>> {
    std::thread::Builder::new().name("lookaside-reader".into()).spawn(move || {
        let source = reading.format.source(input);
        let ended = read(reading, source, &outbox, &counts);
        // What came before the end, or before the error, is still joined.
        outbox.flush();
        ended
    })
}

fn read(
    reading: Reading,
    mut source: Box<dyn Source>,
    outbox: &Outbox,
    counts: &ReadCounts,
) -> Result<(), SourceError> {
    let mut latest = EventTime::NONE;
    let mut sent = EventTime::NONE;
    let mut records = 0_u64;
    while reading.limit.is_none_or(|limit| records < limit) {
        let record = match source.next() {
            Ok(None) => break,
            Ok(Some(text)) => (reading.reader.read(text.text))
                .map_err(|bad| SourceError::BadRecord { line: text.line, reason: bad.to_string() }),
            Err(error) => Err(error),
        };
        records += 1;
        counts.records.store(records, Ordering::Relaxed);
        let record = match record {
            Ok(record) => record,
            Err(SourceError::BadRecord { line, reason }) if reading.on_bad_record == OnBadRecord::Skip => {
                tracing::info!("skipped line {line}: {reason}");
                counts.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Err(error) => return Err(error),
        };
        latest = latest.max(record.event_time);
        if !outbox.put(Input::Record(record)) {
            return Ok(());
        }
        if let Some(watermarks) = &reading.watermarks
            && records.is_multiple_of(watermarks.every)
        {
            // Records of the latest time itself may still come.
            let watermark = EventTime(latest.0.saturating_sub(watermarks.delay).saturating_sub(1));
            if watermark > sent && latest != EventTime::NONE {
                sent = watermark;
                outbox.put(Input::Watermark(watermark));
            }
        }
    }
    if reading.watermarks.is_some() {
        outbox.put(Input::Watermark(EventTime(i64::MAX)));
    }
    Ok(())
}
