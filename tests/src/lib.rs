//! Lookaside's scenarios: what the operator promises, as files that every host runs.
//!
//! [`scenario`] reads them, [`host`] holds the operators that they run on, [`run`] runs one.

pub mod host;
pub mod run;
pub mod scenario;
