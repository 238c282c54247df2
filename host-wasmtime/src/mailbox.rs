//! Where answers wait until the operator takes them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lookaside_core::Answer;
use tokio::sync::Notify;

/// Answers on their way from the provider to one operator. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Mailbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    arrived: Notify,
}

impl Mailbox {
    /// Puts answers in, and wakes whoever waits for one.
    pub fn put(&self, answers: impl IntoIterator<Item = Answer>) {
        let mut waiting = self.lock();
        let before = waiting.len();
        waiting.extend(answers);
        let arrived = waiting.len() > before;
        drop(waiting);
        if arrived {
            self.shared.arrived.notify_one();
        }
    }

    /// Waits until an answer has arrived since the last wait.
    pub async fn arrival(&self) {
        self.shared.arrived.notified().await;
    }

    /// Whether no answer waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes the oldest answers, at most `max`, and no more once they pass `max_bytes`.
    pub(crate) fn take(&self, max: usize, max_bytes: usize) -> Vec<Answer> {
        let mut waiting = self.lock();
        let mut bytes = 0;
        let mut taken = Vec::with_capacity(max.min(waiting.len()));
        while taken.len() < max && bytes < max_bytes {
            let Some(answer) = waiting.pop_front() else { break };
            bytes += match &answer.result {
                Ok(rows) => rows.as_slice().iter().map(bytes::Bytes::len).sum(),
                Err(error) => error.message.len(),
            };
            taken.push(answer);
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Answer>> {
        // Whoever panicked left whole answers: each is put in and taken out in one step.
        self.shared.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
