//! What only time moves: deadlines, and the delays before another attempt.

mod retries;

pub(crate) use retries::{Retries, WaitingRetry};
