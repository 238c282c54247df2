//! A record's attempts in the model, from the first to its end.

use lookaside_core::{Answer, Instant, LookupError, Order, Outcome, Policy, Request, Rows, Verdict};

use super::{InFlight, Model, State, id_of, order_key};

impl Model {
    /// Starts each record that nothing holds back, in the order in which they became free.
    pub(super) fn start_what_may(&mut self) {
        loop {
            let may = self
                .records()
                .filter(|(arrival, record)| record.state == State::Blocked && !self.is_held(*arrival, record));
            let Some(arrival) = may.map(|(arrival, _)| arrival).min_by_key(|arrival| self.free_since(*arrival)) else {
                return;
            };
            if self.record(arrival).record.key.is_none() {
                self.stats.keyless += 1;
                self.end(arrival, Outcome::Missing, Rows::None);
                continue;
            }
            if let Some(timeout) = self.options.timeout {
                let order = self.tick();
                let deadline = self.now.after(timeout);
                let record = self.record(arrival);
                (record.deadline, record.deadline_order) = (Some(deadline), order);
            }
            self.attempt(arrival);
        }
    }

    /// Key-ordered: whether an earlier record with the same key is not done, or fails the operator.
    pub(super) fn is_held(&self, arrival: u64, record: &InFlight) -> bool {
        let key = order_key(&record.record);
        self.options.order == Order::KeyOrdered
            && key.is_some()
            && self.records().any(|(other, earlier)| {
                other < arrival
                    && !matches!(earlier.state, State::Done(outcome, ..) if self.policy(outcome) != Policy::Fail)
                    && order_key(&earlier.record) == key
            })
    }

    /// When the last record of its key before it was done; one that has left since was the earliest.
    pub(super) fn free_since(&self, arrival: u64) -> (u64, u64) {
        let key = self.records().find(|(other, _)| *other == arrival).and_then(|(_, record)| order_key(&record.record));
        let done = |(other, earlier): (u64, &InFlight)| match earlier.state {
            State::Done(_, _, tick) if other < arrival && order_key(&earlier.record) == key => Some(tick),
            _ => None,
        };
        (self.records().filter_map(done).max().unwrap_or(0), arrival)
    }

    pub(super) fn attempt(&mut self, arrival: u64) {
        let now = self.now;
        let tick = self.tick();
        let record = self.record(arrival);
        record.attempt += 1;
        let (key, missed) = (record.record.key.clone().expect("it has a key"), record.missed);
        if let Some(options) = self.options.cache.clone() {
            if let Some(rows) = self.cache.get(&key, now, &options)
                && !(missed && rows.is_empty())
            {
                self.stats.cache_hits += 1;
                return self.answered(arrival, rows, now);
            }
            let runs = self
                .records()
                .any(|(_, other)| other.state == State::Running && other.record.key.as_ref() == Some(&key));
            if runs {
                self.stats.cache_shared += 1;
                self.record(arrival).state = State::Sharing(tick);
                return;
            }
            self.stats.cache_misses += 1;
        }
        self.ask(arrival);
    }

    pub(super) fn ask(&mut self, arrival: u64) {
        let record = self.record(arrival);
        record.state = State::Running;
        record.lookups += 1;
        let request = Request {
            id: id_of(arrival),
            attempt: record.attempt,
            deadline: record.deadline.unwrap_or(Instant::NEVER),
            key: record.record.key.clone().expect("it has a key"),
            payload: Some(record.record.payload.clone()),
        };
        let is_retry = record.lookups > 1;
        self.stats.attempts += 1;
        self.stats.retries += u64::from(is_retry);
        self.requests.push(request);
    }

    pub(super) fn complete(&mut self, answer: Answer) -> Verdict {
        let arrived = answer.arrival.min(self.now);
        let asked = self
            .records()
            .find(|(arrival, _)| id_of(*arrival) == answer.id)
            .map(|(arrival, record)| (arrival, record.clone()));
        let verdict = match &asked {
            None if answer.id.0 == 0 || answer.id.0 > self.ticks + 1 => Verdict::Unknown,
            None => Verdict::Stale,
            Some((_, record)) if answer.attempt == 0 || answer.attempt > record.attempt => Verdict::Unknown,
            Some((_, record)) if answer.attempt < record.attempt || record.state != State::Running => Verdict::Stale,
            Some((_, record)) if record.deadline.is_some_and(|deadline| arrived >= deadline) => Verdict::Late,
            Some(_) => Verdict::Accepted,
        };
        match verdict {
            Verdict::Accepted => self.stats.answers_accepted += 1,
            Verdict::Stale => self.stats.answers_stale += 1,
            Verdict::Late => self.stats.answers_late += 1,
            Verdict::Unknown => self.stats.answers_unknown += 1,
        }
        let (Some((arrival, record)), Verdict::Accepted | Verdict::Late) = (asked, verdict) else { return verdict };
        let key = record.record.key.clone().expect("it has a key");
        let mut served = if self.options.cache.is_some() { self.sharing(&key) } else { Vec::new() };
        if let (Some(options), Ok(rows)) = (self.options.cache.clone(), &answer.result) {
            self.cache.put(&key, rows, self.now, &options);
        }
        if verdict == Verdict::Accepted {
            served.insert(0, arrival);
        }
        for arrival in served {
            let record = self.record(arrival);
            if record.deadline.is_some_and(|deadline| arrived >= deadline) {
                continue;
            }
            match &answer.result {
                Ok(rows) => self.answered(arrival, rows.clone(), arrived),
                Err(error) => self.attempt_failed(arrival, error, arrived),
            }
        }
        self.start_what_may();
        verdict
    }

    /// The records that wait for the lookup of `key`, in the order in which they joined it.
    pub(super) fn sharing(&self, key: &bytes::Bytes) -> Vec<u64> {
        let mut sharing: Vec<(u64, u64)> = self
            .records()
            .filter_map(|(arrival, record)| match record.state {
                State::Sharing(joined) if record.record.key.as_ref() == Some(key) => Some((joined, arrival)),
                _ => None,
            })
            .collect();
        sharing.sort_unstable();
        sharing.into_iter().map(|(_, arrival)| arrival).collect()
    }

    pub(super) fn answered(&mut self, arrival: u64, rows: Rows, arrived: Instant) {
        if !rows.is_empty() {
            return self.end(arrival, Outcome::Found, rows);
        }
        self.record(arrival).missed = true;
        let on = self.options.retry.on;
        let retried = matches!(on, lookaside_core::RetryOn::Missing | lookaside_core::RetryOn::Both);
        if retried && self.waits(arrival, arrived, 0) {
            return;
        }
        self.end(arrival, Outcome::Missing, Rows::None);
    }

    pub(super) fn attempt_failed(&mut self, arrival: u64, error: &LookupError, arrived: Instant) {
        let message = error.to_string();
        self.record(arrival).last_error = Some(message.clone());
        let on = self.options.retry.on;
        let retried = matches!(on, lookaside_core::RetryOn::Failure | lookaside_core::RetryOn::Both);
        let at_least = error.retry_after.map_or(0, |wait| wait.as_nanos() as u64);
        if retried && error.kind.is_retryable() && self.waits(arrival, arrived, at_least) {
            return;
        }
        self.end(arrival, Outcome::Failed, Rows::from(message));
    }

    /// Whether the record waits for another attempt.
    pub(super) fn waits(&mut self, arrival: u64, arrived: Instant, at_least: u64) -> bool {
        let retry = self.options.retry.clone();
        let attempt = self.record(arrival).attempt;
        if self.ended || attempt > retry.attempts {
            return false;
        }
        let times: f64 = retry.multiplier.to_string().parse().expect("a number");
        let longest = retry.max_delay.map_or(f64::MAX, |delay| delay.as_nanos() as f64);
        let delay = (retry.delay.as_nanos() as f64 * times.powi(attempt as i32 - 1)).min(longest) as u64;
        let due = Instant(arrived.0 + delay.max(at_least));
        let record = self.record(arrival);
        let in_time = record.deadline.is_none_or(|deadline| due < deadline);
        record.state = State::Waiting(in_time.then_some(due));
        true
    }

    pub(super) fn end(&mut self, arrival: u64, outcome: Outcome, rows: Rows) {
        match outcome {
            Outcome::Found => self.stats.found += 1,
            Outcome::Missing => self.stats.missing += 1,
            Outcome::Failed => self.stats.failed += 1,
            Outcome::TimedOut => self.stats.timed_out += 1,
        }
        let tick = self.tick();
        if self.policy(outcome) == Policy::Fail && self.options.order != Order::Ordered {
            self.failing.push((self.leaving(), arrival));
        }
        self.record(arrival).state = State::Done(outcome, rows, tick);
    }
}
