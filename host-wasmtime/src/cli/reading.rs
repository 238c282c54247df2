//! The thread that reads: from bytes to records with keys, in chunks.

use std::{
    io::BufRead,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use futures::Stream;
use lookaside_core::{EventTime, columns::RecordBatchBuilder};
use tokio::sync::mpsc;

use super::arguments::OnBadRecord;
use crate::{
    Input,
    join::RecordReader,
    source::{Format, Source, SourceError, SourceRecord},
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
    pending: Arc<Mutex<Pending>>,
    chunks: mpsc::Sender<Vec<Input>>,
}

#[derive(Default)]
struct Pending {
    inputs: Vec<Input>,
    /// Elements in it, each record of a batch counted.
    elements: usize,
}

impl Pending {
    /// The batch that the next record goes into.
    fn records(&mut self) -> &mut RecordBatchBuilder {
        if !matches!(self.inputs.last(), Some(Input::Records(_))) {
            self.inputs.push(Input::Records(RecordBatchBuilder::default()));
        }
        match self.inputs.last_mut() {
            Some(Input::Records(records)) => records,
            _ => unreachable!("it was put there"),
        }
    }
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
        let chunk = std::mem::take(&mut *self.lock()).inputs;
        chunk.is_empty() && !self.chunks.is_closed() || self.chunks.blocking_send(chunk).is_ok()
    }

    fn put(&self, input: Input) -> bool {
        let mut pending = self.lock();
        pending.inputs.push(input);
        pending.elements += 1;
        let full = pending.elements >= CHUNK;
        drop(pending);
        !full || self.flush()
    }

    /// Has `append` append a record, where it can; says whether anybody still takes it.
    fn put_record<T, E>(&self, append: impl FnOnce(&mut RecordBatchBuilder) -> Result<T, E>) -> Result<(T, bool), E> {
        let mut pending = self.lock();
        let appended = append(pending.records())?;
        pending.elements += 1;
        let full = pending.elements >= CHUNK;
        drop(pending);
        Ok((appended, !full || self.flush()))
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
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
            Ok(Some(SourceRecord { text, line })) => outbox
                .put_record(|records| reading.reader.read(text, records))
                .map_err(|bad| SourceError::BadRecord { line, reason: bad.to_string() }),
            Err(error) => Err(error),
        };
        records += 1;
        counts.records.store(records, Ordering::Relaxed);
        let (event_time, is_taken) = match record {
            Ok(record) => record,
            Err(SourceError::BadRecord { line, reason }) if reading.on_bad_record == OnBadRecord::Skip => {
                tracing::info!("skipped line {line}: {reason}");
                counts.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Err(error) => return Err(error),
        };
        if !is_taken {
            return Ok(());
        }
        latest = latest.max(event_time);
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
