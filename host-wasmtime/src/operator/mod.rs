//! One operator: an instance of the component in a store of its own.

mod errors;
mod state;

use wasmtime::{Store, StoreLimitsBuilder};

pub use errors::OperatorError;
pub(crate) use state::HostState;

use crate::{
    EventTime, InFlight, Instant, Mailbox, Options, Outcome, PollState, Record, Request, RequestId, Stats, WaitsFor,
    columns::{ByteStrings, ByteStringsBuilder, OutputBatch, RecordBatchBuilder, RequestBatch},
    component::{
        AsyncLookupOperator, AsyncLookupOperatorPre, Limits,
        exports::lookaside::async_lookup::{operator as single, operator_batch as batch, operator_inspect as inspect},
        lookaside::async_lookup::types,
    },
};

/// What an operator begins with.
pub(crate) enum Start<'a> {
    Empty,
    Snapshot(&'a [u8]),
}

/// What one poll gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    /// Elements in the order in which to send them downstream.
    pub outputs: OutputBatch,
    /// What to expect of the next poll.
    pub state: PollState,
    /// When to poll again though nothing else happens; none where no timer runs.
    pub wake_at: Option<Instant>,
    /// How many more elements the capacity has room for; the byte cap may let in fewer.
    pub room: u32,
}

/// One operator, without a clock and without lookups: time comes with the calls, requests are
/// taken out and answers put into the mailbox by whoever drives it. [`Driver`](crate::Driver) does.
///
/// After an error that [`OperatorError::is_fatal`] calls fatal the instance is spent.
pub struct Operator {
    store: Store<HostState>,
    instance: AsyncLookupOperator,
    call_ticks: u64,
    /// What each call may use.
    limits: Limits,
    /// What the calls before the last one have used.
    fuel_used: u64,
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator").field("requests", &self.store.data().requests.len()).finish_non_exhaustive()
    }
}

impl Operator {
    pub(crate) fn start(
        pre: &AsyncLookupOperatorPre<HostState>,
        limits: &Limits,
        options: &Options,
        start: Start<'_>,
        now: Instant,
    ) -> Result<Self, OperatorError> {
        let store_limits = StoreLimitsBuilder::new().memory_size(limits.memory).instances(8).tables(8).memories(2);
        let mut store = Store::new(pre.engine(), HostState::new(store_limits.build()));
        store.limiter(HostState::limits);
        store.set_hostcall_fuel(limits.hostcall);
        let call_ticks = limits.call_ticks();
        store.set_epoch_deadline(call_ticks);
        if let Some(fuel) = limits.call_fuel {
            store.set_fuel(fuel).map_err(OperatorError::Trapped)?;
        }
        let instance = pre.instantiate(&mut store).map_err(OperatorError::Trapped)?;
        let mut operator = Self { store, instance, call_ticks, limits: limits.clone(), fuel_used: 0 };
        let options: Vec<(String, String)> =
            options.to_pairs().into_iter().map(|(name, text)| (name.into(), text)).collect();
        match start {
            Start::Empty => operator.call(|operator, store| operator.call_open(store, now.0, &options))?,
            Start::Snapshot(snapshot) => {
                operator.call(|operator, store| operator.call_restore(store, now.0, &options, snapshot))?;
            }
        }
        Ok(operator)
    }

    /// Where the answers to its requests go.
    #[must_use]
    pub fn mailbox(&self) -> &Mailbox {
        &self.store.data().mailbox
    }

    /// Takes the lookups that it has asked for since the last time.
    pub fn take_requests(&mut self) -> Vec<Request> {
        self.take_request_batches().iter().flat_map(RequestBatch::iter).collect()
    }

    /// As [`Self::take_requests`], in the batches that it has asked in.
    pub fn take_request_batches(&mut self) -> Vec<RequestBatch> {
        std::mem::take(&mut self.store.data_mut().requests)
    }

    /// The fuel that its calls have used so far; 0 without [`Limits::call_fuel`](crate::component::Limits::call_fuel).
    #[must_use]
    pub fn fuel_used(&self) -> u64 {
        let left = self.store.get_fuel().unwrap_or_default();
        self.fuel_used + self.limits.call_fuel.map_or(0, |fuel| fuel.saturating_sub(left))
    }

    /// Offers one record; false where it is full.
    ///
    /// # Errors
    ///
    /// [`OperatorError`]: nothing was taken.
    pub fn push_record(&mut self, record: &Record, now: Instant) -> Result<bool, OperatorError> {
        let element = single::StreamRecord {
            event_time: record.event_time.0,
            key: record.key.as_ref().map(|key| key.to_vec()),
            order_key: record.order_key.as_ref().map(|key| key.to_vec()),
            payload: record.payload.to_vec(),
        };
        self.call(|operator, store| operator.call_push_record(store, now.0, &element)).map(accepted)
    }

    /// Offers records; says how many it has taken, from the first on.
    ///
    /// # Errors
    ///
    /// [`OperatorError`]: nothing was taken.
    pub fn push_records(&mut self, records: RecordBatchBuilder, now: Instant) -> Result<usize, OperatorError> {
        self.offer_records(records, now).map(|(taken, _)| taken)
    }

    /// As [`Self::push_records`], and gives the records back.
    pub(crate) fn offer_records(
        &mut self,
        records: RecordBatchBuilder,
        now: Instant,
    ) -> Result<(usize, RecordBatchBuilder), OperatorError> {
        let offered = batch::RecordBatch {
            event_times: records.event_times,
            keys: column(records.keys),
            keyless: records.keyless,
            order_keys: records.order_keys.map(column),
            payloads: column(records.payloads),
        };
        self.prepare();
        let exports = self.instance.lookaside_async_lookup_operator_batch();
        let taken = exports.call_push_records(&mut self.store, now.0, &offered).map_err(OperatorError::Trapped)?;
        let taken = taken.map_err(OperatorError::from)?;
        let back = |column: types::ByteStrings| ByteStringsBuilder::from_parts(column.ends, column.bytes);
        let records = RecordBatchBuilder {
            event_times: offered.event_times,
            keys: back(offered.keys),
            keyless: offered.keyless,
            order_keys: offered.order_keys.map(back),
            payloads: back(offered.payloads),
        };
        Ok((taken as usize, records))
    }

    /// Offers a watermark; false where it is full.
    ///
    /// # Errors
    ///
    /// [`OperatorError`]: nothing was taken.
    pub fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<bool, OperatorError> {
        self.call(|operator, store| operator.call_push_watermark(store, now.0, time.0)).map(accepted)
    }

    /// Offers a status, idle or active; false where it is full.
    ///
    /// # Errors
    ///
    /// [`OperatorError`]: nothing was taken.
    pub fn push_idle(&mut self, idle: bool, now: Instant) -> Result<bool, OperatorError> {
        self.call(|operator, store| operator.call_push_idle(store, now.0, idle)).map(accepted)
    }

    /// Says that no more input comes.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where it fails.
    pub fn end_input(&mut self, now: Instant) -> Result<(), OperatorError> {
        self.call(|operator, store| operator.call_end_input(store, now.0))
    }

    /// Lets it take answers from the mailbox and handle what is due; gives at most `max` outputs,
    /// and stops near `max_bytes` of them. A dropped record counts to `max`.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where it fails; nothing more comes out of it then.
    pub fn poll(&mut self, max: u32, max_bytes: u32, now: Instant) -> Result<Poll, OperatorError> {
        self.prepare();
        let exports = self.instance.lookaside_async_lookup_operator_batch();
        let poll = exports.call_poll_outputs(&mut self.store, now.0, max, max_bytes);
        let batch::PollBatch { outputs, state, wake_at, room } =
            poll.map_err(OperatorError::Trapped)?.map_err(OperatorError::from)?;
        let read = |name, column: types::ByteStrings| ByteStrings::new(name, column.ends, column.bytes);
        let outputs = (|| {
            OutputBatch::new(
                outputs.kinds,
                outputs.event_times,
                read("keys", outputs.keys)?,
                outputs.keyless,
                read("payloads", outputs.payloads)?,
                outputs.attempts,
                outputs.row_counts,
                read("rows", outputs.rows)?,
            )
        })()
        .map_err(|malformed| OperatorError::Broken(malformed.0))?;
        if outputs.len() > max as usize {
            // They would have no place to go.
            let given = outputs.len();
            return Err(OperatorError::Broken(format!("{given} outputs were given where {max} were asked for")));
        }
        let state = match state {
            single::PollState::Ready => PollState::Ready,
            single::PollState::Waiting => PollState::Waiting,
            single::PollState::Drained => PollState::Drained,
        };
        Ok(Poll { outputs, state, wake_at: wake_at.map(Instant), room })
    }

    /// Everything accepted and not yet emitted, as bytes. Changes nothing and works when full.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where it is spent.
    pub fn snapshot(&mut self) -> Result<Vec<u8>, OperatorError> {
        // It is a column of bytes, of which the host has as many as the component has.
        self.store.set_hostcall_fuel(self.limits.hostcall.max(self.limits.memory));
        let snapshot = self.call(|operator, store| operator.call_snapshot(store));
        self.store.set_hostcall_fuel(self.limits.hostcall);
        snapshot
    }

    /// Counters that balance, and gauges.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where the component fails.
    pub fn stats(&mut self) -> Result<Stats, OperatorError> {
        let pairs = self.call(|operator, store| operator.call_stats(store).map(Ok))?;
        Ok(Stats::from_pairs(pairs.iter().map(|(name, value)| (name.as_str(), *value))))
    }

    /// The oldest elements in flight, at most `max`, in order of arrival.
    ///
    /// # Errors
    ///
    /// [`OperatorError`] where the component fails.
    pub fn inspect(&mut self, max: u32, now: Instant) -> Result<Vec<InFlight>, OperatorError> {
        self.prepare();
        let exports = self.instance.lookaside_async_lookup_operator_inspect();
        let elements = exports.call_inspect(&mut self.store, now.0, max).map_err(OperatorError::Trapped)?;
        Ok(elements.map_err(OperatorError::from)?.into_iter().map(in_flight).collect())
    }

    /// Calls one export of the interface `operator`.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&single::Guest, &mut Store<HostState>) -> wasmtime::Result<Result<T, single::OperatorError>>,
    ) -> Result<T, OperatorError> {
        self.prepare();
        let exports = self.instance.lookaside_async_lookup_operator();
        call(exports, &mut self.store).map_err(OperatorError::Trapped)?.map_err(OperatorError::from)
    }

    /// Gives the next call its time and its fuel.
    fn prepare(&mut self) {
        self.store.set_epoch_deadline(self.call_ticks);
        if let Some(fuel) = self.limits.call_fuel {
            self.fuel_used = self.fuel_used();
            // Fuel is counted, since there is a limit.
            let _ = self.store.set_fuel(fuel);
        }
    }
}

fn accepted(admission: single::Admission) -> bool {
    admission == single::Admission::Accepted
}

fn column(column: ByteStringsBuilder) -> types::ByteStrings {
    let (ends, bytes) = column.into_parts();
    types::ByteStrings { ends, bytes }
}

fn in_flight(element: inspect::Element) -> InFlight {
    InFlight {
        id: element.id.map(RequestId),
        event_time: EventTime(element.event_time),
        barrier: element.barrier,
        key: element.key.map(Into::into),
        waits_for: match element.waits_for {
            inspect::WaitsFor::Slot => WaitsFor::Slot,
            inspect::WaitsFor::Key => WaitsFor::Key,
            inspect::WaitsFor::Answer => WaitsFor::Answer,
            inspect::WaitsFor::Retry => WaitsFor::Retry,
            inspect::WaitsFor::Order => WaitsFor::Order,
            inspect::WaitsFor::Downstream => WaitsFor::Downstream,
        },
        age: std::time::Duration::from_nanos(element.age),
        attempts: element.attempts,
        deadline: element.deadline.map(Instant),
        outcome: element.outcome.map(outcome),
        last_error: element.last_error,
    }
}

fn outcome(outcome: single::Outcome) -> Outcome {
    match outcome {
        single::Outcome::Found => Outcome::Found,
        single::Outcome::Missing => Outcome::Missing,
        single::Outcome::Failed => Outcome::Failed,
        single::Outcome::TimedOut => Outcome::TimedOut,
    }
}
