//! The model as a host of scenarios.

use std::time::Duration;

use lookaside_core::{
    Answer, Element, EventTime, Instant, Options, Order, PollState, Record, Request, Stats, Verdict, WaitsFor,
};

use super::{
    InFlight, InQueue, Model, State, What, id_of,
    saved::{self, Saved},
};
use crate::host::{Host, Refusal};

impl Model {
    /// A model without elements.
    #[must_use]
    pub fn open(options: &Options) -> Self {
        Self::new(options)
    }

    /// A model that goes on where `snapshot` left off.
    ///
    /// # Errors
    ///
    /// Where the order has changed its meaning.
    pub fn restore(options: &Options, snapshot: &[u8]) -> Result<Self, Refusal> {
        let mut model = Self::new(options);
        model.backlog = saved::read(snapshot, options.order)?;
        model.stats.restored = model.backlog.iter().filter(|saved| matches!(saved, Saved::Record(_))).count() as u64;
        model.admit_backlog();
        Ok(model)
    }

    fn push_barrier(&mut self, what: What, now: Instant) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        self.may_take()?;
        if !self.has_room_for_barrier(&what) {
            return Err(Refusal::Full);
        }
        self.accept_barrier(what);
        Ok(())
    }

    fn go_on(&mut self, now: Instant) -> Result<(), Refusal> {
        if self.failed {
            return Err(Refusal::Spent);
        }
        self.now = self.now.max(now);
        Ok(())
    }

    fn state(&self) -> PollState {
        if !self.failed && (self.ready().is_some() || self.next_to_fail().is_some()) {
            PollState::Ready
        } else if self.ended && self.elements.is_empty() && self.backlog.is_empty() {
            PollState::Drained
        } else {
            PollState::Waiting
        }
    }

    fn view(&self, element: &InQueue, held: bool) -> lookaside_core::InFlight {
        let mut view = lookaside_core::InFlight {
            id: None,
            event_time: EventTime::NONE,
            barrier: true,
            key: None,
            waits_for: if held { WaitsFor::Order } else { WaitsFor::Downstream },
            age: Duration::from_nanos(self.now.0 - element.accepted_at.0),
            attempts: 0,
            deadline: None,
            outcome: None,
            last_error: None,
        };
        match &element.what {
            What::Watermark(time) => view.event_time = *time,
            What::Idle | What::Active => {}
            What::Record(record) => {
                view.id = (record.attempt > 0).then(|| id_of(element.arrival));
                view.event_time = record.record.event_time;
                view.barrier = false;
                view.key = record.record.key.clone();
                view.attempts = record.attempt;
                view.last_error = record.last_error.clone();
                view.deadline = record.deadline;
                match &record.state {
                    State::Blocked => view.waits_for = WaitsFor::Key,
                    State::Running | State::Sharing(_) => view.waits_for = WaitsFor::Answer,
                    State::Waiting(_) => view.waits_for = WaitsFor::Retry,
                    State::Done(outcome, ..) => (view.outcome, view.deadline) = (Some(*outcome), None),
                }
            }
        }
        view
    }
}

impl Host for Model {
    fn push_record(&mut self, record: Record, now: Instant) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        self.may_take()?;
        if !self.has_room(Some(&record)) {
            return Err(Refusal::Full);
        }
        self.stats.accepted += 1;
        self.accept_record(record);
        Ok(())
    }

    fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), Refusal> {
        self.push_barrier(What::Watermark(time), now)
    }

    fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), Refusal> {
        self.push_barrier(if idle { What::Idle } else { What::Active }, now)
    }

    fn end_input(&mut self, now: Instant) -> Result<PollState, Refusal> {
        self.go_on(now)?;
        self.advance();
        if !self.ended {
            self.ended = true;
            let waiting =
                |(arrival, record): (u64, &InFlight)| matches!(record.state, State::Waiting(_)).then_some(arrival);
            for arrival in self.records().filter_map(waiting).collect::<Vec<_>>() {
                if matches!(self.record(arrival).state, State::Waiting(_)) {
                    self.attempt(arrival);
                    self.start_what_may();
                }
            }
        }
        Ok(self.state())
    }

    fn answer(&mut self, answer: Answer, now: Instant) -> Result<Verdict, Refusal> {
        self.go_on(now)?;
        let verdict = self.complete(answer);
        self.advance();
        Ok(verdict)
    }

    fn poll(&mut self, max: u32, now: Instant) -> Result<(Vec<Element>, PollState), Refusal> {
        self.go_on(now)?;
        self.advance();
        let mut taken = Vec::new();
        for _ in 0..max {
            match self.next_to_fail() {
                Some(arrival) if taken.is_empty() => return Err(self.fail(arrival)),
                Some(_) => break,
                None => {}
            }
            let Some(element) = self.take_one() else { break };
            taken.push(element);
        }
        taken.retain(|element| *element != Element::Dropped);
        Ok((taken, self.state()))
    }

    fn wake_at(&mut self) -> Option<Instant> {
        if self.failed { None } else { self.next_timer().map(|(due, ..)| due) }
    }

    fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Refusal> {
        if self.failed {
            return Err(Refusal::Spent);
        }
        let queued: Vec<Saved> = self.elements.iter().map(Saved::from).collect();
        Ok(saved::write(self.options.order, queued.iter().chain(&self.backlog)))
    }

    fn stats(&mut self) -> Stats {
        let saved_records = self.backlog.iter().filter_map(|saved| match saved {
            Saved::Record(record) => Some(super::bytes_of(record)),
            _ => None,
        });
        let records = self.records().count() + saved_records.clone().count();
        let looked_up =
            |record: &InFlight| matches!(record.state, State::Running | State::Sharing(_) | State::Waiting(_));
        Stats {
            in_flight: records as u64,
            barriers_in_flight: (self.elements.len() + self.backlog.len() - records) as u64,
            lookups_in_flight: self.records().filter(|(_, record)| looked_up(record)).count() as u64,
            backlog: self.backlog.len() as u64,
            held_bytes: self.held() + saved_records.sum::<u64>(),
            cache_evictions: self.cache.evictions,
            cache_entries: self.cache.len() as u64,
            cache_bytes: self.cache.bytes(),
            ..self.stats
        }
    }

    fn inspect(&mut self, now: Instant) -> Vec<lookaside_core::InFlight> {
        self.now = self.now.max(now);
        let mut views = Vec::new();
        for (place, element) in self.elements.iter().enumerate() {
            let open = |element: &InQueue| matches!(&element.what, What::Record(record) if !matches!(record.state, State::Done(..)));
            let before = &self.elements[..place];
            let barrier_before =
                before.iter().rposition(|element| !matches!(element.what, What::Record(_))).unwrap_or(0);
            let held = match (&element.what, self.options.order) {
                (What::Record(_), Order::Unordered | Order::KeyOrdered) => before[..barrier_before].iter().any(open),
                _ => before.iter().any(open),
            };
            views.push(self.view(element, held));
        }
        for saved in &self.backlog {
            let what = match saved {
                Saved::Watermark(time) => What::Watermark(*time),
                Saved::Idle(_) => What::Idle,
                Saved::Record(_) => What::Idle,
            };
            let mut view = self.view(&InQueue { arrival: 0, accepted_at: self.now, what }, false);
            if let Saved::Record(record) = saved {
                (view.barrier, view.event_time, view.key) = (false, record.event_time, record.key.clone());
            }
            view.waits_for = WaitsFor::Slot;
            views.push(view);
        }
        views
    }
}
