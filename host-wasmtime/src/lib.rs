//! Enrich a stream with asynchronous lookups: Lookaside's operator, run by wasmtime.
//!
//! The operator is a WebAssembly component. [`OperatorComponent`] compiles it, [`Operator`] is one
//! instance of it, and [`Driver`] is the loop that feeds an operator from a stream, has its lookups
//! made by a [`LookupProvider`], and gives the joined records as a stream:
//!
//! ```
#![doc = include_str!("../examples/enrich.rs")]
//! ```
//!
//! With the feature `cli`, which is on by default, the crate also holds the command line's parts:
//! [`source`], [`sink`], [`join`] and [`cli`].

mod budget;
pub mod component;
pub mod delimited;
pub mod driver;
mod json;
pub mod lookup;
mod mailbox;
pub mod operator;
mod pause;
mod text;
mod units;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod join;
#[cfg(feature = "cli")]
pub mod sink;
#[cfg(feature = "cli")]
pub mod source;

pub use component::OperatorComponent;
pub use driver::{Driver, DriverError, DriverHandle, DriverSnapshot, Input};
pub use lookaside_core::{
    Answer, CacheOptions, Element, EventTime, FailureKind, InFlight, Instant, JoinedRecord, LookupError, LookupFailed,
    Multiplier, Options, Order, Outcome, Policy, PollState, Record, RefusedOption, Request, RequestId, Retry, RetryOn,
    Rows, Stats, Verdict, WaitsFor, columns,
};
pub use lookup::{Lookup, LookupBatch, LookupProvider};
pub use mailbox::Mailbox;
pub use operator::{Operator, OperatorError, Poll};
