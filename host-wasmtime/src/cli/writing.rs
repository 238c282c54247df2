//! The thread that writes: from joined records to bytes.

use std::{
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
};

use futures::FutureExt;
use tokio::runtime::Handle;

use super::reading::ReadCounts;
use crate::{
    DriverError,
    columns::OutputBatch,
    driver::Enriched,
    join::{Shape, all_fields},
    sink::{Sink, SinkError},
};

/// Gives the next batch; none at the end. What is written so far is flushed where it has to be waited for.
type Next<'a> = dyn FnMut(&mut dyn Sink) -> Result<Option<OutputBatch>, SinkError> + 'a;

/// How it ended.
pub(super) struct Written {
    /// Records that were written.
    pub(super) records: Result<u64, SinkError>,
    /// How the run ended whose output it is.
    pub(super) run: Result<(), DriverError>,
}

/// Starts the thread. It ends with `joined`, or at the first error.
pub(super) fn start(
    shape: Shape,
    mut sink: Box<dyn Sink>,
    mut joined: Enriched,
    read: Arc<ReadCounts>,
    runtime: Handle,
) -> std::io::Result<JoinHandle<Written>> {
    std::thread::Builder::new().name("lookaside-writer".into()).spawn(move || {
        let mut run = Ok(());
        let mut next = |sink: &mut dyn Sink| {
            let ready = match joined.next_batch().now_or_never() {
                Some(ready) => ready,
                // Whoever reads the output sees each record as soon as no other follows at once.
                None => {
                    sink.flush()?;
                    runtime.block_on(joined.next_batch())
                }
            };
            Ok(ready.unwrap_or_else(|error| {
                run = Err(error);
                None
            }))
        };
        let mut records =
            Writing { shape, read: &read, held: Vec::new(), held_bytes: 0, records: 0 }.write(sink.as_mut(), &mut next);
        // A run that failed before its first record leaves what was there before.
        let is_nothing = matches!(records, Ok(0)) && (run.is_err() || read.failed.load(Ordering::SeqCst));
        if records.is_ok()
            && !is_nothing
            && let Err(error) = sink.finish()
        {
            records = Err(error);
        }
        Written { records, run }
    })
}

/// Records that wait at most until one shows which columns there are, and their bytes.
const MOST_HELD: usize = 1_000;
const MOST_HELD_BYTES: usize = 1 << 20;

/// A run's output on its way.
struct Writing<'a> {
    shape: Shape,
    read: &'a ReadCounts,
    /// Lines that wait for the columns to be known.
    held: Vec<String>,
    held_bytes: usize,
    records: u64,
}

impl Writing<'_> {
    /// Writes all there is; says how many records.
    fn write(mut self, sink: &mut dyn Sink, next: &mut Next<'_>) -> Result<u64, SinkError> {
        let mut line = Vec::new();
        while let Some(batch) = next(sink)? {
            // Watermarks have no place in a file.
            for joined in batch.joined() {
                for number in 0..self.shape.lines(&joined) {
                    self.records += 1;
                    line.clear();
                    let does_not_fit = |reason: String| SinkError::DoesNotFit { record: self.records, reason };
                    self.shape.write(&joined, number, &mut line).map_err(|bad| does_not_fit(bad.to_string()))?;
                    let json = std::str::from_utf8(&line).map_err(|error| does_not_fit(error.to_string()))?;
                    if sink.has_columns() {
                        sink.write(json)?;
                    } else {
                        self.write_first(json, self.shape.shows_columns(&joined), sink)?;
                    }
                }
            }
        }
        if !sink.has_columns() {
            match self.held.is_empty() {
                true => self.known_columns().into_iter().for_each(|columns| sink.set_columns(columns)),
                false => self.write_held(sink)?,
            }
        }
        Ok(self.records)
    }

    /// The columns, where the input and the lookup tell them before the first record.
    fn known_columns(&self) -> Option<Vec<String>> {
        self.shape.header(self.read.columns.get()?)
    }

    /// Writes a line while the columns are not known, or has it wait.
    fn write_first(&mut self, json: &str, shows_columns: bool, sink: &mut dyn Sink) -> Result<(), SinkError> {
        if let Some(columns) = self.known_columns() {
            sink.set_columns(columns);
            return sink.write(json);
        }
        self.held.push(json.to_owned());
        self.held_bytes += json.len();
        if shows_columns || self.held.len() >= MOST_HELD || self.held_bytes >= MOST_HELD_BYTES {
            self.write_held(sink)?;
        }
        Ok(())
    }

    /// Writes the lines that wait; their fields are the columns.
    fn write_held(&mut self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        let mut columns: Vec<String> = Vec::new();
        for (line, number) in self.held.iter().zip(1..) {
            let fields = all_fields(line)
                .map_err(|error| SinkError::DoesNotFit { record: number, reason: error.to_string() })?;
            for (name, _) in fields {
                if !columns.iter().any(|column| *column == name) {
                    columns.push(name.into_owned());
                }
            }
        }
        // What only a later record has, such as why it failed, has its column from the start.
        sink.set_columns(self.shape.header(&columns).unwrap_or_else(|| self.shape.header_of_errors(columns)));
        self.held.drain(..).try_for_each(|line| sink.write(&line))
    }
}
