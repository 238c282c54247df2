//! Where answers wait until the operator takes them.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use lookaside_core::{Answer, columns::CompletionBatchBuilder};
use lookaside_feeder::NextTurn;
use tokio::sync::Notify;

use crate::budget::Budget;

/// Answers on their way from the provider to one operator. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Mailbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<VecDeque<Letter>>,
    /// Answers that were taken so far.
    taken: AtomicU64,
    arrived: Notify,
    budget: Budget,
    next_turn: NextTurn,
}

/// What was put in at once.
#[derive(Debug)]
enum Letter {
    Answer(Answer),
    Batch(CompletionBatchBuilder),
}

impl Mailbox {
    /// Puts answers in, and wakes whoever waits for one.
    pub fn put(&self, answers: impl IntoIterator<Item = Answer>) {
        let mut waiting = self.lock();
        let before = waiting.len();
        waiting.extend(answers.into_iter().map(Letter::Answer));
        let arrived = waiting.len() > before;
        drop(waiting);
        if arrived {
            self.shared.arrived.notify_one();
        }
    }

    /// As [`Self::put`], for answers that are columns already: the quick way where there are many.
    pub fn put_batch(&self, answers: CompletionBatchBuilder) {
        if !answers.is_empty() {
            self.lock().push_back(Letter::Batch(answers));
            self.shared.arrived.notify_one();
        }
    }

    /// How many bytes may be on their way to here.
    pub(crate) fn budget(&self) -> &Budget {
        &self.shared.budget
    }

    /// When the operator has to be called again.
    pub(crate) fn next_turn(&self) -> &NextTurn {
        &self.shared.next_turn
    }

    /// The bytes of the rows that wait.
    pub(crate) fn byte_len(&self) -> u64 {
        let length = |letter: &Letter| match letter {
            Letter::Answer(Answer { result: Ok(rows), .. }) => rows.as_slice().iter().map(|row| row.len() as u64).sum(),
            Letter::Answer(_) => 0,
            Letter::Batch(batch) => batch.rows.byte_len() as u64,
        };
        self.lock().iter().map(length).sum()
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

    /// How many answers were taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    /// Takes the oldest answers, at most `max`, and no more once they pass `max_bytes`.
    pub(crate) fn take(&self, max: usize, max_bytes: usize) -> CompletionBatchBuilder {
        let taken = self.take_some(max, max_bytes);
        self.shared.taken.fetch_add(taken.len() as u64, Ordering::Relaxed);
        taken
    }

    fn take_some(&self, max: usize, max_bytes: usize) -> CompletionBatchBuilder {
        let mut waiting = self.lock();
        // A batch that fits goes on as it is, and what comes behind it is appended.
        let mut taken = match waiting.pop_front() {
            Some(Letter::Batch(batch)) if batch.len() <= max && batch.rows.byte_len() <= max_bytes => batch,
            Some(other) => {
                waiting.push_front(other);
                CompletionBatchBuilder::default()
            }
            None => return CompletionBatchBuilder::default(),
        };
        while taken.len() < max && taken.rows.byte_len() < max_bytes {
            match waiting.pop_front() {
                None => break,
                Some(Letter::Answer(answer)) => taken.push(&answer),
                Some(Letter::Batch(batch))
                    if batch.len() <= max - taken.len() && batch.rows.byte_len() <= max_bytes =>
                {
                    taken.append(&batch);
                }
                Some(Letter::Batch(batch)) => {
                    let batch = batch.build();
                    let mut answers = batch.iter();
                    while taken.len() < max
                        && taken.rows.byte_len() < max_bytes
                        && let Some(answer) = answers.next()
                    {
                        taken.push(&answer);
                    }
                    let rest: Vec<Letter> = answers.map(Letter::Answer).collect();
                    rest.into_iter().rev().for_each(|letter| waiting.push_front(letter));
                }
            }
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Letter>> {
        // Whoever panicked left whole answers: each is put in and taken out in one step.
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use lookaside_core::{Instant, RequestId, Rows};

    use super::*;

    fn answer(id: u64) -> Answer {
        Answer { id: RequestId(id), attempt: 1, arrival: Instant(0), result: Ok(Rows::from("0123456789")) }
    }

    fn batch(ids: std::ops::Range<u64>) -> CompletionBatchBuilder {
        let mut batch = CompletionBatchBuilder::default();
        ids.for_each(|id| batch.push(&answer(id)));
        batch
    }

    fn taken(mailbox: &Mailbox, max: usize, max_bytes: usize) -> Vec<u64> {
        mailbox.take(max, max_bytes).build().iter().map(|answer| answer.id.0).collect()
    }

    #[test]
    fn answers_come_out_as_they_went_in_however_many_are_taken() {
        for max in 1..12 {
            let mailbox = Mailbox::default();
            mailbox.put_batch(batch(0..5));
            mailbox.put([answer(5), answer(6)]);
            mailbox.put_batch(batch(7..9));
            mailbox.put_batch(batch(9..9));
            mailbox.put_batch(batch(9..11));
            let mut all = Vec::new();
            while !mailbox.is_empty() {
                let some = taken(&mailbox, max, usize::MAX);
                assert!(!some.is_empty() && some.len() <= max);
                all.extend(some);
            }
            assert_eq!(all, (0..11).collect::<Vec<_>>(), "{max} at a time");
        }
    }

    #[test]
    fn a_batch_of_too_many_bytes_comes_in_parts() {
        let mailbox = Mailbox::default();
        mailbox.put_batch(batch(0..5));
        mailbox.put_batch(batch(5..10));
        // Each has ten bytes: it stops once it has thirty or more.
        assert_eq!(taken(&mailbox, 100, 30), [0, 1, 2]);
        assert_eq!(taken(&mailbox, 100, 30), [3, 4, 5]);
        assert_eq!(taken(&mailbox, 100, 1_000), [6, 7, 8, 9]);
        assert!(mailbox.is_empty());
    }
}
