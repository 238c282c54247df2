//! A run that ends before its input does: by a signal, or since too much has failed.
//!
//! No more is read then; what was read is joined and written as at the end of the input.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;

use super::exit::ExitStatus;

/// Ends a run early. Clones end the same one.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    why: OnceLock<Why>,
    /// Whether the reader waits for bytes, and whether it has ended.
    is_reading: Arc<AtomicBool>,
    has_ended: AtomicBool,
    /// Whether what was not read by now is left alone.
    closed: watch::Sender<bool>,
}

/// Why a run ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody asked for it.
    Signal(ExitStatus),
    /// More than `--max-errors` records failed.
    Errors,
}

impl Stop {
    pub(super) fn new() -> Self {
        let shared = Shared {
            why: OnceLock::new(),
            is_reading: Arc::default(),
            has_ended: AtomicBool::new(false),
            closed: watch::Sender::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Why the run ends early, if it does.
    pub(super) fn why(&self) -> Option<Why> {
        self.shared.why.get().copied()
    }

    /// What the reader sets while it may wait for bytes.
    pub(super) fn is_reading(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.is_reading)
    }

    /// The reader reads no more.
    pub(super) fn reader_ended(&self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
    }

    /// Becomes true once the stream of what was read is to end.
    pub(super) fn closed(&self) -> watch::Receiver<bool> {
        self.shared.closed.subscribe()
    }

    /// Ends the run once what was read is on its way; the first reason counts.
    pub(super) async fn end(&self, why: Why) {
        let _ = self.shared.why.set(why);
        let is_idle = || self.shared.has_ended.load(Ordering::SeqCst) || self.shared.is_reading.load(Ordering::SeqCst);
        // The reader sees at its next record that it is to end, unless it waits for that record.
        while !is_idle() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.shared.closed.send_replace(true);
    }

    /// Ends the run at the first signal that asks for it, and the process at the second.
    pub(super) async fn at_signals(self) {
        let mut signals = Signals::new();
        let status = signals.next().await;
        eprintln!("lookaside: ending; what was read is still joined and written. Once more ends at once");
        let ending = self.end(Why::Signal(status));
        let again = async {
            let status = signals.next().await;
            std::process::exit(i32::from(status as u8));
        };
        tokio::join!(ending, again);
    }
}

/// The signals that ask a run to end.
struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { interrupt: signal(SignalKind::interrupt()).ok(), terminate: signal(SignalKind::terminate()).ok() }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    #[cfg(unix)]
    async fn next(&mut self) -> ExitStatus {
        async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = received(&mut self.interrupt) => ExitStatus::Interrupted,
            () = received(&mut self.terminate) => ExitStatus::Terminated,
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) -> ExitStatus {
        match tokio::signal::ctrl_c().await {
            Ok(()) => ExitStatus::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}
