//! Latency for trying things out.

use std::{str::FromStr, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use lookaside_core::RequestId;

use super::{Lookup, LookupBatch, LookupProvider};

/// How long a simulated backend takes: always the same, or something between two durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// The shortest.
    pub from: Duration,
    /// The longest.
    pub to: Duration,
}

impl Latency {
    /// The latency of the lookup `id`: drawn evenly, and the same in every run.
    fn of(self, id: RequestId) -> Duration {
        let spread = self.to.saturating_sub(self.from);
        if spread.is_zero() {
            return self.from;
        }
        // Fibonacci hashing spreads the ids, which come in small steps, over all 64 bits.
        let roll = (id.0 ^ (id.0 >> 24)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.from + spread.mul_f64(roll as f64 / f64::from(u32::MAX))
    }
}

impl FromStr for Latency {
    type Err = String;

    /// Reads `5ms` and `5ms..20ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let duration = |text: &str| {
            humantime::parse_duration(text.trim())
                .map_err(|error| format!("`{text}` is no duration such as 5ms: {error}"))
        };
        let Some((from, to)) = text.split_once("..") else {
            let latency = duration(text)?;
            return Ok(Self { from: latency, to: latency });
        };
        let latency = Self { from: duration(from)?, to: duration(to)? };
        if latency.from > latency.to {
            return Err(format!("`{text}` ends before it begins"));
        }
        Ok(latency)
    }
}

/// A provider whose answers take longer than they do. Each key waits by itself, side by side.
pub struct WithLatency {
    provider: Arc<dyn LookupProvider>,
    latency: Latency,
}

impl WithLatency {
    /// Asks `provider` for each key after `latency`.
    pub fn new(provider: Arc<dyn LookupProvider>, latency: Latency) -> Self {
        Self { provider, latency }
    }
}

impl LookupProvider for WithLatency {
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        let ask_late = |lookup: Lookup| {
            let wait = tokio::time::sleep(self.latency.of(lookup.id()));
            let provider = Arc::clone(&self.provider);
            async move {
                wait.await;
                provider.lookup(lookup.into()).await;
            }
        };
        let waits: FuturesUnordered<_> = batch.into_iter().map(ask_late).collect();
        waits.collect::<()>().boxed()
    }

    fn columns(&self) -> Option<&[String]> {
        self.provider.columns()
    }

    fn take_untyped_keys(&self) {
        self.provider.take_untyped_keys();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_one_duration_or_two() {
        let parse =
            |text: &str| text.parse::<Latency>().map(|latency| (latency.from.as_millis(), latency.to.as_millis()));
        assert_eq!(parse("5ms"), Ok((5, 5)));
        assert_eq!(parse("5ms..1s"), Ok((5, 1_000)));
        for text in ["", "5", "fast", "9ms..5ms", "..5ms"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn latencies_differ_by_lookup_and_stay_within_their_bounds() {
        let latency: Latency = "5ms..15ms".parse().unwrap();
        let drawn: Vec<Duration> = (0..1_000).map(|number| latency.of(RequestId(1 << 24 | number))).collect();
        assert!(drawn.iter().all(|drawn| (latency.from..=latency.to).contains(drawn)));
        assert!(drawn.iter().any(|drawn| *drawn < Duration::from_millis(7)));
        assert!(drawn.iter().any(|drawn| *drawn > Duration::from_millis(13)));
    }
}
