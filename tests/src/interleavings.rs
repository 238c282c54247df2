//! Every interleaving of a few records: each order of push, answer, failure, deadline, retry, poll,
//! watermark, snapshot and restore, against the naive model at every step.

use std::{collections::HashMap, time::Duration};

use crate::{host::Host, model::Model, situation};
use lookaside_core::{
    Answer, CacheOptions, Element, EventTime, FailureKind, Instant, LookupError, Operator, Options, Order, Policy,
    PollState, Record, RequestId, Retry, RetryOn, Rows,
};

const MS: u64 = 1_000_000;

/// What may happen, in all.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Records that are pushed.
    pub records: usize,
    /// Watermarks that are pushed.
    pub watermarks: usize,
    /// Restores from a snapshot that was taken at once.
    pub restores: usize,
    /// Whether lookups may fail.
    pub failures: bool,
    /// Whether all records have the same lookup key, and share their lookups.
    pub shared: bool,
}

/// An operator and the model in the same situation.
#[derive(Clone)]
struct World {
    operator: Operator,
    model: Model,
    now: Instant,
    pushed: usize,
    watermarks: usize,
    restores: usize,
    /// Attempts without an answer: the ids on both sides.
    asked: Vec<(RequestId, RequestId, u32)>,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    Push,
    Watermark,
    Answer(usize),
    Fail(usize),
    Wake,
    Poll,
    Restore,
}

impl World {
    fn new(options: &Options) -> Self {
        Self {
            operator: Operator::open(options.clone(), Instant(0)).expect("options that can be used"),
            model: Model::open(options),
            now: Instant(0),
            pushed: 0,
            watermarks: 0,
            restores: 0,
            asked: Vec::new(),
        }
    }

    fn moves(&self, bounds: Bounds) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.pushed < bounds.records {
            moves.push(Move::Push);
        }
        if self.watermarks < bounds.watermarks {
            moves.push(Move::Watermark);
        }
        moves.extend((0..self.asked.len()).map(Move::Answer));
        if bounds.failures {
            moves.extend((0..self.asked.len()).map(Move::Fail));
        }
        if self.operator.clone().wake_at().is_some() {
            moves.push(Move::Wake);
        }
        if self.operator.poll_state() == PollState::Ready {
            moves.push(Move::Poll);
        }
        if self.restores < bounds.restores && self.pushed > 0 {
            moves.push(Move::Restore);
        }
        moves
    }

    fn carry_out(&mut self, which: Move, bounds: Bounds, options: &Options) {
        match which {
            Move::Push => self.push(bounds),
            Move::Watermark => {
                let taken = self.operator.push_watermark(EventTime(7), self.now).is_ok();
                assert_eq!(self.model.push_watermark(EventTime(7), self.now).is_ok(), taken);
                self.watermarks += usize::from(taken);
            }
            Move::Answer(which) => self.answer(which, Ok(Rows::from("row"))),
            Move::Fail(which) => self.answer(which, Err(LookupError::new(FailureKind::Unavailable, "down"))),
            Move::Wake => self.now = self.operator.wake_at().expect("there is a timer").max(self.now),
            Move::Poll => {
                let element = self.operator.next_output().expect("nothing fails");
                let (model, _) = self.model.poll(1, self.now).expect("nothing fails");
                let element: Vec<Element> =
                    element.into_iter().filter(|element| *element != Element::Dropped).collect();
                assert_eq!(model, element);
            }
            Move::Restore => self.restore(options),
        }
        self.operator.advance(self.now).expect("nothing fails");
        self.model.poll(0, self.now).expect("nothing fails");
        self.note_requests();
        self.compare();
    }

    fn push(&mut self, bounds: Bounds) {
        let key = if bounds.shared { "k".to_owned() } else { format!("k{}", self.pushed) };
        // Two of them share an order key.
        let order_key = Some(format!("o{}", self.pushed / 2).into());
        let record =
            Record { order_key, ..Record::new(key, self.pushed.to_string()) }.at(EventTime(self.pushed as i64));
        let taken = self.operator.push_record(record.clone(), self.now).is_ok();
        assert_eq!(self.model.push_record(record, self.now).is_ok(), taken);
        self.pushed += usize::from(taken);
    }

    fn answer(&mut self, which: usize, result: Result<Rows, LookupError>) {
        let (id, model_id, attempt) = self.asked.remove(which);
        let answer = |id| Answer { id, attempt, arrival: self.now, result: result.clone() };
        let verdict = self.operator.complete(answer(id), self.now).expect("nothing fails");
        self.operator.advance(self.now).expect("nothing fails");
        assert_eq!(self.model.answer(answer(model_id), self.now), Ok(verdict));
    }

    fn restore(&mut self, options: &Options) {
        self.restores += 1;
        let options = Options { capacity: 2.try_into().expect("not zero"), ..options.clone() };
        let snapshot = self.operator.snapshot().expect("nothing failed");
        self.operator = Operator::restore(options.clone(), &snapshot, Instant(0)).expect("its own snapshot");
        let snapshot = self.model.snapshot().expect("nothing failed");
        self.model = Model::restore(&options, &snapshot).expect("its own snapshot");
        self.now = Instant(0);
        self.asked.clear();
    }

    fn note_requests(&mut self) {
        let requests: Vec<_> = std::iter::from_fn(|| self.operator.next_request()).collect();
        let expected = self.model.take_requests();
        assert_eq!(requests.len(), expected.len());
        for (request, expected) in requests.iter().zip(&expected) {
            assert_eq!(
                (request.attempt, request.deadline, &request.key),
                (expected.attempt, expected.deadline, &expected.key)
            );
            assert!(request.deadline > self.now, "no attempt starts at its deadline or after it");
            self.asked.push((request.id, expected.id, request.attempt));
        }
    }

    fn compare(&mut self) {
        let stats = self.operator.stats();
        assert_eq!(stats, self.model.stats());
        assert_eq!(stats.accepted + stats.restored, stats.emitted + stats.dropped + stats.in_flight);
        assert_eq!(self.operator.wake_at(), self.model.wake_at());
        assert!(stats.lookups_in_flight == 0 || self.operator.wake_at().is_some(), "nothing would wake the host");
    }

    /// Equal keys mean equal futures.
    fn key(&self) -> u64 {
        let Self { operator, now, pushed, watermarks, restores, asked, model: _ } = self;
        situation::hash(format_args!("{operator:?} {now:?} {pushed} {watermarks} {restores} {asked:?}"))
    }
}

/// How many interleavings begin here; each situation is looked at once.
fn explore(world: &World, bounds: Bounds, options: &Options, seen: &mut HashMap<u64, u128>) -> u128 {
    let key = world.key();
    if let Some(&count) = seen.get(&key) {
        return count;
    }
    let moves = world.moves(bounds);
    let mut count = 0;
    for which in &moves {
        let mut next = world.clone();
        next.carry_out(*which, bounds, options);
        // A push or watermark that was refused, and a clock that did not move, lead nowhere new.
        count += if next.key() == key { 0 } else { explore(&next, bounds, options, seen) };
    }
    if moves.is_empty() {
        let stats = world.operator.stats();
        assert_eq!((stats.in_flight, stats.barriers_in_flight), (0, 0), "it ends with everything emitted");
        count = 1;
    }
    seen.insert(key, count);
    count
}

/// Goes through all interleavings within `bounds`; says how many there are, and how many different
/// situations they lead to.
///
/// # Panics
///
/// Where the operator and the model disagree, or a law is broken.
#[must_use]
pub fn count(order: Order, bounds: Bounds) -> (u128, usize) {
    let options = Options {
        order,
        capacity: 3.try_into().expect("not zero"),
        timeout: Some(Duration::from_nanos(10 * MS)),
        on_failure: Policy::Emit,
        on_timeout: Policy::Emit,
        retry: Retry { on: RetryOn::Failure, attempts: 1, delay: Duration::from_nanos(4 * MS), ..Retry::default() },
        cache: bounds.shared.then(|| CacheOptions::with_max_bytes(1 << 20)),
        ..Options::default()
    };
    let mut seen = HashMap::new();
    let interleavings = explore(&World::new(&options), bounds, &options, &mut seen);
    (interleavings, seen.len())
}
