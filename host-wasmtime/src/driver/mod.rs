//! The mailbox loop: feeds one operator, has its lookups made, and sends its output on.
//!
//! The driver is the only caller of the instance. It decides nothing: it moves records in as far as
//! there is room, requests to the provider, answers back, and outputs to whoever reads them, and
//! sleeps until an answer, input, room downstream or the operator's `wake-at`.

mod clock;
mod dispatch;
mod handle;
mod inbox;
mod mailbox_loop;

use std::sync::Arc;

use futures::{Stream, StreamExt, stream::BoxStream};
use tokio::sync::{mpsc, watch};

pub(crate) use clock::Clock;
pub use handle::{DriverHandle, DriverSnapshot};

use crate::{
    Element, EventTime, LookupProvider, Operator, OperatorComponent, OperatorError, Options, Record, Stats,
    columns::{OutputBatch, RecordBatchBuilder},
    component::ComponentError,
};
use dispatch::Dispatch;
use mailbox_loop::MailboxLoop;

/// Records that are taken from a stream at a time, where so many are ready.
const READY_CHUNK: usize = 1_024;

/// What a driver takes in.
#[derive(Debug, Clone)]
pub enum Input {
    /// A record to join.
    Record(Record),
    /// Records to join, as columns: the quick way where they come so.
    Records(RecordBatchBuilder),
    /// Records with event times at or before this one have all been given.
    Watermark(EventTime),
    /// The input is idle from here on, or active again.
    Idle(bool),
}

impl From<Record> for Input {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}

/// A run of a driver ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The component cannot be used.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The operator failed.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The runtime that the driver ran on has ended before the run did.
    #[error("the runtime that the driver ran on has ended")]
    Stopped,
}

/// One operator with its provider, ready to run.
///
/// Needs a Tokio runtime with time enabled: lookups are tasks on it.
pub struct Driver {
    operator: Operator,
    dispatch: Dispatch,
    clock: Clock,
    capacity: u32,
}

impl Driver {
    /// A driver of the bundled component.
    ///
    /// # Errors
    ///
    /// [`DriverError`] where the component cannot run here or the options are refused.
    pub fn new(options: &Options, provider: impl LookupProvider) -> Result<Self, DriverError> {
        Self::with_component(&OperatorComponent::bundled()?, options, Arc::new(provider))
    }

    /// A driver of `component`.
    ///
    /// # Errors
    ///
    /// [`DriverError`] where the options are refused.
    pub fn with_component(
        component: &OperatorComponent,
        options: &Options,
        provider: Arc<dyn LookupProvider>,
    ) -> Result<Self, DriverError> {
        let clock = Clock::start();
        let operator = component.open(options, clock.now())?;
        operator.mailbox().budget().set_limit(options.max_bytes);
        Ok(Self { operator, dispatch: Dispatch::new(provider, clock), clock, capacity: options.capacity.get() })
    }

    /// A driver that goes on where `snapshot` left off. Records in it are looked up anew.
    ///
    /// # Errors
    ///
    /// [`DriverError`] where options or snapshot are refused.
    pub fn restore(
        component: &OperatorComponent,
        options: &Options,
        snapshot: &[u8],
        provider: Arc<dyn LookupProvider>,
    ) -> Result<Self, DriverError> {
        let clock = Clock::start();
        let operator = component.restore(options, snapshot, clock.now())?;
        operator.mailbox().budget().set_limit(options.max_bytes);
        Ok(Self { operator, dispatch: Dispatch::new(provider, clock), clock, capacity: options.capacity.get() })
    }

    /// Joins the input: runs the operator as a task until the input has ended and everything has
    /// left it.
    ///
    /// Lookups, timeouts and retries go on while nobody reads the output. The operator learns of the
    /// end of the input when the last record has left it, so that retries keep their delays to the
    /// end. Dropping the output ends the task and its lookups.
    pub fn enrich<I>(self, input: impl Stream<Item = I> + Send + 'static) -> Enriched
    where
        I: Into<Input> + 'static,
    {
        self.enrich_chunks(input.map(Into::into).ready_chunks(READY_CHUNK))
    }

    /// As [`Self::enrich`], for input that comes in chunks: the quicker way where it does.
    pub fn enrich_chunks(self, input: impl Stream<Item = Vec<Input>> + Send + 'static) -> Enriched {
        let (sender, outputs) = mpsc::channel(1);
        let (ask, questions) = mpsc::channel(1);
        let (stats_sender, stats) = watch::channel(Stats::default());
        let mailbox_loop = MailboxLoop::new(self, input.boxed(), sender, questions, stats_sender);
        let task = tokio::spawn(mailbox_loop.run());
        Enriched { outputs, task: Some(task), ready: Vec::new().into_iter(), handle: DriverHandle::new(ask, stats) }
    }
}

/// Joined records and watermarks, in the order in which the operator lets them go.
///
/// A stream of [`Element`]s; [`Self::next_batch`] gives many at once. An error ends it.
pub struct Enriched {
    outputs: mpsc::Receiver<OutputBatch>,
    task: Option<tokio::task::JoinHandle<Result<(), OperatorError>>>,
    ready: std::vec::IntoIter<Element>,
    handle: DriverHandle,
}

impl Enriched {
    /// The next elements; none at the end. Nothing is lost where the future is dropped before it ends.
    ///
    /// # Errors
    ///
    /// [`DriverError`] where the operator failed or the runtime has ended; nothing more comes then.
    ///
    /// # Panics
    ///
    /// Where the input stream panicked.
    pub async fn next_batch(&mut self) -> Result<Option<OutputBatch>, DriverError> {
        if let Some(outputs) = self.outputs.recv().await {
            return Ok(Some(outputs));
        }
        let Some(task) = &mut self.task else { return Ok(None) };
        let ended = task.await;
        self.task = None;
        match ended {
            Ok(ended) => Ok(ended.map(|()| None)?),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(DriverError::Stopped),
            },
        }
    }

    /// A way to look at the operator while it runs.
    #[must_use]
    pub fn handle(&self) -> DriverHandle {
        self.handle.clone()
    }

    /// The elements as a boxed stream.
    pub fn into_stream(self) -> BoxStream<'static, Result<Element, DriverError>> {
        futures::stream::unfold(self, |mut enriched| async move {
            loop {
                if let Some(element) = enriched.ready.next() {
                    return Some((Ok(element), enriched));
                }
                match enriched.next_batch().await {
                    Ok(Some(outputs)) => enriched.ready = outputs.iter().collect::<Vec<_>>().into_iter(),
                    Ok(None) => return None,
                    Err(error) => return Some((Err(error), enriched)),
                }
            }
        })
        .boxed()
    }
}

impl Drop for Enriched {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
