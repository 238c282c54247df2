//! Every interleaving of a mailbox loop with what it waits for: answers, time, its reader and its source.
//!
//! The operator and the loop's decisions are the real ones; the mailbox, the permit of the output and the sleep are
//! modelled, and every step of the loop may be followed by any of the others' steps. A loop must never sleep while it
//! could do something that nobody will wake it for.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use lookaside_core::{
    Answer, CacheOptions, Element, EventTime, FailureKind, Instant, LookupError, Operator, Options, Order, Outcome,
    Policy, PollState, PushError, Record, Request, Retry, RetryOn, Rows,
};
use lookaside_feeder::{Feeder, Next};

use crate::situation;

const MS: u64 = 1_000_000;
const TIMEOUT: u64 = 10 * MS;

/// What may happen, in all.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Records and watermarks that the source gives: a watermark is behind every second record.
    pub records: usize,
    /// Statuses that the source gives at the end, idle and active by turns.
    pub statuses: usize,
    /// Elements that the operator has room for.
    pub capacity: u32,
    /// Answers that one take gives at most, as a limit of bytes does.
    pub taken_at_once: usize,
    /// Answers that come twice.
    pub repeated: usize,
    /// Whether lookups may fail, and are then retried.
    pub failures: bool,
    /// Whether records time out.
    pub times_out: bool,
    /// Whether all records have the same key, and share their lookups.
    pub shared: bool,
}

/// Where the loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before it offers input.
    Push,
    /// Before it polls.
    Poll,
    /// After a poll that took answers or none, before it decides.
    Decide { state: PollState, took_answers: bool },
    /// It sleeps until it is woken.
    Asleep { wake_at: Option<Instant>, wants_room: bool, wants_input: bool },
    /// Everything has left.
    Over,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    /// The loop's next step.
    Step,
    Answer(usize),
    Fail(usize),
    /// An answer that was given comes once more.
    Repeat,
    /// The reader takes the outputs.
    Read,
    /// The source has one more element, or its end.
    Source,
    /// The next timer is due.
    Time,
}

#[derive(Debug, Clone)]
struct World {
    operator: Operator,
    feeder: Feeder,
    at: At,
    now: Instant,
    /// Elements that the source has given, and that were read, pushed and emitted.
    given: usize,
    read: usize,
    pushed: usize,
    emitted: usize,
    /// Whether the source's end is there.
    has_ended: bool,
    mailbox: VecDeque<Answer>,
    /// Whether an answer arrived since the loop last waited for one.
    is_notified: bool,
    /// Whether outputs wait for their reader: there is one place.
    is_full: bool,
    asked: Vec<Request>,
    /// The answer that may come again.
    last_answer: Option<Answer>,
    repeated: usize,
    /// Whether the turn has done anything, and how many have done nothing since one did.
    has_acted: bool,
    turns_for_nothing: usize,
    /// The keys of records whose rows came in time.
    found_in_time: Vec<Bytes>,
}

impl World {
    fn new(options: &Options) -> Self {
        Self {
            operator: Operator::open(options.clone(), Instant(0)).expect("options that can be used"),
            feeder: Feeder::new(options.capacity.get()),
            at: At::Push,
            now: Instant(0),
            given: 0,
            read: 0,
            pushed: 0,
            emitted: 0,
            has_ended: false,
            mailbox: VecDeque::new(),
            is_notified: false,
            is_full: false,
            asked: Vec::new(),
            last_answer: None,
            repeated: 0,
            has_acted: false,
            turns_for_nothing: 0,
            found_in_time: Vec::new(),
        }
    }

    fn moves(&self, bounds: Bounds) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.can_step(bounds) {
            moves.push(Move::Step);
        }
        moves.extend((0..self.asked.len()).map(Move::Answer));
        if bounds.failures {
            moves.extend((0..self.asked.len()).map(Move::Fail));
        }
        if self.last_answer.is_some() && self.repeated < bounds.repeated {
            moves.push(Move::Repeat);
        }
        if self.is_full {
            moves.push(Move::Read);
        }
        if !self.has_ended {
            moves.push(Move::Source);
        }
        if self.operator.clone().wake_at().is_some_and(|wake_at| wake_at > self.now) {
            moves.push(Move::Time);
        }
        moves
    }

    /// Whether the loop is awake, or something wakes it.
    fn can_step(&self, bounds: Bounds) -> bool {
        match self.at {
            At::Push | At::Poll | At::Decide { .. } => true,
            At::Asleep { wake_at, wants_room, wants_input } => {
                self.is_notified
                    || wake_at.is_some_and(|wake_at| wake_at <= self.now)
                    || (wants_room && !self.is_full)
                    || (wants_input && self.can_read(bounds))
            }
            At::Over => false,
        }
    }

    fn can_read(&self, bounds: Bounds) -> bool {
        self.read < self.given || (self.has_ended && self.read == elements(bounds) && self.feeder.is_open())
    }

    fn carry_out(&mut self, which: Move, bounds: Bounds) {
        match which {
            Move::Step => self.step(bounds),
            Move::Answer(which) => self.answer(which, bounds, Ok(Rows::from("row"))),
            Move::Fail(which) => self.answer(which, bounds, Err(LookupError::new(FailureKind::Unavailable, "down"))),
            Move::Repeat => {
                self.repeated += 1;
                // It is in front of what is still to come.
                let answer = self.last_answer.clone().expect("one was given");
                self.deliver(answer);
            }
            Move::Read => self.is_full = false,
            Move::Source if self.given < elements(bounds) => self.given += 1,
            Move::Source => self.has_ended = true,
            Move::Time => self.now = self.operator.wake_at().expect("a timer runs"),
        }
    }

    fn step(&mut self, bounds: Bounds) {
        self.at = match self.at {
            At::Push => {
                self.push(bounds);
                At::Poll
            }
            At::Poll => self.poll(bounds),
            At::Decide { state, took_answers } => self.decide(state, took_answers, bounds),
            At::Asleep { .. } => {
                self.is_notified = false;
                if self.read < self.given {
                    self.read += 1;
                } else if self.can_read(bounds) {
                    self.feeder.exhaust();
                }
                At::Push
            }
            At::Over => At::Over,
        };
    }

    fn push(&mut self, bounds: Bounds) {
        loop {
            let kind = if is_record(self.pushed, bounds) { Next::Records } else { Next::Barrier };
            let next = (self.pushed < self.read).then_some(kind);
            if self.feeder.offer(next) == 0 {
                break;
            }
            self.take_answers(bounds);
            let place = self.pushed as i64;
            let pushed = if next == Some(Next::Records) {
                let key = if bounds.shared { "k".to_owned() } else { format!("k{place}") };
                let record = Record { order_key: Some("o".into()), ..Record::new(key, place.to_string()) };
                self.operator.push_record(record.at(EventTime(place)), self.now)
            } else if self.pushed < records_and_watermarks(bounds) {
                self.operator.push_watermark(EventTime(place), self.now)
            } else {
                self.operator.push_idle(self.pushed.is_multiple_of(2), self.now)
            };
            let is_taken = match pushed {
                Ok(()) => true,
                Err(PushError::Full(_)) => false,
                Err(error) => panic!("{error}"),
            };
            match next {
                Some(Next::Records) => self.feeder.took_records(u32::from(is_taken), 1),
                _ => self.feeder.took_barrier(is_taken),
            }
            self.pushed += usize::from(is_taken);
            self.has_acted |= is_taken;
            self.note_requests();
        }
        if self.feeder.should_end(self.pushed < self.read) {
            self.take_answers(bounds);
            self.operator.end_input(self.now).expect("nothing fails");
            self.feeder.ended();
            self.has_acted = true;
        }
    }

    fn poll(&mut self, bounds: Bounds) -> At {
        let took_answers = self.take_answers(bounds);
        if !self.is_full {
            while let Some(element) = self.operator.next_output().expect("nothing fails") {
                self.is_full = true;
                self.has_acted = true;
                self.emitted += 1;
                if let Element::Joined(joined) = element
                    && joined.outcome == Outcome::TimedOut
                {
                    let key = joined.record.key.expect("it has one");
                    assert!(!self.found_in_time.contains(&key), "{key:?} was answered in time and timed out");
                }
            }
        }
        self.note_requests();
        self.feeder.polled(self.operator.room());
        At::Decide { state: self.operator.poll_state(), took_answers }
    }

    /// As the component does at the begin of each call.
    fn take_answers(&mut self, bounds: Bounds) -> bool {
        let mut took_any = false;
        loop {
            let most = (self.operator.lookups_in_flight() as usize).saturating_add(1);
            let taken: Vec<Answer> =
                (0..most.min(bounds.taken_at_once)).map_while(|_| self.mailbox.pop_front()).collect();
            let count = taken.len();
            took_any |= count > 0;
            self.has_acted |= count > 0;
            for answer in taken {
                self.operator.complete(answer, self.now).expect("nothing fails");
            }
            if count == 0 || !(self.operator.is_due(self.now) || count >= most) {
                break;
            }
        }
        self.operator.advance(self.now).expect("nothing fails");
        took_any
    }

    fn decide(&mut self, state: PollState, took_answers: bool, bounds: Bounds) -> At {
        if state == PollState::Drained {
            return At::Over;
        }
        let is_ready = state == PollState::Ready;
        let has_answers = took_answers && !self.mailbox.is_empty();
        if self.feeder.goes_on(self.pushed < self.read, has_answers, is_ready && !self.is_full) {
            self.turns_for_nothing = if self.has_acted { 0 } else { self.turns_for_nothing + 1 };
            self.has_acted = false;
            assert!(self.turns_for_nothing < 3, "it turns for nothing: {self:?}");
            return At::Push;
        }
        (self.turns_for_nothing, self.has_acted) = (0, false);
        let wants_input = self.feeder.is_open() && self.read - self.pushed < self.feeder.room().max(1) as usize;
        let asleep = At::Asleep { wake_at: self.operator.wake_at(), wants_room: is_ready, wants_input };
        self.at = asleep;
        assert!(self.mailbox.is_empty() || self.can_step(bounds), "it sleeps while answers wait: {self:?}");
        asleep
    }

    fn answer(&mut self, which: usize, bounds: Bounds, result: Result<Rows, LookupError>) {
        let request = self.asked.remove(which);
        // Of a shared key, others may have been answered.
        if !bounds.shared && self.now < request.deadline && result.is_ok() {
            self.found_in_time.push(request.key);
        }
        self.deliver(Answer { id: request.id, attempt: request.attempt, arrival: self.now, result });
    }

    fn deliver(&mut self, answer: Answer) {
        self.last_answer = Some(answer.clone());
        self.mailbox.push_back(answer);
        self.is_notified = true;
    }

    fn note_requests(&mut self) {
        self.asked.extend(std::iter::from_fn(|| self.operator.next_request()));
    }

    /// Equal keys mean equal futures.
    fn key(&self) -> u64 {
        situation::hash(format_args!("{self:?}"))
    }
}

/// Every third element is a watermark, up to the statuses.
fn is_record(place: usize, bounds: Bounds) -> bool {
    place < records_and_watermarks(bounds) && place % 3 != 2
}

fn records_and_watermarks(bounds: Bounds) -> usize {
    bounds.records + (bounds.records - 1) / 2
}

fn elements(bounds: Bounds) -> usize {
    records_and_watermarks(bounds) + bounds.statuses
}

/// Goes through all interleavings within `bounds`; says how many different situations they lead to.
///
/// # Panics
///
/// If the loop sleeps though it could go on, if something never leaves, or if an answer that came in time is lost.
#[must_use]
pub fn count(order: Order, bounds: Bounds) -> usize {
    let retry = Retry { on: RetryOn::Failure, attempts: 1, delay: Duration::from_nanos(4 * MS), ..Retry::default() };
    let options = Options {
        order,
        capacity: bounds.capacity.try_into().expect("not zero"),
        timeout: bounds.times_out.then_some(Duration::from_nanos(TIMEOUT)),
        on_failure: Policy::Emit,
        on_timeout: Policy::Emit,
        retry: if bounds.failures { retry } else { Retry::default() },
        cache: bounds.shared.then(|| CacheOptions::with_max_bytes(1 << 20)),
        ..Options::default()
    };
    let mut seen = HashSet::new();
    let mut open = vec![World::new(&options)];
    while let Some(world) = open.pop() {
        let moves = world.moves(bounds);
        if moves.is_empty() {
            assert_eq!(world.at, At::Over, "nothing can happen any more: {world:?}");
            assert_eq!(world.emitted, elements(bounds), "everything leaves");
        }
        for which in moves {
            let mut next = world.clone();
            next.carry_out(which, bounds);
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
    }
    seen.len()
}
