//! Waiting after a pause, until what came meanwhile was read.

use std::pin::pin;

use lookaside_feeder::{GRACE, LATE, LONGEST, QUIET};
use tokio::time::{Instant, error::Elapsed};

/// Waits until what came in a pause was read, `arrived` being the wait for one answer.
pub(crate) async fn catch_up<F: Future<Output = ()>>(arrived: impl Fn() -> F) {
    let begin = Instant::now();
    while begin.elapsed() < LONGEST && tokio::time::timeout(QUIET, arrived()).await.is_ok() {}
}

/// As [`tokio::time::timeout_at`], except that work whose deadline passed in a pause gets time to read what had come.
pub(crate) async fn timeout_at<T>(deadline: Instant, work: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut work = pin!(work);
    match tokio::time::timeout_at(deadline, &mut work).await {
        Err(_) if deadline.elapsed() >= LATE => tokio::time::timeout(GRACE, work).await,
        ended => ended,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_reads_for_as_long_as_answers_come_and_no_longer_than_is_stated() {
        let begin = Instant::now();
        catch_up(std::future::pending).await;
        assert!((50..60).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
        let begin = Instant::now();
        catch_up(|| tokio::time::sleep(Duration::from_millis(40))).await;
        assert!((500..600).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
    }
}
