//! The operators that scenarios run on.

mod native;
#[cfg(feature = "components")]
mod node;
#[cfg(feature = "components")]
mod wasmtime;

use lookaside_core::{
    Answer, Element, EventTime, InFlight, Instant, LookupFailed, Options, PollState, Record, Request, Stats, Verdict,
};

use crate::model::Model;
pub use native::Native;
#[cfg(feature = "components")]
use node::Engine;
#[cfg(feature = "components")]
pub use node::Node;
#[cfg(feature = "components")]
pub use wasmtime::Wasmtime;

/// Why an operator did not carry out a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is full: offer the element again.
    Full,
    /// The input was ended.
    AfterEnd,
    /// It fails by this very call.
    Failed(LookupFailed),
    /// It failed before.
    Spent,
    /// A snapshot or an option cannot be used, or the host broke; says why.
    Other(String),
}

/// An operator of some host. Time comes with the calls.
pub trait Host {
    /// Offers a record.
    ///
    /// # Errors
    ///
    /// Why it was not taken.
    fn push_record(&mut self, record: Record, now: Instant) -> Result<(), Refusal>;

    /// Offers a watermark.
    ///
    /// # Errors
    ///
    /// Why it was not taken.
    fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), Refusal>;

    /// Offers a status.
    ///
    /// # Errors
    ///
    /// Why it was not taken.
    fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), Refusal>;

    /// Ends the input; gives what to expect of the next poll.
    ///
    /// # Errors
    ///
    /// Where the operator fails or did before.
    fn end_input(&mut self, now: Instant) -> Result<PollState, Refusal>;

    /// Hands over an answer.
    ///
    /// # Errors
    ///
    /// Where the operator fails or did before.
    fn answer(&mut self, answer: Answer, now: Instant) -> Result<Verdict, Refusal>;

    /// Handles what is due, then takes at most `max` elements.
    ///
    /// # Errors
    ///
    /// Where the operator fails or did before.
    fn poll(&mut self, max: u32, now: Instant) -> Result<(Vec<Element>, PollState), Refusal>;

    /// When to poll though nothing else happens.
    fn wake_at(&mut self) -> Option<Instant>;

    /// The attempts that were started since the last time.
    fn take_requests(&mut self) -> Vec<Request>;

    /// What was accepted and not emitted, as bytes.
    ///
    /// # Errors
    ///
    /// Where the operator failed before.
    fn snapshot(&mut self) -> Result<Vec<u8>, Refusal>;

    /// Counters and gauges.
    fn stats(&mut self) -> Stats;

    /// What is in flight, oldest first.
    fn inspect(&mut self, now: Instant) -> Vec<InFlight>;
}

/// What became of one answer, told by the counters before and after it.
#[cfg(feature = "components")]
fn verdict(before: &Stats, after: &Stats) -> Result<Verdict, Refusal> {
    let verdicts = [
        (Verdict::Accepted, after.answers_accepted - before.answers_accepted),
        (Verdict::Stale, after.answers_stale - before.answers_stale),
        (Verdict::Late, after.answers_late - before.answers_late),
        (Verdict::Unknown, after.answers_unknown - before.answers_unknown),
    ];
    match verdicts.into_iter().filter(|(_, count)| *count == 1).collect::<Vec<_>>()[..] {
        [(verdict, _)] => Ok(verdict),
        _ => Err(Refusal::Other(format!("one answer was counted as {verdicts:?}"))),
    }
}

/// Which host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum HostKind {
    /// The core, as a Rust crate.
    Native,
    /// The component, in wasmtime.
    #[cfg(feature = "components")]
    Wasmtime,
    /// The component with another in between that records what passes, in wasmtime.
    #[cfg(feature = "components")]
    Recorded,
    /// The component, as the web package runs it in Node.
    #[cfg(feature = "components")]
    Node,
    /// The component, as the web package runs it in a page of Chromium.
    #[cfg(feature = "components")]
    Chromium,
    /// The naive reference model.
    Model,
}

impl HostKind {
    /// Opens an operator on it.
    ///
    /// # Errors
    ///
    /// Where the options are refused.
    pub fn open(self, options: &Options) -> Result<Box<dyn Host>, Refusal> {
        Ok(match self {
            Self::Native => Box::new(Native::open(options)?),
            #[cfg(feature = "components")]
            Self::Wasmtime => Box::new(Wasmtime::open(false, options)?),
            #[cfg(feature = "components")]
            Self::Recorded => Box::new(Wasmtime::open(true, options)?),
            #[cfg(feature = "components")]
            Self::Node => Box::new(Node::open(Engine::Node, options)?),
            #[cfg(feature = "components")]
            Self::Chromium => Box::new(Node::open(Engine::Chromium, options)?),
            Self::Model => Box::new(Model::open(options)),
        })
    }

    /// Opens an operator on it where `snapshot` left off.
    ///
    /// # Errors
    ///
    /// Where options or snapshot are refused.
    pub fn restore(self, options: &Options, snapshot: &[u8]) -> Result<Box<dyn Host>, Refusal> {
        Ok(match self {
            Self::Native => Box::new(Native::restore(options, snapshot)?),
            #[cfg(feature = "components")]
            Self::Wasmtime => Box::new(Wasmtime::restore(false, options, snapshot)?),
            #[cfg(feature = "components")]
            Self::Recorded => Box::new(Wasmtime::restore(true, options, snapshot)?),
            #[cfg(feature = "components")]
            Self::Node => Box::new(Node::restore(Engine::Node, options, snapshot)?),
            #[cfg(feature = "components")]
            Self::Chromium => Box::new(Node::restore(Engine::Chromium, options, snapshot)?),
            Self::Model => Box::new(Model::restore(options, snapshot)?),
        })
    }
}
