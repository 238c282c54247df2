//! The two kinds of time, never mixed: event time comes with the records, instants with the calls.

use core::time::Duration;

/// Event time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventTime(pub i64);

impl EventTime {
    /// Stands for "this record has no event time".
    pub const NONE: Self = Self(i64::MIN);
}

/// A point on the driver's monotonic clock, in nanoseconds. Only differences have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// The instant that no clock reaches: the deadline of what never times out.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `duration` after this one, [`Self::NEVER`] at the latest.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// How long after `earlier` this is; zero where it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The duration in nanoseconds, the greatest value where it is longer (584 years).
pub(crate) fn nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(duration.subsec_nanos()))
}
