//! The thread that writes: from joined records to bytes.

use std::thread::JoinHandle;

use futures::FutureExt;
use tokio::runtime::Handle;

use crate::{
    DriverError, Outcome,
    columns::OutputBatch,
    driver::Enriched,
    join::Shape,
    sink::{Sink, SinkError},
};

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WriteCounts {
    pub(super) records: u64,
    /// Of these, the ones whose lookup failed or timed out.
    pub(super) failed: u64,
}

/// Gives the next batch; none at the end. What is written so far is flushed where it has to be waited for.
type Next<'a> = dyn FnMut(&mut dyn Sink) -> Result<Option<OutputBatch>, SinkError> + 'a;

/// How it ended.
pub(super) struct Written {
    pub(super) counts: Result<WriteCounts, SinkError>,
    /// How the run ended whose output it is.
    pub(super) run: Result<(), DriverError>,
}

/// Starts the thread. It ends with `joined`, or at the first error.
pub(super) fn start(
    shape: Shape,
    mut sink: Box<dyn Sink>,
    mut joined: Enriched,
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
        let counts = write(&shape, sink.as_mut(), &mut next);
        Written { counts, run }
    })
}

fn write(shape: &Shape, sink: &mut dyn Sink, next: &mut Next<'_>) -> Result<WriteCounts, SinkError> {
    let mut counts = WriteCounts::default();
    let mut line = Vec::new();
    while let Some(batch) = next(sink)? {
        // Watermarks have no place in a file.
        for joined in batch.joined() {
            counts.records += 1;
            counts.failed += u64::from(matches!(joined.outcome, Outcome::Failed | Outcome::TimedOut));
            line.clear();
            let does_not_fit = |reason: String| SinkError::DoesNotFit { record: counts.records, reason };
            shape.write(&joined, &mut line).map_err(|bad| does_not_fit(bad.to_string()))?;
            sink.write(std::str::from_utf8(&line).map_err(|error| does_not_fit(error.to_string()))?)?;
        }
    }
    sink.finish()?;
    Ok(counts)
}
