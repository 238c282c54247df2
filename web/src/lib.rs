//! Enrich streams with asynchronous lookups: the host for browsers and Node.
//!
//! It drives the component that `jco` made of the operator: it owns the mailbox, the loop and the
//! timers, and hands batches of columns on as they are, so that a record never crosses alone. The
//! package around it (`web/package`) makes columns of JavaScript values and calls lookups.
//!
//! Off WebAssembly there is nothing here.
#![cfg(target_family = "wasm")]

mod clock;
mod columns;
mod component;
mod driver;
mod imports;
mod json;
mod operator;

pub use clock::JsClock;
pub use driver::Driver;
pub use imports::Imports;
pub use json::join_json;
pub use operator::Operator;
