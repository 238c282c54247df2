//! Batches are a quicker way and no other one: an operator that is given records and answers in batches is at every step where
//! one is that is given them one by one.

use std::{collections::HashMap, time::Duration};

use lookaside_core::{
    Answer, CacheOptions, Element, EventTime, FailureKind, InFlight, Instant, LookupError, Operator, Options, Order,
    Policy, PollState, PushError, Record, RequestId, Retry, RetryOn, Rows,
    columns::{CompletionBatchBuilder, OutputBatchBuilder, RecordBatchBuilder},
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// What happens.
#[derive(Debug, Clone)]
enum Step {
    /// Records, each by what is special of it.
    Push(Vec<Special>),
    Watermark,
    Idle(bool),
    /// Answers to so many attempts that run, from one of them on, each with how it ended.
    Answer {
        first: usize,
        ends: Vec<End>,
        backwards: bool,
    },
    /// An answer that the operator has had, or an attempt that it did not make.
    AnswerAgain(usize),
    Wait(u64),
    /// Time passes, of which the operator learns with what happens next.
    Pass(u64),
    Poll {
        max: usize,
        max_bytes: usize,
    },
    Restore,
    End,
}

#[derive(Debug, Clone, Copy)]
enum Special {
    Nothing,
    Keyless,
    /// One of few lookup keys.
    Key(u8),
    /// One of few order keys, with a lookup key of its own or with none.
    OrderKey(u8, bool),
    Long,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Rows(u8),
    Failure(FailureKind, u64),
    /// Rows that were there so many milliseconds before they are handed over.
    Early(u64),
}

fn special() -> impl Strategy<Value = Special> {
    prop_oneof![
        30 => Just(Special::Nothing),
        1 => Just(Special::Keyless),
        2 => (0..3_u8).prop_map(Special::Key),
        2 => (0..3_u8, prop::bool::weighted(0.8)).prop_map(|(key, has_key)| Special::OrderKey(key, has_key)),
        1 => Just(Special::Long),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        20 => Just(End::Rows(1)),
        2 => (0..3_u8).prop_map(End::Rows),
        1 => (prop_oneof![Just(FailureKind::Unavailable), Just(FailureKind::Rejected)], 0..30_u64)
            .prop_map(|(kind, after)| End::Failure(kind, after)),
        1 => (0..40_u64).prop_map(End::Early),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(special(), 1..40).prop_map(Step::Push),
        2 => (257..700_usize).prop_map(|count| Step::Push(vec![Special::Nothing; count])),
        2 => Just(Step::Watermark),
        1 => any::<bool>().prop_map(Step::Idle),
        10 => (0..60_usize, prop::collection::vec(end(), 1..60), prop::bool::weighted(0.1))
            .prop_map(|(first, ends, backwards)| Step::Answer { first, ends, backwards }),
        4 => (1..1_000_usize).prop_map(|count| Step::Answer { first: 0, ends: vec![End::Rows(1); count], backwards: false }),
        1 => (0..100_usize).prop_map(Step::AnswerAgain),
        3 => (0..60_u64).prop_map(Step::Wait),
        2 => (0..60_u64).prop_map(Step::Pass),
        4 => (0..50_usize, prop_oneof![Just(usize::MAX), 1..3_000_usize])
            .prop_map(|(max, max_bytes)| Step::Poll { max, max_bytes }),
        4 => Just(Step::Poll { max: usize::MAX, max_bytes: usize::MAX }),
        1 => Just(Step::Restore),
        1 => prop_oneof![9 => Just(Step::Wait(1)), 1 => Just(Step::End)],
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let order = prop_oneof![Just(Order::Ordered), Just(Order::Unordered), Just(Order::KeyOrdered)];
    let policy = || prop_oneof![6 => Just(Policy::Emit), 2 => Just(Policy::Drop), 1 => Just(Policy::Fail)];
    let retry_on = prop_oneof![3 => Just(RetryOn::None), 1 => Just(RetryOn::Failure), 1 => Just(RetryOn::Both)];
    let capacity = prop_oneof![1..20_u32, 20..200_u32, Just(1_000_u32)];
    let max_bytes = prop::option::weighted(0.3, 1..4_000_u64);
    let timeout = prop::option::weighted(0.7, 20..100_u64);
    let policies = (policy(), policy(), policy());
    (order, capacity, max_bytes, timeout, policies, retry_on, prop::bool::weighted(0.2), any::<bool>()).prop_map(
        |(order, capacity, max_bytes, timeout, policies, on, has_cache, request_payload)| Options {
            order,
            capacity: capacity.try_into().unwrap(),
            max_bytes,
            timeout: timeout.map(Duration::from_millis),
            on_missing: policies.0,
            on_failure: policies.1,
            on_timeout: policies.2,
            retry: Retry { on, delay: Duration::from_millis(5), ..Retry::default() },
            cache: has_cache.then(|| CacheOptions::with_max_bytes(2_000)),
            request_payload,
        },
    )
}

/// An attempt that both operators make.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    in_batches: RequestId,
    one_by_one: RequestId,
    attempt: u32,
}

/// Two operators in the same situation.
struct Pair {
    options: Options,
    in_batches: Operator,
    one_by_one: Operator,
    now: Instant,
    pushed: u64,
    running: Vec<Attempt>,
    ended: Vec<Attempt>,
    /// The ids of the one that the other has.
    ids: HashMap<RequestId, RequestId>,
}

impl Pair {
    fn open(options: &Options) -> Self {
        let open = || Operator::open(options.clone(), Instant(0)).unwrap();
        Self {
            options: options.clone(),
            in_batches: open(),
            one_by_one: open(),
            now: Instant(0),
            pushed: 0,
            running: Vec::new(),
            ended: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// Carries a step out in both; false once they have failed.
    fn carry_out(&mut self, step: &Step) -> bool {
        let goes_on = match step {
            Step::Push(records) => {
                self.push(records);
                true
            }
            Step::Watermark => {
                let time = EventTime(self.pushed as i64);
                let taken = self.in_batches.push_watermark(time, self.now);
                assert_eq!(taken.is_ok(), self.one_by_one.push_watermark(time, self.now).is_ok());
                true
            }
            Step::Idle(idle) => {
                let taken = self.in_batches.push_idle(*idle, self.now);
                assert_eq!(taken.is_ok(), self.one_by_one.push_idle(*idle, self.now).is_ok());
                true
            }
            Step::Answer { first, ends, backwards } => {
                self.answer(*first, ends, *backwards);
                true
            }
            Step::AnswerAgain(which) => {
                self.answer_again(*which);
                true
            }
            Step::Wait(millis) => {
                self.now = Instant(self.now.0 + millis * MS);
                let advanced = self.in_batches.advance(self.now).map_err(|error| error.to_string());
                assert_eq!(advanced, self.one_by_one.advance(self.now).map_err(|error| error.to_string()));
                advanced.is_ok()
            }
            Step::Pass(millis) => {
                self.now = Instant(self.now.0 + millis * MS);
                true
            }
            Step::Poll { max, max_bytes } => self.poll(*max, *max_bytes),
            Step::Restore => {
                self.restore();
                true
            }
            Step::End => {
                let ended = self.in_batches.end_input(self.now).map_err(|error| error.to_string());
                assert_eq!(ended, self.one_by_one.end_input(self.now).map_err(|error| error.to_string()));
                ended.is_ok()
            }
        };
        self.note_requests();
        goes_on && self.compare()
    }

    fn push(&mut self, records: &[Special]) {
        let mut batch = RecordBatchBuilder::default();
        let mut singles = Vec::new();
        for (number, special) in (self.pushed..).zip(records) {
            let payload = match special {
                Special::Long => vec![b'l'; 500],
                _ => vec![b'p'; (number % 7) as usize],
            };
            let mut record = Record::new(format!("k{number}"), payload).at(EventTime(number as i64));
            match special {
                Special::Keyless => record.key = None,
                Special::Key(key) => record.key = Some(format!("shared{key}").into()),
                Special::OrderKey(key, has_key) => {
                    record.order_key = Some(format!("order{key}").into());
                    record.key = record.key.filter(|_| *has_key);
                }
                Special::Nothing | Special::Long => {}
            }
            batch.push(&record);
            singles.push(record);
        }
        let mut alone = 0;
        for record in singles {
            match self.one_by_one.push_record(record, self.now) {
                Ok(()) => alone += 1,
                Err(PushError::Full(_) | PushError::AfterEnd) => break,
                Err(error) => panic!("{error}"),
            }
        }
        match self.in_batches.push_records(batch.build(), self.now) {
            Ok(taken) => assert_eq!(taken, alone),
            Err(PushError::AfterEnd) => assert_eq!(alone, 0),
            Err(error) => panic!("{error}"),
        }
        self.pushed += alone as u64;
    }

    fn answer(&mut self, first: usize, ends: &[End], backwards: bool) {
        let first = first.min(self.running.len());
        let last = (first + ends.len()).min(self.running.len());
        let mut answered: Vec<Attempt> = self.running.drain(first..last).collect();
        if backwards {
            answered.reverse();
        }
        let answers = answered.iter().zip(ends).map(|(&attempt, end)| {
            let (arrival, result) = match end {
                End::Rows(count) => {
                    (self.now, Ok((0..*count).map(|row| vec![b'r'; usize::from(row)].into()).collect()))
                }
                End::Early(millis) => (Instant(self.now.0.saturating_sub(millis * MS)), Ok(Rows::from("early"))),
                End::Failure(kind, after) => {
                    let mut error = LookupError::new(*kind, "it is down");
                    error.retry_after = (*after > 20).then(|| Duration::from_millis(*after));
                    (self.now, Err(error))
                }
            };
            (attempt, arrival, result)
        });
        let answers: Vec<_> = answers.collect();
        self.ended.extend(answered);
        self.hand_over(&answers);
    }

    fn answer_again(&mut self, which: usize) {
        let Some(&attempt) = self.ended.get(which) else { return };
        let next = Attempt { attempt: attempt.attempt + 5, ..attempt };
        self.hand_over(&[(attempt, self.now, Ok(Rows::from("late"))), (next, self.now, Ok(Rows::from("never asked")))]);
    }

    fn hand_over(&mut self, answers: &[(Attempt, Instant, Result<Rows, LookupError>)]) {
        let answer = |id, attempt: &Attempt, arrival: &Instant, result: &Result<Rows, LookupError>| Answer {
            id,
            attempt: attempt.attempt,
            arrival: *arrival,
            result: result.clone(),
        };
        let mut batch = CompletionBatchBuilder::default();
        for (attempt, arrival, result) in answers {
            batch.push(&answer(attempt.in_batches, attempt, arrival, result));
            self.one_by_one.complete(answer(attempt.one_by_one, attempt, arrival, result), self.now).unwrap();
        }
        self.in_batches.complete_all(batch.build(), self.now).unwrap();
    }

    fn poll(&mut self, max: usize, max_bytes: usize) -> bool {
        let mut columns = OutputBatchBuilder::default();
        let together = self.in_batches.next_outputs(&mut columns, max, max_bytes).map_err(|error| error.to_string());
        let mut elements = Vec::new();
        let mut bytes = 0;
        for taken in 0..max {
            if taken > 0 && self.one_by_one.fails_next() {
                break;
            }
            let element = match self.one_by_one.next_output() {
                Ok(Some(element)) => element,
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(together, Err(error.to_string()));
                    return false;
                }
            };
            if let Element::Joined(joined) = &element {
                let record = &joined.record;
                let order_key = record.order_key.as_ref().map_or(0, |key| key.len());
                bytes += record.key.as_ref().map_or(0, |key| key.len()) + order_key + record.payload.len();
                let rows = joined.rows.as_slice();
                bytes += rows.iter().map(|row| row.len()).sum::<usize>() + 4 * rows.len().saturating_sub(1);
            }
            // An order key goes in and does not come out.
            elements.extend(match element {
                Element::Dropped => None,
                Element::Joined(mut joined) => {
                    joined.record.order_key = None;
                    Some(Element::Joined(joined))
                }
                other => Some(other),
            });
            if bytes >= max_bytes {
                break;
            }
        }
        assert_eq!(together, Ok(()));
        let together: Vec<Element> = columns.build().iter().collect();
        assert_eq!(together, elements);
        true
    }

    fn restore(&mut self) {
        let snapshot = self.in_batches.snapshot().unwrap();
        assert_eq!(snapshot, self.one_by_one.snapshot().unwrap());
        self.now = Instant(0);
        let options = &self.options;
        let restored = || Operator::restore(options.clone(), &snapshot, Instant(0)).unwrap();
        (self.in_batches, self.one_by_one) = (restored(), restored());
        (self.running, self.ended) = (Vec::new(), Vec::new());
        self.ids.clear();
    }

    fn note_requests(&mut self) {
        let together = self.in_batches.take_requests().build();
        let mut together = together.iter();
        while let Some(alone) = self.one_by_one.next_request() {
            let request = together.next().expect("both ask for the same");
            let ids = Attempt { in_batches: request.id, one_by_one: alone.id, attempt: request.attempt };
            let told = |id, request: lookaside_core::Request| lookaside_core::Request { id, ..request };
            assert_eq!(told(alone.id, request), alone);
            let known = self.ids.insert(ids.in_batches, ids.one_by_one);
            assert!(known.is_none_or(|id| id == ids.one_by_one), "an id was given twice");
            self.running.push(ids);
        }
        assert_eq!(together.next(), None);
    }

    /// Compares what can be seen from outside; false once they have failed.
    fn compare(&mut self) -> bool {
        assert_eq!(self.in_batches.stats(), self.one_by_one.stats());
        assert_eq!(self.in_batches.room(), self.one_by_one.room());
        assert_eq!(self.in_batches.wake_at(), self.one_by_one.wake_at());
        assert_eq!(self.in_batches.poll_state(), self.one_by_one.poll_state());
        let mut together = self.in_batches.inspect(self.now, usize::MAX);
        for seen in &mut together {
            seen.id = seen.id.map(|id| self.ids.get(&id).copied().unwrap_or(id));
        }
        let alone: Vec<InFlight> = self.one_by_one.inspect(self.now, usize::MAX);
        let without_new_ids = |seen: &[InFlight]| -> Vec<InFlight> {
            let is_known = |id: &RequestId| self.ids.values().any(|known| known == id);
            seen.iter().map(|seen| InFlight { id: seen.id.filter(is_known), ..seen.clone() }).collect()
        };
        // One that the cache answered, or that shares a lookup, has an id that no request told.
        if self.options.cache.is_some() {
            assert_eq!(without_new_ids(&together), without_new_ids(&alone));
        } else {
            assert_eq!(together, alone);
        }
        for max in [0, 1, alone.len() / 2] {
            let few = self.one_by_one.inspect(self.now, max);
            assert_eq!(few, alone[..max.min(alone.len())], "the oldest of them");
            assert_eq!(self.in_batches.inspect(self.now, max).len(), few.len());
        }
        let snapshot = self.in_batches.snapshot().map_err(|error| error.to_string());
        assert_eq!(snapshot, self.one_by_one.snapshot().map_err(|error| error.to_string()));
        snapshot.is_ok()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_do_what_records_do_one_by_one(options in options(), steps in prop::collection::vec(step(), 1..40)) {
        let mut pair = Pair::open(&options);
        for step in &steps {
            if !pair.carry_out(step) {
                return Ok(());
            }
        }
        if options.on_timeout == Policy::Fail {
            return Ok(());
        }
        // Whatever is left gets to its end.
        pair.carry_out(&Step::End);
        for _ in 0..5_000 {
            let answers = vec![End::Rows(1); 300];
            if !pair.carry_out(&Step::Answer { first: 0, ends: answers, backwards: false })
                || !pair.carry_out(&Step::Poll { max: usize::MAX, max_bytes: usize::MAX })
            {
                return Ok(());
            }
            if pair.in_batches.poll_state() == PollState::Drained {
                return Ok(());
            }
            if !pair.carry_out(&Step::Wait(101)) {
                return Ok(());
            }
        }
        prop_assert!(false, "records are left: {:?}", pair.in_batches.stats());
    }
}
