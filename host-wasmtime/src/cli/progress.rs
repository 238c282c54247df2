//! How far the run is, on a terminal.

use std::{
    io::IsTerminal,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

use super::reading::ReadCounts;
use crate::{Stats, driver::DriverHandle};

const EVERY: Duration = Duration::from_millis(200);

/// A line on stderr that is drawn anew while the run goes on; it goes when this is dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    task: tokio::task::JoinHandle<()>,
}

impl Progress {
    /// Shows it, unless stderr is no terminal or the data itself goes to that terminal.
    pub(super) fn start(counts: Arc<ReadCounts>, handle: DriverHandle, data_on_stdout: bool) -> Option<Self> {
        if !std::io::stderr().is_terminal() || data_on_stdout && std::io::stdout().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        let shown = bar.clone();
        let start = Instant::now();
        let task = tokio::spawn(async move {
            loop {
                let read = counts.records.load(Ordering::Relaxed);
                shown.set_message(line(read, handle.stats(), start.elapsed()));
                shown.tick();
                tokio::time::sleep(EVERY).await;
            }
        });
        Some(Self { bar, task })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.task.abort();
        self.bar.finish_and_clear();
    }
}

fn line(read: u64, stats: Stats, elapsed: Duration) -> String {
    let rate = (stats.emitted as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    format!(
        "{} in, {} out, {}/s, {} in flight, {} misses, {} failed",
        HumanCount(read),
        HumanCount(stats.emitted),
        HumanCount(rate),
        HumanCount(stats.lookups_in_flight),
        HumanCount(stats.missing),
        HumanCount(stats.failed + stats.timed_out),
    )
}
