//! Lookaside's scenarios: what the operator promises, as files that every host runs.
//!
//! [`scenario`] reads them, [`host`] holds the operators that they run on, [`run`] runs one. A [`plan`] is a
//! scenario made up from a seed; [`compare`] runs it on two hosts, such as the naive [`model`] and the
//! real operator, and [`laws`] watches it. [`interleavings`] and [`mailbox_loop`] go through all orders of a few events.

pub mod compare;
#[cfg(feature = "components")]
pub mod composition;
pub mod host;
pub mod interleavings;
pub mod laws;
pub mod mailbox_loop;
pub mod model;
pub mod plan;
pub mod run;
pub mod scenario;
mod situation;
