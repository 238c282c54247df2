//! The driver's clock.

use std::time::Duration;

use lookaside_core::Instant;

/// Counts from the driver's start. Copies count alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: tokio::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: tokio::time::Instant::now() }
    }

    /// Now, as the contract counts.
    pub(crate) fn now(self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// An instant as Tokio's timers take it; none for one that never comes.
    pub(crate) fn to_tokio(self, instant: Instant) -> Option<tokio::time::Instant> {
        self.start.checked_add(Duration::from_nanos(instant.0)).filter(|_| instant != Instant::NEVER)
    }
}
