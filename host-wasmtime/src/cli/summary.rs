//! The final counters.

use std::{fmt::Write as _, time::Duration};

use super::arguments::StatsFormat;
use crate::Stats;

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) read: u64,
    pub(super) skipped: u64,
    /// Records without the key's field.
    pub(super) without_key: u64,
    /// Records that were written.
    pub(super) written: u64,
    pub(super) stats: Stats,
    pub(super) elapsed: Duration,
}

impl Summary {
    /// Records whose lookup failed or timed out, and those that were skipped.
    pub(super) fn errors(&self) -> u64 {
        self.stats.failed + self.stats.timed_out + self.skipped
    }

    /// Tells it on stderr.
    pub(super) fn tell(&self, format: StatsFormat) {
        match format {
            StatsFormat::Json => eprintln!("{}", self.json()),
            StatsFormat::Text => eprintln!("{}", self.text()),
        }
    }

    fn rate(&self) -> u64 {
        (self.written as f64 / self.elapsed.as_secs_f64().max(1e-6)) as u64
    }

    fn json(&self) -> String {
        let mut json = format!(
            "{{\"records-read\":{},\"records-skipped\":{},\"records-without-key\":{},\"records-written\":{},\"seconds\":{:.3},\"records-per-second\":{}",
            self.read,
            self.skipped,
            self.without_key,
            self.written,
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
            "{} read, {} written in {:.2} s ({}/s): {} found, {} missing, {} failed, {} timed out; {} dropped, {} skipped, {} without the key's field",
            self.read,
            self.written,
            self.elapsed.as_secs_f64(),
            self.rate(),
            stats.found,
            stats.missing,
            stats.failed,
            stats.timed_out,
            stats.dropped,
            self.skipped,
            self.without_key,
        )
    }
}
