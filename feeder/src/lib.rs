//! What a host's mailbox loop decides, without I/O.
//!
//! Each host moves records, requests, answers and outputs in its own way. When it may do so is the same for all of them:
//! [`Feeder`] says what to offer the operator and whether to go on or to sleep, and [`NextTurn`] tells a pause of the
//! process from time that passes.
//!
//! A turn of a loop: offer input as [`Feeder::offer`] says; end the input if [`Feeder::should_end`]; poll; start the
//! requests; send the outputs on; then [`Feeder::goes_on`] says whether another turn follows at once. If not, the loop
//! sleeps until an answer arrives, the poll's `wake-at` comes, and whatever it could not do becomes possible.

#![no_std]

mod feeder;
mod pause;

pub use feeder::{Feeder, Next};
pub use pause::{GRACE, LATE, LONGEST, NextTurn, QUIET};
