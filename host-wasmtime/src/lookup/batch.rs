//! The lookups of one batch, and their answers.

use bytes::Bytes;
use lookaside_core::{
    Answer, FailureKind, LookupError, Request, RequestId, Rows,
    columns::{CompletionBatchBuilder, RequestBatch},
};
use tokio::time::Instant;

use crate::{Mailbox, driver::Clock};

/// One lookup: its key, and the way for its answer.
#[derive(Debug)]
pub struct Lookup {
    request: Request,
    clock: Clock,
    mailbox: Mailbox,
    answered: bool,
}

impl Lookup {
    /// What to look up.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        &self.request.key
    }

    /// The record's payload, where [`Options::request_payload`](crate::Options::request_payload) asks for it.
    #[must_use]
    pub fn payload(&self) -> Option<&Bytes> {
        self.request.payload.as_ref()
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.request.attempt
    }

    /// When an answer is of no use any more; none where it always is.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.clock.to_tokio(self.request.deadline)
    }

    /// Whose lookup this is; an operator never gives the same id twice.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.request.id
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
        let answer = self.take(result, self.clock.now());
        self.mailbox.put([answer]);
    }

    fn take(&mut self, result: Result<Rows, LookupError>, arrival: lookaside_core::Instant) -> Answer {
        self.answered = true;
        Answer { id: self.request.id, attempt: self.request.attempt, arrival, result }
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        if !self.answered {
            let error = LookupError::new(FailureKind::Malformed, "the provider ended without an answer");
            let answer = self.take(Err(error), self.clock.now());
            self.mailbox.put([answer]);
        }
    }
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
    lookups: Vec<Lookup>,
}

impl LookupBatch {
    pub(crate) fn new(requests: &[RequestBatch], clock: Clock, mailbox: &Mailbox) -> Self {
        let lookup = |request| Lookup { request, clock, mailbox: mailbox.clone(), answered: false };
        let mut lookups = Vec::with_capacity(requests.iter().map(RequestBatch::len).sum());
        for batch in requests {
            lookups.extend(batch.iter().map(lookup));
        }
        Self { lookups }
    }

    /// The lookups.
    #[must_use]
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lookups.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lookups.is_empty()
    }

    /// Answers all of them together: the quick way where all answers are there at once.
    pub fn answer_all(mut self, mut answer: impl FnMut(&Lookup) -> Result<Rows, LookupError>) {
        let Some(first) = self.lookups.first() else { return };
        let arrival = first.clock.now();
        let mut outgoing = Outgoing { mailbox: first.mailbox.clone(), answers: CompletionBatchBuilder::default() };
        outgoing.answers.reserve(self.lookups.len(), 0);
        for lookup in &mut self.lookups {
            let result = answer(lookup);
            outgoing.answers.push(&lookup.take(result, arrival));
        }
    }

    /// The same lookups in batches of at most `lookups`, and of at most `bytes` of keys where they
    /// are more than one.
    #[must_use]
    pub fn split(self, lookups: usize, bytes: usize) -> Vec<Self> {
        let fits = |batch: &[Lookup], held: usize| batch.len() < lookups.max(1) && held <= bytes;
        let mut batches: Vec<Self> = Vec::new();
        let mut held = 0;
        for lookup in self.lookups {
            let length = lookup.key().len();
            match batches.last_mut().filter(|batch| fits(&batch.lookups, held + length)) {
                Some(batch) => {
                    held += length;
                    batch.lookups.push(lookup);
                }
                None => {
                    held = length;
                    batches.push(lookup.into());
                }
            }
        }
        batches
    }

    /// When the last of its lookups times out; none where one does not.
    pub(crate) fn last_deadline(&self) -> Option<Instant> {
        self.lookups.iter().map(Lookup::deadline).try_fold(None, |last, deadline| Some(last.max(Some(deadline?))))?
    }
}

impl From<Lookup> for LookupBatch {
    fn from(lookup: Lookup) -> Self {
        Self { lookups: vec![lookup] }
    }
}

impl FromIterator<Lookup> for LookupBatch {
    fn from_iter<I: IntoIterator<Item = Lookup>>(lookups: I) -> Self {
        Self { lookups: lookups.into_iter().collect() }
    }
}

impl IntoIterator for LookupBatch {
    type Item = Lookup;
    type IntoIter = std::vec::IntoIter<Lookup>;

    fn into_iter(self) -> Self::IntoIter {
        self.lookups.into_iter()
    }
}
