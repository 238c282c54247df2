//! A naive reference operator: slow, obviously right, and without a line of the real one.
//!
//! Elements stand in one list in order of arrival, and every question is answered by looking
//! through it. Only the plain data types are the operator's.

mod attempts;
mod cache;
mod host;
mod saved;

use lookaside_core::{
    Element, EventTime, Instant, JoinedRecord, LookupFailed, Options, Order, Outcome, Policy, Record, Request,
    RequestId, Rows, Stats,
};

use crate::host::Refusal;
use cache::NaiveCache;
use saved::Saved;

/// The reference operator.
#[derive(Debug, Clone)]
pub struct Model {
    options: Options,
    now: Instant,
    /// Accepted and not emitted, in order of arrival.
    elements: Vec<InQueue>,
    /// Restored, and not yet accepted.
    backlog: Vec<Saved>,
    requests: Vec<Request>,
    cache: NaiveCache,
    ended: bool,
    failed: bool,
    /// Unordered and key-ordered: records that fail it, each once so many more elements have left.
    failing: Vec<(usize, u64)>,
    stats: Stats,
    /// Counts everything that needs an order of its own.
    ticks: u64,
}

#[derive(Debug, Clone)]
struct InQueue {
    arrival: u64,
    accepted_at: Instant,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Record(Box<InFlight>),
    Watermark(EventTime),
    Idle,
    Active,
}

#[derive(Debug, Clone)]
struct InFlight {
    record: Record,
    state: State,
    attempt: u32,
    lookups: u32,
    missed: bool,
    deadline: Option<Instant>,
    /// When its deadline was set, among all that were.
    deadline_order: u64,
    last_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    /// Waits for the records of its key before it.
    Blocked,
    Running,
    /// Waits for another record's lookup, since so many ticks.
    Sharing(u64),
    /// Waits for the next attempt, none where that would come too late.
    Waiting(Option<Instant>),
    /// Done, as the so-manieth.
    Done(Outcome, Rows, u64),
}

/// The id that the record of that arrival has here.
fn id_of(arrival: u64) -> RequestId {
    RequestId(arrival + 1)
}

impl Model {
    fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            now: Instant(0),
            elements: Vec::new(),
            backlog: Vec::new(),
            requests: Vec::new(),
            cache: NaiveCache::default(),
            ended: false,
            failed: false,
            failing: Vec::new(),
            stats: Stats::default(),
            ticks: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    fn records(&self) -> impl Iterator<Item = (u64, &InFlight)> {
        self.elements.iter().filter_map(|element| match &element.what {
            What::Record(record) => Some((element.arrival, &**record)),
            _ => None,
        })
    }

    fn record(&mut self, arrival: u64) -> &mut InFlight {
        let found = self.elements.iter_mut().find_map(|element| match &mut element.what {
            What::Record(record) if element.arrival == arrival => Some(&mut **record),
            _ => None,
        });
        found.expect("the record is in flight")
    }

    fn may_take(&self) -> Result<(), Refusal> {
        match (self.failed, self.ended) {
            (true, _) => Err(Refusal::Spent),
            (_, true) => Err(Refusal::AfterEnd),
            _ if !self.backlog.is_empty() => Err(Refusal::Full),
            _ => Ok(()),
        }
    }

    fn has_room(&self, record: Option<&Record>) -> bool {
        let key_ordered = self.options.order == Order::KeyOrdered;
        let records = self.records().count();
        let capacity = self.options.capacity.get() as usize;
        // Key-ordered, barriers have as many places of their own; while those are taken, nothing is taken.
        let has_slot = match key_ordered {
            true => records < capacity && self.elements.len() - records < capacity,
            false => self.elements.len() < capacity,
        };
        match (record, self.options.max_bytes) {
            (None, _) if key_ordered => self.elements.len() - records < capacity,
            (None, _) => has_slot,
            (Some(record), Some(max)) => has_slot && (records == 0 || self.held() + bytes_of(record) <= max),
            (Some(_), None) => has_slot,
        }
    }

    fn held(&self) -> u64 {
        let held = |record: &InFlight| {
            let rows = match &record.state {
                State::Done(_, rows, _) => {
                    let bytes: u64 = rows.as_slice().iter().map(|row| row.len() as u64).sum();
                    bytes + 4 * rows.as_slice().len().saturating_sub(1) as u64
                }
                _ => 0,
            };
            bytes_of(&record.record) + rows
        };
        self.records().map(|(_, record)| held(record)).sum()
    }

    fn accept_record(&mut self, record: Record) {
        let arrival = self.tick();
        let state = State::Blocked;
        let (deadline, last_error) = (None, None);
        let in_flight =
            InFlight { record, state, attempt: 0, lookups: 0, missed: false, deadline, deadline_order: 0, last_error };
        self.elements.push(InQueue { arrival, accepted_at: self.now, what: What::Record(Box::new(in_flight)) });
        self.start_what_may();
    }

    /// Whether there is room for a watermark or status, or it needs none.
    fn has_room_for_barrier(&self, what: &What) -> bool {
        let merges = self.options.order == Order::KeyOrdered
            && matches!(
                (what, self.elements.last()),
                (What::Watermark(_), Some(InQueue { what: What::Watermark(_), .. }))
            );
        merges || self.has_room(None)
    }

    fn accept_barrier(&mut self, what: What) {
        // Key-ordered, watermarks that follow each other at once are one.
        if let (Order::KeyOrdered, What::Watermark(time), Some(InQueue { what: What::Watermark(last), .. })) =
            (self.options.order, &what, self.elements.last_mut())
        {
            *last = (*last).max(*time);
            return;
        }
        let arrival = self.tick();
        self.elements.push(InQueue { arrival, accepted_at: self.now, what });
    }

    fn policy(&self, outcome: Outcome) -> Policy {
        match outcome {
            Outcome::Found => Policy::Emit,
            Outcome::Missing => self.options.on_missing,
            Outcome::Failed => self.options.on_failure,
            Outcome::TimedOut => self.options.on_timeout,
        }
    }

    /// The next thing that only time moves: when, whether it is an attempt, an order, and whose.
    fn next_timer(&self) -> Option<(Instant, bool, u64, u64)> {
        let open = |record: &InFlight| !matches!(record.state, State::Done(..));
        let deadlines = self.records().filter(|(_, record)| open(record)).filter_map(|(arrival, record)| {
            record.deadline.map(|deadline| (deadline, false, record.deadline_order, arrival))
        });
        let retries = self.records().filter_map(|(arrival, record)| match record.state {
            State::Waiting(Some(due)) => Some((due, true, arrival, arrival)),
            _ => None,
        });
        deadlines.chain(retries).min()
    }

    fn advance(&mut self) {
        while let Some((due, is_attempt, _, arrival)) = self.next_timer() {
            if due > self.now {
                break;
            }
            let now = self.now;
            let record = self.record(arrival).clone();
            if !is_attempt {
                self.time_out(arrival, &record);
            } else if record.deadline.is_none_or(|deadline| now < deadline) {
                self.attempt(arrival);
            } else {
                // Too late by now: the deadline is due too.
                self.record(arrival).state = State::Waiting(None);
            }
            self.start_what_may();
        }
    }

    fn time_out(&mut self, arrival: u64, record: &InFlight) {
        let key = record.record.key.clone().expect("it has a key");
        if record.state == State::Running && self.options.cache.is_some() {
            let now = self.now;
            // The one with the most time left asks for all, of several the last to join.
            let sharing = self.sharing(&key).into_iter().map(|other| (self.record(other).deadline, other));
            let next = sharing.filter(|&(at, _)| at.is_none_or(|at| at > now)).max_by_key(|&(at, _)| at);
            let next = next.map(|(_, other)| other);
            if let Some(next) = next {
                self.ask(next);
            }
        }
        let timeout = self.options.timeout.expect("a deadline needs a timeout").as_millis();
        let message = match &record.last_error {
            Some(error) => format!("no answer within {timeout} ms; the last attempt was {error}"),
            None => format!("no answer within {timeout} ms"),
        };
        self.end(arrival, Outcome::TimedOut, Rows::from(message));
    }

    /// The place of the next element to leave.
    fn ready(&self) -> Option<usize> {
        let first = self.elements.first()?;
        let ordered = self.options.order == Order::Ordered;
        let done = |element: &InQueue| match &element.what {
            What::Record(record) => match record.state {
                State::Done(outcome, _, tick) if ordered || self.policy(outcome) != Policy::Fail => Some(tick),
                _ => None,
            },
            _ => Some(0),
        };
        if ordered || !matches!(first.what, What::Record(_)) {
            return done(first).map(|_| 0);
        }
        let segment = self.elements.iter().take_while(|element| matches!(element.what, What::Record(_)));
        segment.enumerate().filter_map(|(place, element)| Some((done(element)?, place))).min().map(|(_, place)| place)
    }

    /// How many elements may leave now, one behind another.
    fn leaving(&self) -> usize {
        let mut left = self.clone();
        std::iter::from_fn(|| left.ready().map(|place| left.elements.remove(place))).count()
    }

    /// The record whose turn to fail the operator it is.
    fn next_to_fail(&self) -> Option<u64> {
        match self.options.order {
            Order::Ordered => match self.elements.first() {
                Some(InQueue { arrival, what: What::Record(record), .. }) => match record.state {
                    State::Done(outcome, ..) => (self.policy(outcome) == Policy::Fail).then_some(*arrival),
                    _ => None,
                },
                _ => None,
            },
            _ => self.failing.first().filter(|(before, _)| *before == 0).map(|(_, arrival)| *arrival),
        }
    }

    /// Fails for good by the record whose turn it is.
    fn fail(&mut self, arrival: u64) -> Refusal {
        self.failed = true;
        self.requests.clear();
        let record = self.record(arrival).clone();
        let State::Done(outcome, rows, _) = record.state else { unreachable!("it is done") };
        let message = match rows.as_slice() {
            [message] => String::from_utf8_lossy(message).into_owned(),
            _ if record.record.key.is_some() => "on-missing is fail".into(),
            _ => "it has no key".into(),
        };
        Refusal::Failed(LookupFailed {
            id: id_of(arrival),
            key: record.record.key,
            outcome,
            attempts: record.attempt,
            message,
        })
    }

    fn take_one(&mut self) -> Option<Element> {
        let element = self.elements.remove(self.ready()?);
        self.failing.iter_mut().for_each(|(before, _)| *before -= 1);
        let taken = match element.what {
            What::Watermark(time) => Element::Watermark(time),
            What::Idle => Element::Idle,
            What::Active => Element::Active,
            What::Record(record) => {
                let InFlight { record, lookups, state, .. } = *record;
                let State::Done(outcome, rows, _) = state else { unreachable!("it is done") };
                if self.policy(outcome) == Policy::Drop {
                    self.stats.dropped += 1;
                    Element::Dropped
                } else {
                    self.stats.emitted += 1;
                    Element::Joined(JoinedRecord { record, outcome, rows, attempts: lookups })
                }
            }
        };
        if matches!(taken, Element::Watermark(_) | Element::Idle | Element::Active) {
            self.stats.barriers_emitted += 1;
        }
        self.admit_backlog();
        Some(taken)
    }

    fn admit_backlog(&mut self) {
        while let Some(saved) = self.backlog.first().cloned() {
            match saved {
                Saved::Record(record) if self.has_room(Some(&record)) => {
                    self.backlog.remove(0);
                    self.accept_record(record);
                }
                Saved::Watermark(time) if self.has_room_for_barrier(&What::Watermark(time)) => {
                    self.backlog.remove(0);
                    self.accept_barrier(What::Watermark(time));
                }
                Saved::Idle(idle) if self.has_room(None) => {
                    self.backlog.remove(0);
                    self.accept_barrier(if idle { What::Idle } else { What::Active });
                }
                _ => return,
            }
        }
    }
}

fn bytes_of(record: &Record) -> u64 {
    let length = |field: &Option<bytes::Bytes>| field.as_ref().map_or(0, bytes::Bytes::len);
    (length(&record.key) + length(&record.order_key) + record.payload.len()) as u64
}

fn order_key(record: &Record) -> Option<&bytes::Bytes> {
    record.order_key.as_ref().filter(|key| !key.is_empty()).or(record.key.as_ref())
}
