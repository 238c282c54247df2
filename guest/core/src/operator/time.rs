//! What is due: deadlines end records, delays end in another attempt.

use alloc::{format, string::String};

use super::Operator;
use crate::{
    Instant, OperatorError, Outcome, group::GroupState, positions::Found, slots::Slot, time::nanos,
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
    /// [`OperatorError::Spent`] once the operator failed.
    pub fn advance(&mut self, now: Instant) -> Result<(), OperatorError> {
        self.see(now);
        self.check()?;
        loop {
            let deadline = self.next_deadline().filter(|&(due, _)| due <= self.now);
            let retry = self.next_retry().filter(|retry| retry.due <= self.now);
            match (deadline, retry) {
                (Some((due, slot)), retry) if retry.is_none_or(|retry| due <= retry.due) => {
                    self.time_out(slot);
                    self.start_all();
                }
                (_, Some(retry)) => {
                    self.retries.take();
                    if let Found::Here(slot, _) = self.positions.find(retry.id)
                        && self.now < self.groups[slot].deadline
                    {
                        self.attempt(slot);
                        self.start_all();
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

    /// Whether [`Self::advance`] to `now` would end something: hand over all answers that have arrived before.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let now = self.now.max(now);
        self.wake_at().is_some_and(|wake_at| wake_at <= now)
    }

    /// Takes `now` over, unless it lies in the past.
    pub(super) fn see(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn next_deadline(&self) -> Option<(Instant, Slot)> {
        let slot = self.deadlines.first()?;
        Some((self.groups[slot].deadline, slot))
    }

    fn next_retry(&mut self) -> Option<WaitingRetry> {
        let (groups, positions) = (&self.groups, &self.positions);
        self.retries.next(|retry| match positions.find(retry.id) {
            Found::Here(slot, _) => {
                let group = &groups[slot];
                matches!(group.state, GroupState::Waiting) && group.attempt == retry.after_attempt
            }
            Found::Gone | Found::Never => false,
        })
    }

    /// Ends the lookup of the first record of `slot`'s group.
    fn time_out(&mut self, slot: Slot) {
        let slot = self.part(slot, self.groups[slot].first, 1);
        self.hand_over(slot);
        let message = self.timeout_message(slot);
        let row = self.finds.keep_message(&message);
        self.finish(slot, Outcome::TimedOut, row);
    }

    fn timeout_message(&self, slot: Slot) -> String {
        let timeout = nanos(self.options.timeout.unwrap_or_default()) / 1_000_000;
        match &self.groups[slot].last_error.0 {
            Some(error) => format!("no answer within {timeout} ms; the last attempt was {error}"),
            None => format!("no answer within {timeout} ms"),
        }
    }
}
