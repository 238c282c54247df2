//! Requests on their way to the provider.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use tokio::task::JoinSet;

use super::Clock;
use crate::{LookupBatch, LookupProvider, Mailbox, columns::RequestBatch, pause::timeout_at};

/// Starts lookups as tasks, and ends them when it is dropped.
pub(super) struct Dispatch {
    provider: Arc<dyn LookupProvider>,
    clock: Clock,
    running: JoinSet<()>,
}

impl Dispatch {
    pub(super) fn new(provider: Arc<dyn LookupProvider>, clock: Clock) -> Self {
        Self { provider, clock, running: JoinSet::new() }
    }

    /// Has the provider answer `requests` into `mailbox`: here where it can at once, else in a task.
    pub(super) fn start(&mut self, requests: Vec<RequestBatch>, mailbox: &Mailbox) {
        while self.running.try_join_next().is_some() {}
        if requests.is_empty() {
            return;
        }
        let batch = LookupBatch::new(requests, self.clock, mailbox);
        let last_deadline = batch.last_deadline();
        let provider = Arc::clone(&self.provider);
        let at_once = provider.answers_at_once();
        // The provider is asked inside the task: where it blocks, the driver does not.
        let mut lookup = async move { provider.lookup(batch).await }.boxed();
        // Where it panics, the lookups that it leaves answer by themselves.
        if at_once && AssertUnwindSafe(&mut lookup).catch_unwind().now_or_never().is_some() {
            return;
        }
        self.running.spawn(async move {
            match last_deadline {
                // What is not answered by then is of no use; dropping it ends the work for it.
                Some(deadline) => drop(timeout_at(deadline, lookup).await),
                None => lookup.await,
            }
        });
    }
}
