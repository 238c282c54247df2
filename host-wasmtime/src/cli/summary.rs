//! The final counters.

use std::{fmt::Write as _, time::Duration};

use super::{arguments::StatsFormat, writing::WriteCounts};
use crate::Stats;

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) read: u64,
    pub(super) skipped: u64,
    pub(super) written: WriteCounts,
    pub(super) stats: Stats,
    pub(super) elapsed: Duration,
}

impl Summary {
    /// Whether records were dropped, skipped, or emitted as failed.
    pub(super) fn is_incomplete(&self) -> bool {
        self.stats.dropped > 0 || self.skipped > 0 || self.written.failed > 0
    }

    /// Tells it on stderr.
    pub(super) fn tell(&self, format: StatsFormat) {
        match format {
            StatsFormat::Json => eprintln!("{}", self.json()),
            StatsFormat::Text => eprintln!("{}", self.text()),
        }
    }

    fn rate(&self) -> u64 {
        (self.written.records as f64 / self.elapsed.as_secs_f64().max(1e-6)) as u64
    }

    fn json(&self) -> String {
        let mut json = format!(
            "{{\"records-read\":{},\"records-skipped\":{},\"records-written\":{},\"seconds\":{:.3},\"records-per-second\":{}",
            self.read,
            self.skipped,
            self.written.records,
            self.elapsed.as_secs_f64(),
            self.rate(),
        );
        for (name, value) in self.stats.iter() {
            let _ = write!(json, ",\"{name}\":{value}");
        }
        json.push('}');
        json
    }

    fn text(&self) -> String {
        let stats = &self.stats;
        format!(
            "{} read, {} written in {:.2} s ({}/s): {} found, {} missing, {} failed, {} timed out; {} dropped, {} skipped",
            self.read,
            self.written.records,
            self.elapsed.as_secs_f64(),
            self.rate(),
            stats.found,
            stats.missing,
            stats.failed,
            stats.timed_out,
            stats.dropped,
            self.skipped,
        )
    }
}
