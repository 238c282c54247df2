//! What is due: deadlines end records, delays end in another attempt.

use alloc::{format, string::String};

use super::{Operator, RecordState};
use crate::{
    Instant, OperatorError, Outcome,
    slots::{Found, Slot},
    time::nanos,
    timers::WaitingRetry,
};

impl Operator {
    /// Handles all that is due at `now`, in order of due time; at the same instant a deadline
    /// comes before an attempt.
    ///
    /// At a record's deadline or after it no attempt of it starts, though one was due earlier.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where a record ends as the policies do not allow, or one did before.
    pub fn advance(&mut self, now: Instant) -> Result<(), OperatorError> {
        self.see(now);
        self.check()?;
        loop {
            let deadline = self.next_deadline().filter(|&(due, _)| due <= self.now);
            let retry = self.next_retry().filter(|retry| retry.due <= self.now);
            match (deadline, retry) {
                (Some((due, slot)), retry) if retry.is_none_or(|retry| due <= retry.due) => {
                    self.time_out(slot)?;
                    self.start_all()?;
                }
                (_, Some(retry)) => {
                    self.retries.take();
                    if let Found::Here(slot) = self.records.find(retry.id)
                        && self.now < self.records[slot].deadline
                    {
                        self.attempt(slot)?;
                        self.start_all()?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// When to call [`Self::advance`] though nothing else happens; none where no timer runs.
    pub fn wake_at(&mut self) -> Option<Instant> {
        if self.failed.is_some() {
            return None;
        }
        let deadline = self.next_deadline().map(|(due, _)| due);
        let retry = self.next_retry().map(|retry| retry.due);
        deadline.into_iter().chain(retry).min()
    }

    /// Takes `now` over, unless it lies in the past.
    #[inline]
    pub(super) fn see(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn next_deadline(&self) -> Option<(Instant, Slot)> {
        let slot = self.deadlines.next()?;
        Some((self.records[slot].deadline, slot))
    }

    fn next_retry(&mut self) -> Option<WaitingRetry> {
        let records = &self.records;
        self.retries.next(|retry| match records.find(retry.id) {
            Found::Here(slot) => {
                let record = &records[slot];
                matches!(record.state, RecordState::Waiting) && record.attempt == retry.after_attempt
            }
            Found::Gone | Found::Never => false,
        })
    }

    fn time_out(&mut self, slot: Slot) -> Result<(), OperatorError> {
        self.hand_over(slot);
        let message = self.timeout_message(slot);
        let row = self.finds.keep_message(&message);
        self.finish(slot, Outcome::TimedOut, row, || message)
    }

    fn timeout_message(&self, slot: Slot) -> String {
        let timeout = nanos(self.options.timeout.unwrap_or_default()) / 1_000_000;
        let record = &self.records[slot];
        match &record.last_error.0 {
            Some(error) => format!("no answer within {timeout} ms; the last attempt was {error}"),
            None => format!("no answer within {timeout} ms"),
        }
    }
}
