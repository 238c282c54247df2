//! A record's attempts, from the first to its end.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::time::Duration;

use super::{InFlightRecord, LastError, Operator, RecordState, arrivals::Queued};
use crate::{
    Instant, LookupError, OperatorError, Order, Outcome, Policy, RequestId,
    batches::Held,
    finds::Find,
    hashed_key::HashedKey,
    slots::{Found, Slot, Slots},
    timers::WaitingRetry,
};

impl Operator {
    /// Makes the first attempts of the records whose turn has come.
    ///
    /// One that ends at once, by the cache or for want of a key, lets the next of its key start; so
    /// this is a loop and no recursion.
    pub(super) fn start_all(&mut self) -> Result<(), OperatorError> {
        while let Some(slot) = self.to_start.pop_front() {
            self.start(slot)?;
        }
        Ok(())
    }

    /// Makes the first attempt of `slot`'s record.
    pub(super) fn start(&mut self, slot: Slot) -> Result<(), OperatorError> {
        let record = &mut self.records[slot];
        if !record.has_key {
            self.counters.keyless += 1;
            return self.end(slot, Outcome::Missing, None, || "it has no key".into());
        }
        self.lookups_in_flight += 1;
        if let Some(timeout) = self.options.timeout {
            record.deadline = self.now.after(timeout);
            self.deadlines.set(slot, &mut self.records);
        }
        self.attempt(slot)
    }

    /// Makes the next attempt of `slot`'s record: by the cache, by a lookup of its key that runs
    /// already, or by one of its own.
    pub(super) fn attempt(&mut self, slot: Slot) -> Result<(), OperatorError> {
        let id = self.records.id(slot);
        let record = &mut self.records[slot];
        record.attempt += 1;
        let mut flight = None;
        if let Some(cache) = &mut self.cache {
            let Some(key) = self.batches.record(record.held).key else { unreachable!("it is looked up by its key") };
            let key = HashedKey::new(key);
            let missed = record.missed;
            match cache.get(&key, self.now) {
                // A retry on a miss goes past the cached miss.
                Some(rows) if !(missed && rows.is_empty()) => {
                    self.counters.cache_hits += 1;
                    let find = self.finds.keep_rows(&rows);
                    return self.answered(slot, find, self.now);
                }
                _ => {}
            }
            if let Some(flight) = self.flights.find(&key) {
                self.counters.cache_shared += 1;
                record.state = RecordState::Sharing;
                self.flights.join(flight, id);
                return Ok(());
            }
            self.counters.cache_misses += 1;
            flight = Some(self.flights.begin(key));
        }
        self.request(slot, flight);
        Ok(())
    }

    /// Asks for the lookup of `slot`'s record, which makes it for those of `flight`, too.
    fn request(&mut self, slot: Slot, flight: Option<Slot>) {
        let id = self.records.id(slot);
        let record = &mut self.records[slot];
        record.state = RecordState::Running { flight };
        record.lookups += 1;
        self.counters.attempts += 1;
        self.counters.retries += u64::from(record.lookups > 1);
        let Held { batch, row } = record.held;
        self.requests.push_but_key(id, record.attempt, record.deadline);
        if self.options.request_payload {
            self.requests.push_payload(self.batches.payload(record.held));
        }
        // Its batch is held until the keys are written, once for all of the run.
        if self.request_keys.goes_on_with(batch, row) {
            self.request_keys.add(batch, row, 1, 0);
        } else {
            self.write_request_keys();
            self.batches.keep(batch, 1);
            self.request_keys.add(batch, row, 1, 1);
        }
    }

    /// Where `slot`'s record makes a lookup for others too and will not see its end, has the next
    /// of them make one: the provider may have given up the old one with its deadline.
    pub(super) fn hand_over(&mut self, slot: Slot) {
        let RecordState::Running { flight: Some(flight) } = self.records[slot].state else { return };
        self.records[slot].state = RecordState::Running { flight: None };
        let records = &self.records;
        let followers = self.flights.followers(flight);
        let next = followers.iter().position(|&id| waits_for_another(records, id, self.now));
        let Some(next) = next else {
            self.flights.end(flight);
            return;
        };
        let id = followers[next];
        followers.drain(..=next);
        if let Found::Here(next) = self.records.find(id) {
            self.request(next, Some(flight));
        }
    }

    /// Starts the attempts that wait, in order of arrival: the input has ended, so they are the last.
    pub(super) fn start_waiting_attempts(&mut self) -> Result<(), OperatorError> {
        let waiting: Vec<RequestId> = (self.queued().into_iter())
            .filter_map(|element| match element {
                Queued::Record(slot, InFlightRecord { state: RecordState::Waiting, .. }) => Some(self.records.id(slot)),
                _ => None,
            })
            .collect();
        for id in waiting {
            // One before it may have ended it: then its slot may be another's by now.
            if let Found::Here(slot) = self.records.find(id)
                && matches!(self.records[slot].state, RecordState::Waiting)
            {
                self.attempt(slot)?;
                self.start_all()?;
            }
        }
        Ok(())
    }

    /// An attempt of `slot`'s record ended with rows or a miss.
    #[inline]
    pub(super) fn answered(&mut self, slot: Slot, find: Find, arrival: Instant) -> Result<(), OperatorError> {
        if find.is_some() {
            return self.finish(slot, Outcome::Found, find, String::new);
        }
        self.records[slot].missed = true;
        if self.options.retry.on.missing() && self.wait_for_retry(slot, arrival, None) {
            return Ok(());
        }
        self.finish(slot, Outcome::Missing, None, || "on-missing is fail".into())
    }

    /// An attempt of `slot`'s record failed.
    pub(super) fn attempt_failed(
        &mut self,
        slot: Slot,
        error: &LookupError,
        arrival: Instant,
    ) -> Result<(), OperatorError> {
        let message = format!("{error}");
        self.records[slot].last_error = LastError(Some(Box::new(message.clone())));
        if self.options.retry.on.failure()
            && error.kind.is_retryable()
            && self.wait_for_retry(slot, arrival, error.retry_after)
        {
            return Ok(());
        }
        let row = self.finds.keep_message(&message);
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

    /// Ends the lookup of `slot`'s record.
    pub(super) fn finish(
        &mut self,
        slot: Slot,
        outcome: Outcome,
        find: Find,
        why: impl FnOnce() -> String,
    ) -> Result<(), OperatorError> {
        self.lookups_in_flight -= 1;
        if self.options.timeout.is_some() {
            self.deadlines.remove(slot, &mut self.records);
        }
        self.end(slot, outcome, find, why)
    }

    /// Gives `slot`'s record its one outcome, and the next record of its key its turn.
    fn end(
        &mut self,
        slot: Slot,
        outcome: Outcome,
        find: Find,
        why: impl FnOnce() -> String,
    ) -> Result<(), OperatorError> {
        match outcome {
            Outcome::Found => self.counters.found += 1,
            Outcome::Missing => self.counters.missing += 1,
            Outcome::Failed => self.counters.failed += 1,
            Outcome::TimedOut => self.counters.timed_out += 1,
        }
        let bytes = self.finds.held_bytes(find);
        self.queued_bytes += bytes;
        let record = &mut self.records[slot];
        record.bytes += bytes as usize;
        record.state = RecordState::Done { outcome, find };
        if self.options.policy(outcome) == Policy::Fail {
            return Err(self.fail(slot, outcome, why()));
        }
        self.queue.record_done(slot, record.segment);
        if self.options.order == Order::KeyOrdered
            && let Some(key) = self.batches.order_key(record.held)
        {
            self.to_start.extend(self.keys.release(HashedKey::new(key)));
        }
        Ok(())
    }
}

/// Whether `id`'s record shares another's lookup and has time left.
fn waits_for_another(records: &Slots<InFlightRecord>, id: RequestId, now: Instant) -> bool {
    matches!(records.find(id), Found::Here(slot)
        if matches!(records[slot].state, RecordState::Sharing) && records[slot].deadline > now)
}
