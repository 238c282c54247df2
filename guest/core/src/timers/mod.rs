//! What only time moves: deadlines, and the delays before another attempt.

mod deadlines;
mod retries;

pub(crate) use deadlines::{Deadlines, HasDeadline, Neighbours};
pub(crate) use retries::{Retries, WaitingRetry};
