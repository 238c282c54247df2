//! What a running driver tells about its operator.

use tokio::sync::{mpsc, oneshot, watch};

use crate::{InFlight, OperatorError, Stats};

/// What a handle asks the mailbox loop, which answers between two turns.
#[derive(Debug)]
pub(super) enum Question {
    Inspect(oneshot::Sender<Vec<InFlight>>),
    Snapshot(oneshot::Sender<Result<DriverSnapshot, OperatorError>>),
}

/// A look at a running operator.
#[derive(Debug, Clone)]
pub struct DriverHandle {
    questions: mpsc::Sender<Question>,
    stats: watch::Receiver<Stats>,
}

impl DriverHandle {
    pub(super) fn new(questions: mpsc::Sender<Question>, stats: watch::Receiver<Stats>) -> Self {
        Self { questions, stats }
    }

    /// Returns the oldest elements in flight, oldest first; none once the run has ended.
    pub async fn inspect(&self) -> Vec<InFlight> {
        self.ask(Question::Inspect).await.unwrap_or_default()
    }

    /// Takes a snapshot of the operator, also while it is full or nobody reads its outputs; none once the run has ended.
    ///
    /// [`DriverSnapshot`] tells which input it includes and which outputs it leaves out.
    /// [`Driver::restore`](super::Driver::restore) goes on from it.
    ///
    /// ```
    /// # use lookaside::{Driver, Options, OperatorComponent, Record, Rows, lookup};
    /// # use std::sync::Arc;
    /// # use futures::{StreamExt, stream};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), lookaside::DriverError> {
    /// // A lookup that never ends keeps both records in flight.
    /// let never = lookup::from_fn(async |_| std::future::pending().await);
    /// let records = ["a", "b"].map(|key| Record::new(key, key));
    /// let driver = Driver::new(&Options::default(), never)?;
    /// let joined = driver.enrich(stream::iter(records).chain(stream::pending()));
    /// let handle = joined.handle();
    /// let snapshot = loop {
    ///     let snapshot = handle.snapshot().await?.expect("it runs");
    ///     if snapshot.accepted == 2 {
    ///         break snapshot;
    ///     }
    ///     tokio::task::yield_now().await;
    /// };
    /// assert_eq!(snapshot.emitted, 0);
    /// drop(joined);
    ///
    /// // Another run goes on: the source is read from its third element.
    /// let found = Arc::new(lookup::from_fn(async |key| Ok(Rows::One(key))));
    /// let component = OperatorComponent::bundled()?;
    /// let driver = Driver::restore(&component, &Options::default(), &snapshot.state, found)?;
    /// let joined = driver.enrich(stream::empty::<Record>()).into_stream();
    /// assert_eq!(joined.count().await, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`OperatorError::OutOfMemory`] if the operator has no memory for it, as while it holds half a gigabyte. The run goes
    /// on.
    pub async fn snapshot(&self) -> Result<Option<DriverSnapshot>, OperatorError> {
        self.ask(Question::Snapshot).await.transpose()
    }

    /// The counters as of a moment ago, and the last ones once the run has ended.
    #[must_use]
    pub fn stats(&self) -> Stats {
        *self.stats.borrow()
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.questions.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// A cut through a run: all that this run has accepted and not emitted, and where its input and its outputs stood.
///
/// Counts are of elements since this run began: records, watermarks and statuses. To go on, restore `state`, and read
/// the input from the element behind the first `accepted`: what was read from the stream and not accepted yet is not in
/// the state. The outputs behind the first `emitted` are made again; some of those first ones may still be on their way
/// to whoever reads them, so that a checkpoint is complete once its reader has got `emitted` elements.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverSnapshot {
    /// The operator's snapshot, as the contract has it.
    pub state: Vec<u8>,
    /// How many input elements the operator had accepted.
    pub accepted: u64,
    /// How many output elements had left the operator.
    pub emitted: u64,
}
