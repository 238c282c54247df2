//! Wall time and CPU time.

use std::time::Instant;

use nix::time::{ClockId, clock_gettime};

/// What a stretch of work took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) records: usize,
    pub(crate) seconds: f64,
    /// Of all threads of this process, user and system.
    pub(crate) cpu_seconds: f64,
}

impl Cost {
    pub(crate) fn rate(&self) -> f64 {
        self.records as f64 / self.seconds
    }

    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.records as f64
    }
}

/// Measures from now on.
pub(crate) struct Meter {
    start: Instant,
    cpu: f64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu_seconds() }
    }

    pub(crate) fn stop(self, records: usize) -> Cost {
        Cost { records, seconds: self.start.elapsed().as_secs_f64(), cpu_seconds: cpu_seconds() - self.cpu }
    }
}

fn cpu_seconds() -> f64 {
    // It is there on every Linux.
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0.0, |time| std::time::Duration::from(time).as_secs_f64())
}
