//! The thread that reads: from bytes to records with keys, in chunks.

use std::{
    io::BufRead,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use futures::Stream;
use lookaside_core::{EventTime, columns::RecordBatchBuilder};
use tokio::sync::{mpsc, watch};

use super::{arguments::OnBadRecord, dialect::DialectArguments, lines::Lines, stopping::Stop};
use crate::{
    Input, LookupProvider,
    join::{BadField, ReadRecord, RecordReader},
    lookup::table::columns_there,
    source::{self, Format, Source, SourceError, SourceRecord},
};

/// Records in a chunk at most.
const CHUNK: usize = 1_024;
/// Chunks that wait to be taken at most.
const CHUNKS: usize = 4;

/// How to read.
pub(super) struct Reading {
    /// None where the first bytes are to tell.
    pub(super) format: Option<Format>,
    /// What it is where they do not.
    pub(super) else_format: Option<Format>,
    /// How values are parted, as far as it was said.
    pub(super) dialect: DialectArguments,
    pub(super) reader: RecordReader,
    pub(super) watermarks: Option<Watermarks>,
    pub(super) on_bad_record: OnBadRecord,
    pub(super) limit: Option<u64>,
    /// Who is to know that keys have no types.
    pub(super) provider: Arc<dyn LookupProvider>,
}

/// When watermarks follow.
pub(super) struct Watermarks {
    /// Milliseconds that they stay behind the latest event time.
    pub(super) delay: i64,
    /// Records between two of them.
    pub(super) every: u64,
}

/// What was read so far, for whoever watches.
#[derive(Debug)]
pub(super) struct ReadCounts {
    pub(super) records: AtomicU64,
    pub(super) skipped: AtomicU64,
    /// Records that have no field of the key's name.
    pub(super) without_key: AtomicU64,
    /// Whether reading ended with an error.
    pub(super) failed: AtomicBool,
    /// The fields of all records, where the input says so before the first.
    pub(super) columns: OnceLock<Vec<String>>,
    pub(super) lines: Lines,
}

impl ReadCounts {
    pub(super) fn new(lines: Lines) -> Self {
        Self {
            records: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            without_key: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            columns: OnceLock::new(),
            lines,
        }
    }
}

/// Why reading ended before the input did.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The input cannot be read, or is not what it should be.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Nothing says how the input is written.
    #[error("nothing says how it is written")]
    UnknownFormat,
    /// The input has not the fields that it should have, or has some that it should not.
    #[error("{0}")]
    Fields(String),
    /// What was said of the input does not fit its format.
    #[error("{0}")]
    Dialect(String),
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
    /// An outbox, and the stream that its chunks come out of; once `closed` is true that ends with what is in it.
    pub(super) fn new(closed: watch::Receiver<bool>) -> (Self, impl Stream<Item = Vec<Input>> + Send + 'static) {
        let (chunks, receiver) = mpsc::channel::<Vec<Input>>(CHUNKS);
        let stream = futures::stream::unfold((receiver, closed), |(mut receiver, mut closed)| async move {
            let chunk = tokio::select! {
                biased;
                chunk = receiver.recv() => Some(chunk),
                () = is_closed(&mut closed) => None,
            };
            let chunk = match chunk {
                Some(chunk) => chunk,
                None => {
                    receiver.close();
                    receiver.recv().await
                }
            };
            chunk.map(|chunk| (chunk, (receiver, closed)))
        });
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

/// Waits until it is true.
async fn is_closed(closed: &mut watch::Receiver<bool>) {
    if closed.wait_for(|closed| *closed).await.is_err() {
        std::future::pending().await
    }
}

/// Starts the thread. It ends with the input, at the first error, when it is to stop, or when nobody takes more.
pub(super) fn start(
    reading: Reading,
    input: Box<dyn BufRead + Send>,
    outbox: Outbox,
    counts: Arc<ReadCounts>,
    stop: Stop,
) -> std::io::Result<JoinHandle<Result<(), ReadError>>> {
    std::thread::Builder::new().name("lookaside-reader".into()).spawn(move || {
        let ended = open(&reading, input, &counts)
            .and_then(|(reader, source)| read(&reading, &reader, source, &outbox, &counts, &stop));
        counts.failed.store(ended.is_err(), Ordering::SeqCst);
        // What came before the end, or before the error, is still joined.
        outbox.flush();
        stop.reader_ended();
        ended
    })
}

/// The source, and how its records are read, once it is known how it is written.
fn open(
    reading: &Reading,
    mut input: Box<dyn BufRead + Send>,
    counts: &ReadCounts,
) -> Result<(RecordReader, Box<dyn Source>), ReadError> {
    let format = match reading.format {
        Some(format) => format,
        None => {
            let guessed = source::guess(&mut input).map_err(SourceError::Io)?;
            guessed.or(reading.else_format).ok_or(ReadError::UnknownFormat)?
        }
    };
    let dialect = reading.dialect.of(format.dialect()).map_err(ReadError::Dialect)?;
    let reader = RecordReader { empty_is_null: format.is_untyped(), ..reading.reader.clone() };
    if format.is_untyped() {
        reading.provider.take_untyped_keys();
    }
    let mut source = format.source(input, dialect);
    if let Some(columns) = source.columns()? {
        check_columns(&reader, columns).map_err(ReadError::Fields)?;
        let _ = counts.columns.set(columns.to_vec());
    }
    Ok((reader, source))
}

/// Whether records with these columns have what is asked for, and not what is to be set.
fn check_columns(reader: &RecordReader, columns: &[String]) -> Result<(), String> {
    let mut paths = reader.key.iter().chain(&reader.order_key).chain(reader.event_time.iter().map(|(path, _)| path));
    // Without a header and without records there is nothing to be missed.
    if let Some(path) = paths.find(|path| !columns.is_empty() && !path.is_column_of(columns)) {
        return Err(format!("no column is called {path}; {}", columns_there(path.last_name(), columns)));
    }
    let mut set = reader.set.iter().filter_map(|names| names.first());
    match set.find(|&name| !reader.overwrites && columns.contains(name)) {
        Some(name) => Err(format!(
            "the column {name} is one that is to be set; name another with --as or --merge, or say --overwrite"
        )),
        None => Ok(()),
    }
}

fn read(
    reading: &Reading,
    reader: &RecordReader,
    mut source: Box<dyn Source>,
    outbox: &Outbox,
    counts: &ReadCounts,
    stop: &Stop,
) -> Result<(), ReadError> {
    let mut latest = EventTime::NONE;
    let mut sent = EventTime::NONE;
    let mut records = 0_u64;
    while reading.limit.is_none_or(|limit| records < limit) && stop.why().is_none() {
        let record = match source.next() {
            Ok(None) => break,
            Ok(Some(SourceRecord { text, line })) => outbox
                .put_record(|records| {
                    let read = reader.read(text, records)?;
                    counts.lines.add(read.key.as_deref(), line);
                    Ok::<_, BadField>(read)
                })
                .map_err(|bad| SourceError::BadRecord { line, reason: bad.to_string() }),
            Err(error) => Err(error),
        };
        records += 1;
        counts.records.store(records, Ordering::Relaxed);
        let (ReadRecord { event_time, has_key_field, .. }, is_taken) = match record {
            Ok(record) => record,
            Err(SourceError::BadRecord { line, reason }) if reading.on_bad_record == OnBadRecord::Skip => {
                tracing::info!("skipped line {line}: {reason}");
                counts.skipped.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if !has_key_field {
            counts.without_key.fetch_add(1, Ordering::Relaxed);
        }
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
    // A stream that is left early has no end of event time.
    if reading.watermarks.is_some() && stop.why().is_none() {
        outbox.put(Input::Watermark(EventTime(i64::MAX)));
    }
    Ok(())
}
