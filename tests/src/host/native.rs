//! The core as it is.

use lookaside_core::{
    Answer, Element, EventTime, InFlight, Instant, Operator, OperatorError, Options, PollState, PushError, Record,
    Request, Stats, Verdict,
};

use super::{Host, Refusal};

/// The operator as a Rust value.
pub struct Native {
    operator: Operator,
}

impl Native {
    pub(super) fn open(options: &Options) -> Result<Self, Refusal> {
        let operator =
            Operator::open(options.clone(), Instant(0)).map_err(|error| Refusal::Other(error.to_string()))?;
        Ok(Self { operator })
    }

    pub(super) fn restore(options: &Options, snapshot: &[u8]) -> Result<Self, Refusal> {
        let operator = Operator::restore(options.clone(), snapshot, Instant(0));
        Ok(Self { operator: operator.map_err(|error| Refusal::Other(error.to_string()))? })
    }
}

fn refusal(error: OperatorError) -> Refusal {
    match error {
        OperatorError::LookupFailed(failed) => Refusal::Failed(*failed),
        OperatorError::Spent(_) => Refusal::Spent,
        OperatorError::OutOfMemory { .. } => Refusal::Other(error.to_string()),
    }
}

fn pushed(result: Result<(), PushError>) -> Result<(), Refusal> {
    result.map_err(|error| match error {
        PushError::Full(_) => Refusal::Full,
        PushError::AfterEnd => Refusal::AfterEnd,
        PushError::Operator(error) => refusal(error),
    })
}

impl Host for Native {
    fn push_record(&mut self, record: Record, now: Instant) -> Result<(), Refusal> {
        pushed(self.operator.push_record(record, now))
    }

    fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), Refusal> {
        pushed(self.operator.push_watermark(time, now))
    }

    fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), Refusal> {
        pushed(self.operator.push_idle(idle, now))
    }

    fn end_input(&mut self, now: Instant) -> Result<PollState, Refusal> {
        self.operator.end_input(now).map_err(refusal)?;
        Ok(self.operator.poll_state())
    }

    fn answer(&mut self, answer: Answer, now: Instant) -> Result<Verdict, Refusal> {
        let verdict = self.operator.complete(answer, now).map_err(refusal)?;
        self.operator.advance(now).map_err(refusal)?;
        Ok(verdict)
    }

    fn poll(&mut self, max: u32, now: Instant) -> Result<(Vec<Element>, PollState), Refusal> {
        self.operator.advance(now).map_err(refusal)?;
        let mut elements = Vec::new();
        while elements.len() < max as usize && (elements.is_empty() || !self.operator.fails_next()) {
            let Some(element) = self.operator.next_output().map_err(refusal)? else { break };
            elements.push(element);
        }
        elements.retain(|element| *element != Element::Dropped);
        Ok((elements, self.operator.poll_state()))
    }

    fn wake_at(&mut self) -> Option<Instant> {
        self.operator.wake_at()
    }

    fn take_requests(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.operator.next_request()).collect()
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Refusal> {
        self.operator.snapshot().map_err(refusal)
    }

    fn stats(&mut self) -> Stats {
        self.operator.stats()
    }

    fn inspect(&mut self, now: Instant) -> Vec<InFlight> {
        self.operator.inspect(now, usize::MAX)
    }
}
