//! The lookups of one batch, and their answers.

use std::{mem::take, ops::Range, sync::Arc};

use bytes::Bytes;
use lookaside_core::{
    Answer, FailureKind, LookupError, Request, RequestId, Rows,
    columns::{CompletionBatchBuilder, RequestBatch, RequestRow},
};
use tokio::time::Instant;

use crate::{Mailbox, budget::Budget, driver::Clock};

/// One lookup: its key, and the way for its answer.
#[derive(Debug)]
pub struct Lookup {
    requests: Arc<RequestBatch>,
    row: usize,
    clock: Clock,
    mailbox: Mailbox,
    answered: bool,
}

impl Lookup {
    /// What to look up. Its bytes are not copied.
    #[must_use]
    pub fn key(&self) -> Bytes {
        self.request().key
    }

    /// The record's payload, where [`Options::request_payload`](crate::Options::request_payload) asks for it.
    #[must_use]
    pub fn payload(&self) -> Option<Bytes> {
        self.request().payload
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.row().attempt
    }

    /// When an answer is of no use any more; none where it always is.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.clock.to_tokio(self.row().deadline)
    }

    /// Whose lookup this is; an operator never gives the same id twice.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.row().id
    }

    /// When an answer that is given now counts as having come.
    fn arrival(&self) -> lookaside_core::Instant {
        lookaside_core::Instant(self.mailbox.next_turn().arrival(self.clock.now().0))
    }

    /// Ends it with what was found; no row is a miss.
    pub fn answer(self, rows: Rows) {
        self.end(Ok(rows));
    }

    /// Ends it as failed.
    pub fn fail(self, error: LookupError) {
        self.end(Err(error));
    }

    /// Ends it.
    pub fn end(mut self, result: Result<Rows, LookupError>) {
        self.answered = true;
        self.mailbox.put([answer(self.row(), result, self.arrival())]);
    }

    fn request(&self) -> Request {
        self.requests.get(self.row)
    }

    fn row(&self) -> RequestRow<'_> {
        self.requests.row(self.row)
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        if !self.answered {
            self.mailbox.put([answer(self.row(), Err(unanswered()), self.arrival())]);
        }
    }
}

fn answer(asked: RequestRow<'_>, result: Result<Rows, LookupError>, arrival: lookaside_core::Instant) -> Answer {
    Answer { id: asked.id, attempt: asked.attempt, arrival, result }
}

fn unanswered() -> LookupError {
    LookupError::new(FailureKind::Malformed, "the provider ended without an answer")
}

/// Answers on their way into the mailbox; they get there though the next one's making panics.
struct Outgoing {
    mailbox: Mailbox,
    answers: CompletionBatchBuilder,
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.mailbox.put_batch(std::mem::take(&mut self.answers));
    }
}

/// Lookups that were asked for together. Iterate over it to answer them one by one.
#[derive(Debug)]
pub struct LookupBatch {
    parts: Vec<Part>,
    clock: Clock,
    mailbox: Mailbox,
}

/// Rows of a batch of requests that are not answered.
#[derive(Debug)]
struct Part {
    requests: Arc<RequestBatch>,
    rows: Range<usize>,
}

impl LookupBatch {
    pub(crate) fn new(requests: Vec<RequestBatch>, clock: Clock, mailbox: &Mailbox) -> Self {
        let part = |requests: RequestBatch| Part { rows: 0..requests.len(), requests: Arc::new(requests) };
        Self { parts: requests.into_iter().map(part).collect(), clock, mailbox: mailbox.clone() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lookups as they were asked for, in order.
    pub fn rows(&self) -> impl Iterator<Item = RequestRow<'_>> {
        self.parts.iter().flat_map(|part| part.rows.clone().map(|row| part.requests.row(row)))
    }

    /// Their keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = Bytes> {
        self.parts.iter().flat_map(|part| part.rows.clone().map(|row| part.requests.get(row).key))
    }

    /// Answers all of them together: the quick way where all answers are there at once.
    pub fn answer_all(mut self, mut answer: impl FnMut(RequestRow<'_>) -> Result<Rows, LookupError>) {
        let arrival = self.arrival();
        let mut outgoing = Outgoing { mailbox: self.mailbox.clone(), answers: CompletionBatchBuilder::default() };
        outgoing.answers.reserve(self.len(), 0);
        for Part { requests, rows } in &mut self.parts {
            while rows.start < rows.end {
                let asked = requests.row(rows.start);
                let result = answer(asked);
                outgoing.answers.push(&Answer { id: asked.id, attempt: asked.attempt, arrival, result });
                rows.start += 1;
            }
        }
    }

    /// The lookups that `is_first` is true of, and the others.
    #[must_use]
    pub fn partition(mut self, mut is_first: impl FnMut(RequestRow<'_>) -> bool) -> (Self, Self) {
        let mut parted = [self.batch(), self.batch()];
        for Part { requests, rows } in take(&mut self.parts) {
            for row in rows {
                let to = &mut parted[usize::from(!is_first(requests.row(row)))];
                to.add(&requests, row..row + 1);
            }
        }
        let [first, others] = parted;
        (first, others)
    }

    /// The same lookups in batches of at most `lookups`, and of at most `bytes` of keys where they
    /// are more than one.
    #[must_use]
    pub fn split(mut self, lookups: usize, bytes: usize) -> Vec<Self> {
        let mut batches: Vec<Self> = Vec::new();
        let (mut count, mut held) = (0, 0);
        for Part { requests, rows } in take(&mut self.parts) {
            for row in rows {
                let length = requests.row(row).key.len();
                if batches.is_empty() || count >= lookups.max(1) || held + length > bytes {
                    batches.push(self.batch());
                    (count, held) = (0, 0);
                }
                count += 1;
                held += length;
                batches.last_mut().expect("there is one").add(&requests, row..row + 1);
            }
        }
        batches
    }

    /// Adds rows of a batch of requests.
    fn add(&mut self, requests: &Arc<RequestBatch>, rows: Range<usize>) {
        match self.parts.last_mut() {
            Some(last) if Arc::ptr_eq(&last.requests, requests) && last.rows.end == rows.start => {
                last.rows.end = rows.end;
            }
            _ => self.parts.push(Part { requests: Arc::clone(requests), rows }),
        }
    }

    /// A batch without lookups.
    fn batch(&self) -> Self {
        Self { parts: Vec::new(), clock: self.clock, mailbox: self.mailbox.clone() }
    }

    /// When an answer that is given now counts as having come.
    fn arrival(&self) -> lookaside_core::Instant {
        lookaside_core::Instant(self.mailbox.next_turn().arrival(self.clock.now().0))
    }

    /// How many bytes of answers may be on their way.
    pub(crate) fn budget(&self) -> &Budget {
        self.mailbox.budget()
    }

    /// When the last of its lookups times out; none where one does not.
    pub(crate) fn last_deadline(&self) -> Option<Instant> {
        self.clock.to_tokio(self.rows().map(|row| row.deadline).max()?)
    }
}

/// What is not answered ends as a failure that says so.
impl Drop for LookupBatch {
    fn drop(&mut self) {
        let arrival = self.arrival();
        let unanswered = self.rows().map(|row| answer(row, Err(unanswered()), arrival));
        self.mailbox.put(unanswered);
    }
}

impl From<Lookup> for LookupBatch {
    fn from(mut lookup: Lookup) -> Self {
        // The batch answers for it from here on.
        lookup.answered = true;
        let part = Part { requests: Arc::clone(&lookup.requests), rows: lookup.row..lookup.row + 1 };
        Self { parts: vec![part], clock: lookup.clock, mailbox: lookup.mailbox.clone() }
    }
}

impl IntoIterator for LookupBatch {
    type Item = Lookup;
    type IntoIter = std::vec::IntoIter<Lookup>;

    fn into_iter(mut self) -> Self::IntoIter {
        let mut lookups = Vec::with_capacity(self.len());
        for Part { requests, rows } in take(&mut self.parts) {
            lookups.extend(rows.map(|row| Lookup {
                requests: Arc::clone(&requests),
                row,
                clock: self.clock,
                mailbox: self.mailbox.clone(),
                answered: false,
            }));
        }
        lookups.into_iter()
    }
}
