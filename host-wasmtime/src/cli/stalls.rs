//! Why the run stands still, for whoever asks: on SIGUSR1, and with `--explain-stalls`.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::reading::ReadCounts;
use crate::{InFlight, WaitsFor, driver::DriverHandle};

/// The elements that are told.
const SHOWN: usize = 5;

/// Tells whenever it is asked to, until it is aborted.
pub(super) async fn explain(handle: DriverHandle, counts: Arc<ReadCounts>, stalled_for: Option<Duration>) {
    let mut asked = Asked::new();
    let mut before = (0, 0);
    loop {
        let stalled = async {
            match stalled_for {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = asked.next() => tell(&handle).await,
            () = stalled => {
                let now = (counts.records.load(Ordering::Relaxed), handle.stats().emitted);
                if now == before {
                    tell(&handle).await;
                }
                before = now;
            }
        }
    }
}

async fn tell(handle: &DriverHandle) {
    let elements = handle.inspect().await;
    if elements.is_empty() {
        eprintln!("lookaside: nothing is in flight; waiting for input");
        return;
    }
    eprintln!("lookaside: {} in flight, oldest first:", elements.len());
    for element in elements.iter().take(SHOWN) {
        eprintln!("  {}", line(element));
    }
}

fn line(element: &InFlight) -> String {
    let what = match &element.key {
        Some(key) => format!("record {}", String::from_utf8_lossy(key).escape_debug()),
        None if element.barrier => "watermark".into(),
        None => "record without a key".into(),
    };
    let waits_for = match element.waits_for {
        WaitsFor::Slot => "waits for a slot",
        WaitsFor::Key => "waits for an earlier record of its key",
        WaitsFor::Answer => "waits for its lookup's answer",
        WaitsFor::Retry => "waits for its next attempt",
        WaitsFor::Order => "is done and waits for an element before it",
        WaitsFor::Downstream => "is done and waits for the output",
    };
    let age = Duration::from_millis(element.age.as_millis() as u64);
    let error = element.last_error.as_ref().map(|error| format!("; last error: {error}")).unwrap_or_default();
    format!("{what} {waits_for}, {} old, attempt {}{error}", humantime::format_duration(age), element.attempts)
}

/// The signal that asks, where there is one.
struct Asked {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Asked {
    #[cfg(unix)]
    fn new() -> Self {
        Self { signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()).ok() }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            signal.recv().await;
            return;
        }
        std::future::pending().await
    }
}
