//! A record's attempts, from the first to its end.

use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::time::Duration;

use super::{Operator, arrivals::Queued};
use crate::{
    Instant, LookupError, Order, Outcome, Policy, RequestId,
    finds::Find,
    group::{Group, GroupState, LastError},
    hashed_key::HashedKey,
    positions::{Found, Positions},
    slots::{Slot, Slots},
    timers::WaitingRetry,
};

/// What a failed attempt said, kept once for all records that share it.
pub(super) struct Failure {
    pub(super) error: LookupError,
    /// Its start.
    pub(super) message: Arc<String>,
    /// The message as a row; its one user is whoever made this.
    pub(super) row: Find,
}

impl Operator {
    /// Makes the first attempts of the groups whose turn has come.
    ///
    /// One that ends at once, by the cache or for want of a key, lets the next of its key start; so
    /// this is a loop and no recursion.
    pub(super) fn start_all(&mut self) {
        while let Some(slot) = self.to_start.pop_front() {
            self.start(slot);
        }
    }

    /// Makes the first attempt of `slot`'s group.
    pub(super) fn start(&mut self, slot: Slot) {
        let group = &mut self.groups[slot];
        if !group.has_key {
            self.counters.keyless += u64::from(group.len());
            return self.end(slot, Outcome::Missing, None);
        }
        self.lookups_in_flight += u64::from(group.len());
        if let Some(timeout) = self.options.timeout {
            group.deadline = self.now.after(timeout);
            self.deadlines.push(slot, &mut self.groups);
        }
        self.attempt(slot);
    }

    /// Makes the next attempt of `slot`'s group: by the cache, by a lookup of its key that runs
    /// already, or by one of its own.
    pub(super) fn attempt(&mut self, slot: Slot) {
        let group = &mut self.groups[slot];
        group.attempt += 1;
        let mut flight = None;
        if let Some(cache) = &mut self.cache {
            let Some(key) = self.batches.record(group.held).key else { unreachable!("it is looked up by its key") };
            let key = HashedKey::new(key);
            let missed = group.missed;
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
                group.state = GroupState::Sharing;
                self.flights.join(flight, self.positions.id(group.first));
                return;
            }
            self.counters.cache_misses += 1;
            flight = Some(self.flights.begin(key));
        }
        self.request(slot, flight);
    }

    /// Asks for the lookups of `slot`'s group, which makes its one for those of `flight`, too.
    fn request(&mut self, slot: Slot, flight: Option<Slot>) {
        let group = &mut self.groups[slot];
        group.state = GroupState::Running { flight };
        group.lookups += 1;
        let Group { held, first, attempt, lookups, deadline, .. } = *group;
        let count = group.len();
        self.counters.attempts += u64::from(count);
        self.counters.retries += if lookups > 1 { u64::from(count) } else { 0 };
        self.requests.push_but_keys(self.positions.ids(first, count), attempt, deadline);
        if self.options.request_payload {
            self.batches.write_payloads(held, count, self.requests.payloads.get_or_insert_default());
        }
        // Its batch is held until the keys are written, once for all of the run.
        if self.request_keys.goes_on_with(held.batch, held.row) {
            self.request_keys.add(held.batch, held.row, count, 0);
        } else {
            self.write_request_keys();
            self.batches.keep(held.batch, 1);
            self.request_keys.add(held.batch, held.row, count, 1);
        }
    }

    /// Where `slot`'s record makes a lookup for others too and will not see its end, has the one of them with the most
    /// time left make another: the provider may have given up the old one with its deadline.
    pub(super) fn hand_over(&mut self, slot: Slot) {
        let GroupState::Running { flight: Some(flight) } = self.groups[slot].state else { return };
        self.groups[slot].state = GroupState::Running { flight: None };
        let (groups, positions, now) = (&self.groups, &self.positions, self.now);
        let next = self.flights.next_leader(flight, |id| deadline_of_sharing(groups, positions, id, now));
        match next.map(|id| self.positions.find(id)) {
            Some(Found::Here(next, _)) => self.request(next, Some(flight)),
            _ => drop(self.flights.end(flight)),
        }
    }

    /// Starts the attempts that wait, in order of arrival: the input has ended, so they are the last.
    pub(super) fn start_waiting_attempts(&mut self) {
        let waiting: Vec<RequestId> = (self.queued().into_iter())
            .filter_map(|element| match element {
                Queued::Group(Group { state: GroupState::Waiting, first, .. }) => Some(self.positions.id(*first)),
                _ => None,
            })
            .collect();
        for id in waiting {
            // One before it may have ended it: then its slot may be another's by now.
            if let Found::Here(slot, _) = self.positions.find(id)
                && matches!(self.groups[slot].state, GroupState::Waiting)
            {
                self.attempt(slot);
                self.start_all();
            }
        }
    }

    /// An attempt of `slot`'s group ended with rows or a miss; a miss that does not end the lookup is that of one record.
    pub(super) fn answered(&mut self, slot: Slot, find: Find, arrival: Instant) {
        if find.is_some() {
            return self.finish(slot, Outcome::Found, find);
        }
        self.groups[slot].missed = true;
        if self.options.retry.on.missing() && self.wait_for_retry(slot, arrival, None) {
            return;
        }
        self.finish(slot, Outcome::Missing, None);
    }

    /// An attempt of `slot`'s one record failed.
    pub(super) fn attempt_failed(&mut self, slot: Slot, failure: &Failure, arrival: Instant) {
        let error = &failure.error;
        self.groups[slot].last_error = LastError(Some(failure.message.clone()));
        if self.options.retry.on.failure()
            && error.kind.is_retryable()
            && self.wait_for_retry(slot, arrival, error.retry_after)
        {
            return;
        }
        let row = self.finds.share(failure.row);
        self.finish(slot, Outcome::Failed, row);
    }

    /// Keeps what a failed attempt said.
    pub(super) fn keep_failure(&mut self, error: LookupError) -> Failure {
        let message = error.to_string();
        let row = self.finds.keep_message(&message);
        Failure { error, message: Arc::new(excerpt(message)), row }
    }

    /// Lets `slot`'s one record wait for another attempt, unless it had its last one.
    ///
    /// An attempt that would be due at the deadline or after it is not set: the record then waits
    /// for its deadline.
    fn wait_for_retry(&mut self, slot: Slot, arrival: Instant, at_least: Option<Duration>) -> bool {
        if self.input_ended {
            return false;
        }
        let group = &mut self.groups[slot];
        let Some(delay) = self.options.retry.delay_after(group.attempt, group.arrival) else { return false };
        let due = arrival.after(delay.max(at_least.unwrap_or_default()));
        // Neither an attempt nor a deadline would ever come.
        if due == Instant::NEVER && group.deadline == Instant::NEVER {
            return false;
        }
        group.state = GroupState::Waiting;
        if due < group.deadline {
            let id = self.positions.id(group.first);
            self.retries.set(WaitingRetry { due, arrival: group.arrival, id, after_attempt: group.attempt });
        }
        true
    }

    /// Ends the lookups of `slot`'s group.
    pub(super) fn finish(&mut self, slot: Slot, outcome: Outcome, find: Find) {
        self.lookups_in_flight -= u64::from(self.groups[slot].len());
        if self.options.timeout.is_some() {
            self.deadlines.remove(slot, &mut self.groups);
        }
        self.end(slot, outcome, find);
    }

    /// Gives each record of `slot`'s group its one outcome, and the next record of its key its turn.
    ///
    /// An outcome that the policies do not allow is that of one record. It fails the operator when its turn to leave comes.
    fn end(&mut self, slot: Slot, outcome: Outcome, find: Find) {
        let group = &mut self.groups[slot];
        group.state = GroupState::Done { outcome, find };
        *match outcome {
            Outcome::Found => &mut self.counters.found,
            Outcome::Missing => &mut self.counters.missing,
            Outcome::Failed => &mut self.counters.failed,
            Outcome::TimedOut => &mut self.counters.timed_out,
        } += u64::from(group.len());
        self.queued_bytes += self.finds.held_bytes(find, group.len());
        if self.options.policy(outcome) == Policy::Fail {
            return self.queue.group_failed(slot);
        }
        self.queue.group_done(slot, group);
        if self.options.order == Order::KeyOrdered {
            for held in (0..group.len()).map(|row| group.held.after(row)) {
                let next = self.batches.order_key(held).and_then(|key| self.keys.release(HashedKey::new(key)));
                self.to_start.extend(next);
            }
        }
    }
}

/// The start of a message, which is kept for each record that failed by itself and waits for another attempt.
fn excerpt(mut message: String) -> String {
    const LONGEST: usize = 256;
    if message.len() > LONGEST {
        message.truncate(message.floor_char_boundary(LONGEST));
        message.push_str("...");
        message.shrink_to_fit();
    }
    message
}

/// The deadline of `id`'s record, if it shares another's lookup and has time left.
fn deadline_of_sharing(groups: &Slots<Group>, positions: &Positions, id: RequestId, now: Instant) -> Option<Instant> {
    let Found::Here(slot, _) = positions.find(id) else { return None };
    let group = &groups[slot];
    (matches!(group.state, GroupState::Sharing) && group.deadline > now).then_some(group.deadline)
}
