//! Pauses: a process that was suspended reads what came meanwhile before its time passes.
//!
//! While a process is stopped, answers gather in its sockets. When it goes on, all deadlines have passed at once, and
//! nobody can tell when those answers came. They count as having come in time.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use lookaside_core::Instant;
use tokio::time::error::Elapsed;

/// How late a turn may come before the process counts as paused.
const LATE: Duration = Duration::from_millis(100);
/// Without an answer for so long, what had come was read.
const QUIET: Duration = Duration::from_millis(50);
/// How long answers are read at most before time passes.
const LONGEST: Duration = Duration::from_millis(500);

/// When the operator has to be called again at the latest, as the mailbox loop knows it.
#[derive(Debug)]
pub(crate) struct NextTurn {
    /// Nanoseconds on the driver's clock.
    due: AtomicU64,
}

impl Default for NextTurn {
    fn default() -> Self {
        Self { due: AtomicU64::new(Instant::NEVER.0) }
    }
}

impl NextTurn {
    /// Expects the next turn at `wake_at`. A time that is past at `now` tells nothing.
    pub(crate) fn expect(&self, wake_at: Option<Instant>, now: Instant) {
        let due = wake_at.filter(|&at| at > now).unwrap_or(Instant::NEVER);
        self.due.store(due.0, Ordering::Relaxed);
    }

    /// Returns when an answer that is read at `now` counts as having come: just before the turn that a pause delayed,
    /// if there was one, and otherwise now.
    pub(crate) fn arrival(&self, now: Instant) -> Instant {
        match self.delayed(now) {
            Some(due) => Instant(due.0.saturating_sub(1)),
            None => now,
        }
    }

    /// Waits after a pause until what came meanwhile was read, `arrived` being the wait for one answer.
    pub(crate) async fn catch_up<F: Future<Output = ()>>(&self, now: Instant, arrived: impl Fn() -> F) {
        if self.delayed(now).is_none() {
            return;
        }
        let begin = tokio::time::Instant::now();
        while begin.elapsed() < LONGEST && tokio::time::timeout(QUIET, arrived()).await.is_ok() {}
    }

    /// The time of a turn that comes so late that there was a pause.
    fn delayed(&self, now: Instant) -> Option<Instant> {
        let due = self.due.load(Ordering::Relaxed);
        (now.0.saturating_sub(due) >= LATE.as_nanos() as u64).then_some(Instant(due))
    }
}

/// As [`tokio::time::timeout_at`], except that work whose deadline passed in a pause gets time to read what had come.
pub(crate) async fn timeout_at<T>(deadline: tokio::time::Instant, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut work = pin!(work);
    match tokio::time::timeout_at(deadline, &mut work).await {
        // Longer than the loop waits: work that is given up answers, too, and would be taken for a failure.
        Err(_) if deadline.elapsed() >= LATE => tokio::time::timeout(2 * LONGEST, work).await,
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn an_answer_that_is_read_after_a_pause_came_before_what_was_due() {
        let next = NextTurn::default();
        assert_eq!(next.arrival(Instant(5 * SECOND)), Instant(5 * SECOND), "nothing is due");
        next.expect(Some(Instant(6 * SECOND)), Instant(5 * SECOND));
        assert_eq!(next.arrival(Instant(6 * SECOND + SECOND / 100)), Instant(6 * SECOND + SECOND / 100), "in time");
        assert_eq!(next.arrival(Instant(9 * SECOND)), Instant(6 * SECOND - 1));
        next.expect(Some(Instant(6 * SECOND)), Instant(9 * SECOND));
        assert_eq!(next.arrival(Instant(20 * SECOND)), Instant(20 * SECOND), "it was past when it was told");
    }

    #[tokio::test(start_paused = true)]
    async fn it_reads_for_as_long_as_answers_come_and_no_longer_than_is_stated() {
        let next = NextTurn::default();
        next.expect(Some(Instant(SECOND)), Instant(0));
        let begin = tokio::time::Instant::now();
        next.catch_up(Instant(SECOND), std::future::pending).await;
        assert_eq!(begin.elapsed(), Duration::ZERO, "there was no pause");
        next.catch_up(Instant(3 * SECOND), std::future::pending).await;
        assert!((50..60).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
        let begin = tokio::time::Instant::now();
        next.catch_up(Instant(3 * SECOND), || tokio::time::sleep(Duration::from_millis(40))).await;
        assert!((500..600).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
    }
}
