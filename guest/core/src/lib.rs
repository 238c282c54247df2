//! The asynchronous lookup operator as a state machine.
//!
//! [`Operator`] joins each record of a stream with the rows that an asynchronous lookup finds for
//! its key. It decides everything (order, barriers, capacity, deadlines, retries, outcomes,
//! snapshots) and does nothing: it makes no call, reads no clock, and is deterministic. Whoever
//! drives it starts the lookups that it asks for, hands it the answers, and sends its output on.
//!
//! ```
//! use core::time::Duration;
//! use lookaside_core::{Answer, Element, Instant, Operator, Options, Order, Record, Rows};
//!
//! let options = Options { order: Order::Unordered, timeout: Some(Duration::from_secs(2)), ..Options::default() };
//! let mut operator = Operator::open(options, Instant(0))?;
//! operator.push_record(Record::new("LAX", "a flight"), Instant(0))?;
//!
//! let request = operator.next_request().expect("a push starts its lookup");
//! operator.complete(Answer::rows(&request, Rows::from("Los Angeles"), Instant(5)), Instant(5))?;
//!
//! let Some(Element::Joined(joined)) = operator.next_output()? else { panic!("it is done") };
//! assert_eq!(joined.rows, Rows::from("Los Angeles"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The component in `guest/component` puts the WIT contract around it, with the columns of
//! [`columns`]; a Rust program may also use it as it is.

#![no_std]

extern crate alloc;

mod batches;
mod cache;
pub mod columns;
mod error;
mod finds;
mod flights;
mod group;
mod hashed_key;
mod inspect;
mod key_order;
mod links;
mod lookup;
mod operator;
mod options;
mod positions;
mod queue;
mod record;
mod retry;
mod shared;
mod slots;
mod snapshot;
mod stats;
mod time;
mod timers;

pub use cache::CacheOptions;
pub use error::{LookupFailed, OperatorError, PushError};
pub use inspect::{InFlight, WaitsFor};
pub use lookup::{Answer, FailureKind, LookupError, Request, RequestId, Verdict};
pub use operator::{Operator, PollState};
pub use options::{Options, Order, Policy, RefusedOption};
pub use record::{Element, JoinedRecord, Outcome, Record, Rows};
pub use retry::{Multiplier, Retry, RetryOn};
pub use snapshot::SnapshotError;
pub use stats::Stats;
pub use time::{EventTime, Instant};
