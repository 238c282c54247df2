//! The operator: inputs change its state, outputs are taken one by one.

mod admission;
mod answers;
mod arrivals;
mod attempts;
mod checkpoint;
mod compaction;
mod emission;
mod fates;
mod look;
mod run;
mod time;

use alloc::{boxed::Box, collections::VecDeque, string::String};

use crate::{
    EventTime, Instant, LookupFailed, OperatorError, Options, PushError, Record, Request, Stats,
    batches::Batches,
    cache::Cache,
    columns::RequestBatchBuilder,
    finds::Finds,
    flights::Flights,
    group::{Group, GroupState},
    key_order::KeyOrder,
    links::{List, ListOf},
    positions::Positions,
    queue::{BarrierKind, StreamElementQueue},
    slots::{Slot, Slots},
    snapshot::SavedElement,
    timers::Retries,
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
    groups: Slots<Group>,
    positions: Positions,
    /// Records in all groups.
    queued_records: usize,
    /// What the records in flight came in, and what was found for them came in.
    batches: Batches,
    finds: Finds,
    /// Groups and barriers in flight, in the order in which they may leave.
    queue: StreamElementQueue,
    /// Restored elements that wait for room; nothing new is taken before them.
    backlog: VecDeque<SavedElement>,
    /// Attempts that the driver has not taken yet, and how many of them it has taken one by one.
    requests: RequestBatchBuilder,
    requests_taken: usize,
    /// The records whose keys are to be written to `requests`.
    request_keys: Run,
    /// Groups whose lookups run, in the order of their deadlines: there is one timeout for all, and instants never go
    /// back.
    deadlines: List,
    retries: Retries,
    keys: KeyOrder,
    cache: Option<Cache>,
    flights: Flights,
    /// Groups of one record whose turn has come: its key is free.
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

/// Of a record in flight: where each has a fate of its own, this, ten bytes of its position, and 16 bytes of its columns.
#[cfg(target_pointer_width = "32")]
const _: () = assert!(Slots::<Group>::PLACE <= 80);

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
            groups: Slots::new(),
            positions: Positions::default(),
            queued_records: 0,
            batches: Batches::new(),
            finds: Finds::new(),
            backlog: VecDeque::new(),
            requests: RequestBatchBuilder::default(),
            requests_taken: 0,
            request_keys: Run::default(),
            deadlines: List::new(ListOf::Deadlines),
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
    /// [`OperatorError::Spent`] once it failed.
    pub fn end_input(&mut self, now: Instant) -> Result<(), OperatorError> {
        self.advance(now)?;
        if !self.input_ended {
            self.input_ended = true;
            self.start_waiting_attempts();
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
        if self.failed.is_none() && self.queue.peek(&self.groups).is_some() {
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
            in_flight: (self.queued_records + backlog_records.clone().count()) as u64,
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
        self.queued_records == 0 && self.queued_barriers == 0 && self.backlog.is_empty()
    }

    /// Fails for good: it is the turn of `slot`'s one record to leave, which ended as the policies do not allow.
    fn fail(&mut self, slot: Slot) -> OperatorError {
        let group = &self.groups[slot];
        let GroupState::Done { outcome, find } = group.state else { unreachable!("only done records fail it") };
        let message = match self.finds.rows(find).as_slice().first() {
            Some(message) => String::from_utf8_lossy(message).into_owned(),
            None if group.has_key => "on-missing is fail".into(),
            None => "it has no key".into(),
        };
        let failed = Box::new(LookupFailed {
            id: self.positions.id(group.first),
            key: self.batches.record(group.held).key,
            outcome,
            attempts: group.attempt,
            message,
        });
        self.take_requests();
        self.failed = Some(failed.clone());
        OperatorError::LookupFailed(failed)
    }
}
