//! The component, in wasmtime.

use std::sync::LazyLock;

use lookaside::{Operator, OperatorComponent, OperatorError, component::Limits};
use lookaside_core::{
    Answer, Element, EventTime, InFlight, Instant, Options, PollState, Record, Request, Stats, Verdict,
    columns::RecordBatchBuilder,
};

use super::{Host, Refusal};
use crate::composition;

/// Compiled once for all scenarios.
static COMPONENT: LazyLock<OperatorComponent> =
    LazyLock::new(|| OperatorComponent::bundled().expect("the bundled component runs here"));

/// The same with a component between it and the host that notes what it passes on.
static RECORDED: LazyLock<OperatorComponent> = LazyLock::new(|| {
    let recorder = composition::build("recorder");
    let composed =
        composition::with_recorder(OperatorComponent::bundled_bytes(), &recorder).expect("they fit together");
    OperatorComponent::from_bytes("the recorded operator", &composed, Limits::default()).expect("it runs here")
});

/// The operator as a component instance. Records go in alone and in batches, turn by turn.
pub struct Wasmtime {
    operator: Operator,
    wake_at: Option<Instant>,
    pushes: u32,
    last_now: Instant,
}

impl Wasmtime {
    pub(super) fn open(recorded: bool, options: &Options) -> Result<Self, Refusal> {
        Self::new(component(recorded).open(options, Instant(0)))
    }

    pub(super) fn restore(recorded: bool, options: &Options, snapshot: &[u8]) -> Result<Self, Refusal> {
        Self::new(component(recorded).restore(options, snapshot, Instant(0)))
    }

    fn new(operator: Result<Operator, OperatorError>) -> Result<Self, Refusal> {
        Ok(Self { operator: operator.map_err(refusal)?, wake_at: None, pushes: 0, last_now: Instant(0) })
    }
}

fn component(recorded: bool) -> &'static OperatorComponent {
    if recorded { &RECORDED } else { &COMPONENT }
}

fn refusal(error: OperatorError) -> Refusal {
    match error {
        OperatorError::LookupFailed(failed) => Refusal::Failed(*failed),
        OperatorError::Spent(_) => Refusal::Spent,
        OperatorError::AfterEnd(_) => Refusal::AfterEnd,
        other => Refusal::Other(other.to_string()),
    }
}

fn taken(result: Result<bool, OperatorError>) -> Result<(), Refusal> {
    if result.map_err(refusal)? { Ok(()) } else { Err(Refusal::Full) }
}

impl Host for Wasmtime {
    fn push_record(&mut self, record: Record, now: Instant) -> Result<(), Refusal> {
        self.last_now = now;
        self.pushes += 1;
        if self.pushes.is_multiple_of(2) {
            let mut batch = RecordBatchBuilder::default();
            batch.push(&record);
            return taken(self.operator.push_records(batch, now).map(|taken| taken == 1));
        }
        taken(self.operator.push_record(&record, now))
    }

    fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), Refusal> {
        self.last_now = now;
        taken(self.operator.push_watermark(time, now))
    }

    fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), Refusal> {
        self.last_now = now;
        taken(self.operator.push_idle(idle, now))
    }

    fn end_input(&mut self, now: Instant) -> Result<PollState, Refusal> {
        self.last_now = now;
        self.operator.end_input(now).map_err(refusal)?;
        self.poll(0, now).map(|(_, state)| state)
    }

    fn answer(&mut self, answer: Answer, now: Instant) -> Result<Verdict, Refusal> {
        let before = self.stats();
        self.operator.mailbox().put([answer]);
        self.poll(0, now)?;
        super::verdict(&before, &self.stats())
    }

    fn poll(&mut self, max: u32, now: Instant) -> Result<(Vec<Element>, PollState), Refusal> {
        self.last_now = now;
        let poll = self.operator.poll(max, u32::MAX, now).map_err(refusal)?;
        self.wake_at = poll.wake_at;
        Ok((poll.outputs.iter().collect(), poll.state))
    }

    fn wake_at(&mut self) -> Option<Instant> {
        // A poll tells; one that gives nothing at the last instant changes nothing.
        match self.poll(0, self.last_now) {
            Ok(_) => self.wake_at,
            Err(_) => None,
        }
    }

    fn take_requests(&mut self) -> Vec<Request> {
        self.operator.take_requests()
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Refusal> {
        self.operator.snapshot().map_err(refusal)
    }

    fn stats(&mut self) -> Stats {
        self.operator.stats().expect("counting does not fail")
    }

    fn inspect(&mut self, now: Instant) -> Vec<InFlight> {
        self.operator.inspect(u32::MAX, now).expect("looking does not fail")
    }
}
