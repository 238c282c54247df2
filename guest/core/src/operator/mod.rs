//! The operator: inputs change its state, outputs are taken one by one.

mod admission;
mod answers;
mod arrivals;
mod attempts;
mod checkpoint;
mod compaction;
mod emission;
mod look;
mod run;
mod time;

use alloc::{boxed::Box, collections::VecDeque, string::String};

use crate::{
    EventTime, Instant, LookupFailed, OperatorError, Options, Outcome, PushError, Record, Request, Stats,
    batches::{Batches, Held},
    cache::Cache,
    columns::RequestBatchBuilder,
    finds::{Find, Finds},
    flights::Flights,
    key_order::KeyOrder,
    queue::{BarrierKind, Segment, StreamElementQueue},
    slots::{Slot, Slots},
    snapshot::SavedElement,
    timers::{Deadlines, HasDeadline, Neighbours, Retries},
};
use run::Run;

/// What to expect of the next [`Operator::next_output`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PollState {
    /// An element is ready now.
    Ready,
    /// Nothing is ready before an answer, new input or [`Operator::wake_at`].
    Waiting,
    /// The input has ended and everything has left.
    Drained,
}

/// Joins each record with the rows that an asynchronous lookup finds for its key.
///
/// **After each input, start what [`Self::next_request`] gives, and take [`Self::next_output`]
/// until it gives nothing.** Call [`Self::advance`] at [`Self::wake_at`] though nothing else
/// happens.
///
/// An instant before one that the operator has seen counts as that one.
#[derive(Debug, Clone)]
pub struct Operator {
    options: Options,
    records: Slots<InFlightRecord>,
    /// What the records in flight came in, and what was found for them came in.
    batches: Batches,
    finds: Finds,
    /// Records and barriers in flight, in the order in which they may leave.
    queue: StreamElementQueue,
    /// Restored elements that wait for room; nothing new is taken before them.
    backlog: VecDeque<SavedElement>,
    /// Attempts that the driver has not taken yet, and how many of them it has taken one by one.
    requests: RequestBatchBuilder,
    requests_taken: usize,
    /// The records whose keys are to be written to `requests`.
    request_keys: Run,
    deadlines: Deadlines,
    retries: Retries,
    keys: KeyOrder,
    cache: Option<Cache>,
    flights: Flights,
    /// Records whose turn has come: their key is free.
    to_start: VecDeque<Slot>,
    now: Instant,
    /// The place in the stream that the next element gets.
    next_arrival: u64,
    input_ended: bool,
    failed: Option<Box<LookupFailed>>,
    /// Barriers in the queue.
    queued_barriers: usize,
    /// Bytes of the records in the queue, and of the rows found for them.
    queued_bytes: u64,
    /// Records whose lookup has begun and not ended.
    lookups_in_flight: u64,
    /// The counters; its gauges stay 0 here.
    counters: Stats,
}

/// A record from its admission to its leaving.
#[derive(Debug, Clone)]
struct InFlightRecord {
    held: Held,
    has_key: bool,
    /// Of the record, and of the rows found for it.
    bytes: usize,
    arrival: u64,
    segment: Segment,
    /// Of its newest attempt, shared ones included; 0 before the first.
    attempt: u32,
    /// Lookups made for it alone or for others too.
    lookups: u32,
    /// Its last attempt was a miss, so a cached miss is no news to it.
    missed: bool,
    /// [`Instant::NEVER`] before its first attempt, and where nothing times out.
    deadline: Instant,
    /// In the list of deadlines.
    neighbours: Neighbours,
    /// What the last failed attempt said.
    last_error: LastError,
    state: RecordState,
}

/// A text that few records have, in a pointer's bytes.
#[derive(Debug, Clone, Default)]
#[expect(clippy::box_collection, reason = "the text's own three words would count for each record")]
struct LastError(Option<Box<String>>);

/// What a record holds beside its key and payload is a promise: these, a place in the queue, and 16 bytes of its columns.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(Slots::<InFlightRecord>::PLACE <= 80);

#[derive(Debug, Clone, Copy)]
enum RecordState {
    /// Key-ordered: an earlier record of its key is being looked up.
    Blocked,
    /// An attempt runs.
    Running {
        /// Which it makes for others too.
        flight: Option<Slot>,
    },
    /// Another record's attempt for the same key runs.
    Sharing,
    /// The delay before the next attempt runs.
    Waiting,
    Done {
        outcome: Outcome,
        find: Find,
    },
}

impl HasDeadline for InFlightRecord {
    fn neighbours(&mut self) -> &mut Neighbours {
        &mut self.neighbours
    }
}

impl InFlightRecord {
    #[inline]
    fn is_done(&self) -> bool {
        matches!(self.state, RecordState::Done { .. })
    }
}

impl Operator {
    /// An operator without elements.
    ///
    /// # Errors
    ///
    /// [`RefusedOption`](crate::RefusedOption) where the options cannot be used; see [`Options::checked`].
    pub fn open(options: Options, now: Instant) -> Result<Self, crate::RefusedOption> {
        Ok(Self::new(options.checked()?, now))
    }

    fn new(options: Options, now: Instant) -> Self {
        Self {
            queue: StreamElementQueue::new(options.order),
            records: Slots::new(),
            batches: Batches::new(),
            finds: Finds::new(),
            backlog: VecDeque::new(),
            requests: RequestBatchBuilder::default(),
            requests_taken: 0,
            request_keys: Run::default(),
            deadlines: Deadlines::default(),
            retries: Retries::default(),
            keys: KeyOrder::new(),
            cache: options.cache.clone().map(Cache::new),
            flights: Flights::new(),
            to_start: VecDeque::new(),
            now,
            next_arrival: 0,
            input_ended: false,
            failed: None,
            queued_barriers: 0,
            queued_bytes: 0,
            lookups_in_flight: 0,
            counters: Stats::default(),
            options,
        }
    }

    /// The settings that it was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Offers a watermark: records with event times at or before `time` have all been pushed.
    ///
    /// # Errors
    ///
    /// [`PushError`]; the operator is unchanged.
    pub fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), PushError> {
        self.push_barrier(BarrierKind::Watermark(time), now)
    }

    /// Offers a status: the input is idle, or active again.
    ///
    /// # Errors
    ///
    /// [`PushError`]; the operator is unchanged.
    pub fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), PushError> {
        self.push_barrier(if idle { BarrierKind::Idle } else { BarrierKind::Active }, now)
    }

    /// Says that no more input comes.
    ///
    /// No attempt waits any more: those that do start at once, as their record's last. A second
    /// call changes nothing.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where it fails, or did before.
    pub fn end_input(&mut self, now: Instant) -> Result<(), OperatorError> {
        self.advance(now)?;
        if !self.input_ended {
            self.input_ended = true;
            self.start_waiting_attempts()?;
        }
        Ok(())
    }

    /// The next attempt to start, if there is one.
    pub fn next_request(&mut self) -> Option<Request> {
        self.write_request_keys();
        if self.requests_taken == self.requests.len() {
            self.take_requests();
            return None;
        }
        self.requests_taken += 1;
        Some(self.requests.request(self.requests_taken - 1))
    }

    /// All attempts to start, as columns: the quick way where there are many.
    pub fn take_requests(&mut self) -> RequestBatchBuilder {
        self.write_request_keys();
        let taken = core::mem::take(&mut self.requests_taken);
        core::mem::take(&mut self.requests).without_first(taken)
    }

    fn write_request_keys(&mut self) {
        self.request_keys.write_keys(&mut self.batches, &mut self.requests.keys);
    }

    /// What to expect of the next [`Self::next_output`].
    #[must_use]
    pub fn poll_state(&self) -> PollState {
        if self.failed.is_none() && self.queue.peek(|slot| self.records[slot].is_done()).is_some() {
            PollState::Ready
        } else if self.input_ended && self.is_empty() {
            PollState::Drained
        } else {
            PollState::Waiting
        }
    }

    /// Why the operator failed, if it did.
    ///
    /// # Errors
    ///
    /// [`OperatorError::Spent`] once it failed.
    #[inline]
    pub fn check(&self) -> Result<(), OperatorError> {
        match &self.failed {
            Some(failed) => Err(OperatorError::Spent(failed.clone())),
            None => Ok(()),
        }
    }

    /// Counters that balance, and gauges.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let backlog_records = self.backlog.iter().filter_map(SavedElement::record);
        Stats {
            in_flight: (self.records.len() + backlog_records.clone().count()) as u64,
            barriers_in_flight: (self.queued_barriers + self.backlog.len() - backlog_records.clone().count()) as u64,
            lookups_in_flight: self.lookups_in_flight,
            backlog: self.backlog.len() as u64,
            cache_entries: self.cache.as_ref().map_or(0, |cache| cache.len() as u64),
            cache_bytes: self.cache.as_ref().map_or(0, Cache::bytes),
            cache_evictions: self.cache.as_ref().map_or(0, Cache::evictions),
            held_bytes: self.queued_bytes + backlog_records.map(Record::held_bytes).sum::<u64>(),
            ..self.counters
        }
    }

    /// Records whose lookup has begun and not ended, those waiting for a retry included.
    #[must_use]
    pub fn lookups_in_flight(&self) -> u64 {
        self.lookups_in_flight
    }

    fn is_empty(&self) -> bool {
        self.records.len() == 0 && self.queued_barriers == 0 && self.backlog.is_empty()
    }

    /// Fails for good: `slot`'s record ended as the policies do not allow.
    fn fail(&mut self, slot: Slot, outcome: Outcome, message: String) -> OperatorError {
        let record = &self.records[slot];
        let failed = Box::new(LookupFailed {
            id: self.records.id(slot),
            key: self.batches.record(record.held).key,
            outcome,
            attempts: record.attempt,
            message,
        });
        self.take_requests();
        self.failed = Some(failed.clone());
        OperatorError::LookupFailed(failed)
    }
}
