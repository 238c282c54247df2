//! Counters that balance, and gauges.

macro_rules! stats {
    ($($(#[$doc:meta])* $field:ident = $name:literal),* $(,)?) => {
        /// Counters since the operator was opened, and gauges of what it holds now.
        ///
        /// Always: `accepted + restored = emitted + dropped + in_flight`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Stats {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Stats {
            /// Each value with the name that it has in the contract.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$(($name, self.$field)),*].into_iter()
            }

            /// The stats that `pairs` name; 0 for the rest, and unknown names are passed over.
            pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
                let mut stats = Self::default();
                for (name, value) in pairs {
                    match name {
                        $($name => stats.$field = value,)*
                        _ => {}
                    }
                }
                stats
            }
        }
    };
}

stats! {
    /// Records taken from the input.
    accepted = "accepted",
    /// Records taken from a snapshot.
    restored = "restored",
    /// Records that went on.
    emitted = "emitted",
    /// Records that left without going on, as their policy says.
    dropped = "dropped",
    /// Gauge: records taken that have not left, those over the capacity included.
    in_flight = "in-flight",
    /// Records that ended with rows.
    found = "found",
    /// Records that ended without rows, those without a key included.
    missing = "missing",
    /// Of these, the ones without a key.
    keyless = "keyless",
    /// Records whose last attempt failed.
    failed = "failed",
    /// Records whose deadline came first.
    timed_out = "timed-out",
    /// Lookups started.
    attempts = "attempts",
    /// Of these, the ones after a record's first.
    retries = "retries",
    /// Answers that were taken.
    answers_accepted = "answers-accepted",
    /// Answers ignored since their record has its end already, or a newer attempt.
    answers_stale = "answers-stale",
    /// Answers ignored since they came at the deadline or after it.
    answers_late = "answers-late",
    /// Answers ignored since no such attempt was started.
    answers_unknown = "answers-unknown",
    /// Attempts that the cache answered.
    cache_hits = "cache-hits",
    /// Attempts that the cache could not answer, and that made a lookup.
    cache_misses = "cache-misses",
    /// Attempts that waited for another record's lookup of the same key.
    cache_shared = "cache-shared",
    /// Entries that gave way for lack of room.
    cache_evictions = "cache-evictions",
    /// Gauge: entries in the cache.
    cache_entries = "cache-entries",
    /// Gauge: their bytes.
    cache_bytes = "cache-bytes",
    /// Watermarks and statuses that went on.
    barriers_emitted = "barriers-emitted",
    /// Gauge: watermarks and statuses taken that have not left.
    barriers_in_flight = "barriers-in-flight",
    /// Gauge: records whose lookup has begun and not ended, those waiting for a retry included.
    lookups_in_flight = "lookups-in-flight",
    /// Gauge: restored elements, of any kind, that wait for room.
    backlog = "backlog",
    /// Gauge: bytes of keys, payloads and rows held, and four for each row of a record after its first.
    held_bytes = "held-bytes",
}
