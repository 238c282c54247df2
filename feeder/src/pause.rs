//! Pauses: a process that was suspended reads what came meanwhile before its time passes.
//!
//! While a process is stopped, answers gather in its sockets. When it goes on, all deadlines have passed at once, and
//! nobody can tell when those answers came. They count as having come in time.

use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How late a turn may come before the process counts as paused.
pub const LATE: Duration = Duration::from_millis(100);
/// If no answer came for so long after a pause, what had come was read.
pub const QUIET: Duration = Duration::from_millis(50);
/// How long answers are read after a pause before time passes, at most.
pub const LONGEST: Duration = Duration::from_millis(500);
/// How much longer a call may take if its deadline passed in a pause: a call that is given up answers, too, and that would
/// be taken for a failure while the loop still reads.
pub const GRACE: Duration = Duration::from_millis(1_000);

/// When the operator has to be called again at the latest, as its loop knows it.
///
/// All instants are nanoseconds on the loop's clock.
#[derive(Debug)]
pub struct NextTurn {
    due: AtomicU64,
}

impl Default for NextTurn {
    fn default() -> Self {
        Self { due: AtomicU64::new(u64::MAX) }
    }
}

impl NextTurn {
    /// Expects the next turn at `wake_at`, if that is after `now`: a time that is past tells nothing.
    pub fn expect(&self, wake_at: Option<u64>, now: u64) {
        let due = wake_at.filter(|&at| at > now).unwrap_or(u64::MAX);
        self.due.store(due, Ordering::Relaxed);
    }

    /// Returns when an answer that is read at `now` counts as having come: just before the turn that a pause delayed,
    /// if there was one, and otherwise now.
    #[must_use]
    pub fn arrival(&self, now: u64) -> u64 {
        if self.is_delayed(now) { self.due.load(Ordering::Relaxed).saturating_sub(1) } else { now }
    }

    /// Whether the turn comes so late that there was a pause.
    #[must_use]
    pub fn is_delayed(&self, now: u64) -> bool {
        now.saturating_sub(self.due.load(Ordering::Relaxed)) >= LATE.as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn an_answer_that_is_read_after_a_pause_came_before_what_was_due() {
        let next = NextTurn::default();
        assert_eq!(next.arrival(5 * SECOND), 5 * SECOND, "nothing is due");
        next.expect(Some(6 * SECOND), 5 * SECOND);
        assert_eq!(next.arrival(6 * SECOND + SECOND / 100), 6 * SECOND + SECOND / 100, "in time");
        assert_eq!(next.arrival(9 * SECOND), 6 * SECOND - 1);
        next.expect(Some(6 * SECOND), 9 * SECOND);
        assert_eq!(next.arrival(20 * SECOND), 20 * SECOND, "it was past when it was told");
    }
}
