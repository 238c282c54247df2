//! A record's attempts, from the first to its end.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::{InFlightRecord, Operator, RecordState, arrivals::Queued, message_row};
use crate::{
    Answer, Instant, LookupError, OperatorError, Order, Outcome, Policy, Request, RequestId, Rows, Verdict,
    slots::{Found, Slot, Slots},
    timers::WaitingRetry,
};

impl Operator {
    /// Takes the answer to an attempt, and says what became of it.
    ///
    /// An answer that was there before its record's deadline stands, however late it is handed
    /// over, as long as [`Self::advance`] has not ended the record: hand over what has arrived
    /// first, then advance.
    ///
    /// # Errors
    ///
    /// [`OperatorError::LookupFailed`] where the record ends as the policies do not allow,
    /// [`OperatorError::Spent`] once the operator failed.
    pub fn complete(&mut self, answer: Answer, now: Instant) -> Result<Verdict, OperatorError> {
        self.see(now);
        self.check()?;
        let verdict = self.verdict(&answer);
        match verdict {
            Verdict::Accepted => self.counters.answers_accepted += 1,
            Verdict::Stale => self.counters.answers_stale += 1,
            Verdict::Late => self.counters.answers_late += 1,
            Verdict::Unknown => self.counters.answers_unknown += 1,
        }
        if verdict == Verdict::Accepted
            && let Found::Here(slot) = self.records.find(answer.id)
        {
            let arrival = answer.arrival.min(self.now);
            match answer.result {
                Ok(rows) => self.answered(slot, rows, arrival)?,
                Err(error) => self.attempt_failed(slot, error, arrival)?,
            }
        }
        Ok(verdict)
    }

    fn verdict(&self, answer: &Answer) -> Verdict {
        match self.records.find(answer.id) {
            Found::Never => Verdict::Unknown,
            Found::Gone => Verdict::Stale,
            Found::Here(slot) => {
                let record = &self.records[slot];
                if answer.attempt == 0 || answer.attempt > record.attempt {
                    Verdict::Unknown
                } else if answer.attempt < record.attempt || !matches!(record.state, RecordState::Running) {
                    Verdict::Stale
                } else if answer.arrival.min(self.now) >= record.deadline {
                    Verdict::Late
                } else {
                    Verdict::Accepted
                }
            }
        }
    }

    /// Makes the first attempt of `slot`'s record, and of those that only waited for its key.
    pub(super) fn start(&mut self, slot: Slot) -> Result<(), OperatorError> {
        let mut next = Some(slot);
        while let Some(slot) = next {
            let record = &mut self.records[slot];
            if record.record.key.is_none() {
                self.counters.keyless += 1;
                next = self.end(slot, Outcome::Missing, Rows::None, || "it has no key".into())?;
                continue;
            }
            self.lookups_in_flight += 1;
            if let Some(timeout) = self.options.timeout {
                let deadline = self.now.after(timeout);
                record.deadline = deadline;
                let records = &self.records;
                self.deadlines.set(deadline, records.id(slot), |id| is_open(records, id));
            }
            self.attempt(slot);
            return Ok(());
        }
        Ok(())
    }

    /// Starts the next attempt of `slot`'s record.
    pub(super) fn attempt(&mut self, slot: Slot) {
        let id = self.records.id(slot);
        let record = &mut self.records[slot];
        let Some(key) = record.record.key.clone() else { unreachable!("a record without a key is never looked up") };
        record.attempt += 1;
        record.state = RecordState::Running;
        self.counters.attempts += 1;
        self.counters.retries += u64::from(record.attempt > 1);
        self.requests.push_back(Request {
            id,
            attempt: record.attempt,
            deadline: record.deadline,
            key,
            payload: self.options.request_payload.then(|| record.record.payload.clone()),
        });
    }

    /// Starts the attempts that wait, in order of arrival: the input has ended, so they are the last.
    pub(super) fn start_waiting_attempts(&mut self) {
        let waiting: Vec<Slot> = (self.queued().into_iter())
            .filter_map(|element| match element {
                Queued::Record(slot, record) if matches!(record.state, RecordState::Waiting) => Some(slot),
                _ => None,
            })
            .collect();
        for slot in waiting {
            self.attempt(slot);
        }
    }

    fn answered(&mut self, slot: Slot, rows: Rows, arrival: Instant) -> Result<(), OperatorError> {
        if !rows.is_empty() {
            return self.finish(slot, Outcome::Found, rows, String::new);
        }
        if self.options.retry.on.missing() && self.wait_for_retry(slot, arrival, None) {
            return Ok(());
        }
        self.finish(slot, Outcome::Missing, Rows::None, || "on-missing is fail".into())
    }

    fn attempt_failed(&mut self, slot: Slot, error: LookupError, arrival: Instant) -> Result<(), OperatorError> {
        self.records[slot].last_error = Some(format!("{error}").into_boxed_str());
        if self.options.retry.on.failure()
            && error.kind.is_retryable()
            && self.wait_for_retry(slot, arrival, error.retry_after)
        {
            return Ok(());
        }
        let message = format!("{error}");
        let row = message_row(&message);
        self.finish(slot, Outcome::Failed, row, || message)
    }

    /// Lets `slot`'s record wait for another attempt, unless it had its last one.
    ///
    /// An attempt that would be due at the deadline or after it is not set: the record then waits
    /// for its deadline.
    fn wait_for_retry(&mut self, slot: Slot, arrival: Instant, at_least: Option<Duration>) -> bool {
        if self.input_ended {
            return false;
        }
        let id = self.records.id(slot);
        let record = &mut self.records[slot];
        let Some(delay) = self.options.retry.delay_after(record.attempt, record.arrival) else { return false };
        record.state = RecordState::Waiting;
        let due = arrival.after(delay.max(at_least.unwrap_or_default()));
        if due < record.deadline {
            self.retries.set(WaitingRetry { due, arrival: record.arrival, id, after_attempt: record.attempt });
        }
        true
    }

    /// Ends the lookup of `slot`'s record, and starts the next one of its key.
    pub(super) fn finish(
        &mut self,
        slot: Slot,
        outcome: Outcome,
        rows: Rows,
        why: impl FnOnce() -> String,
    ) -> Result<(), OperatorError> {
        self.lookups_in_flight -= 1;
        if self.options.timeout.is_some() {
            self.deadlines.one_less();
        }
        match self.end(slot, outcome, rows, why)? {
            Some(next) => self.start(next),
            None => Ok(()),
        }
    }

    /// Gives `slot`'s record its one outcome, and gives the next record of its key.
    fn end(
        &mut self,
        slot: Slot,
        outcome: Outcome,
        rows: Rows,
        why: impl FnOnce() -> String,
    ) -> Result<Option<Slot>, OperatorError> {
        match outcome {
            Outcome::Found => self.counters.found += 1,
            Outcome::Missing => self.counters.missing += 1,
            Outcome::Failed => self.counters.failed += 1,
            Outcome::TimedOut => self.counters.timed_out += 1,
        }
        if self.options.policy(outcome) == Policy::Fail {
            return Err(self.fail(slot, outcome, why()));
        }
        self.queued_bytes += rows.held_bytes();
        let record = &mut self.records[slot];
        record.state = RecordState::Done { outcome, rows };
        self.queue.record_done(slot, record.segment);
        if self.options.order != Order::KeyOrdered {
            return Ok(None);
        }
        Ok(record.record.order_key().and_then(|key| self.keys.release(key)))
    }
}

/// Whether `id`'s record is in flight and has no outcome yet.
pub(super) fn is_open(records: &Slots<InFlightRecord>, id: RequestId) -> bool {
    matches!(records.find(id), Found::Here(slot) if !records[slot].is_done())
}
