//! The thread that writes: from joined records to bytes.

use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::{
    Element, Outcome,
    columns::OutputBatch,
    join::Shape,
    sink::{Sink, SinkError},
};

/// Batches that wait to be written at most.
const BATCHES: usize = 2;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WriteCounts {
    pub(super) records: u64,
    /// Of these, the ones whose lookup failed or timed out.
    pub(super) failed: u64,
}

/// The thread, and the way for its batches.
pub(super) struct Writer {
    pub(super) batches: mpsc::Sender<OutputBatch>,
    pub(super) thread: JoinHandle<Result<WriteCounts, SinkError>>,
}

/// Starts the thread. It ends when the sender is dropped, or at the first error.
pub(super) fn start(shape: Shape, sink: Box<dyn Sink>) -> std::io::Result<Writer> {
    let (batches, receiver) = mpsc::channel(BATCHES);
    let thread =
        std::thread::Builder::new().name("lookaside-writer".into()).spawn(move || write(&shape, sink, receiver))?;
    Ok(Writer { batches, thread })
}

fn write(
    shape: &Shape,
    mut sink: Box<dyn Sink>,
    mut batches: mpsc::Receiver<OutputBatch>,
) -> Result<WriteCounts, SinkError> {
    let mut counts = WriteCounts::default();
    let mut line = Vec::new();
    while let Some(batch) = batches.blocking_recv() {
        for element in batch.iter() {
            // Watermarks have no place in a file.
            let Element::Joined(joined) = element else { continue };
            counts.records += 1;
            counts.failed += u64::from(matches!(joined.outcome, Outcome::Failed | Outcome::TimedOut));
            line.clear();
            let does_not_fit = |reason: String| SinkError::DoesNotFit { record: counts.records, reason };
            shape.write(&joined, &mut line).map_err(|bad| does_not_fit(bad.to_string()))?;
            sink.write(std::str::from_utf8(&line).map_err(|error| does_not_fit(error.to_string()))?)?;
        }
        // Whoever reads the output sees each record as soon as no other follows at once.
        if batches.is_empty() {
            sink.flush()?;
        }
    }
    sink.finish()?;
    Ok(counts)
}
