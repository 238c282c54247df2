//! What can be set, as values and as the texts that cross the contract.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{num::NonZeroU32, time::Duration};

use crate::{CacheOptions, Outcome, Retry, RetryOn, time::nanos};

/// The greatest capacity.
const MAX_CAPACITY: u32 = (1 << 24) - 1;

/// In which order records leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// In the order of arrival.
    Ordered,
    /// As their lookups end, but never across a watermark.
    Unordered,
    /// In the order of arrival within a key, one lookup a key at a time, never across a watermark.
    KeyOrdered,
}

/// What becomes of a record by its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// It goes on, its outcome said.
    Emit,
    /// It leaves without a trace but in the counters.
    Drop,
    /// The operator fails.
    Fail,
}

/// The operator's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// In which order records leave.
    pub order: Order,
    /// Elements in flight at most. Watermarks and statuses count, but in key-ordered mode.
    pub capacity: NonZeroU32,
    /// Bytes of keys, payloads and rows in flight at which no further record is taken.
    ///
    /// A record that is longer by itself is taken when no other is in flight.
    pub max_bytes: Option<u64>,
    /// From a record's first attempt to its end, all attempts included.
    pub timeout: Option<Duration>,
    /// For records that no row was found for.
    pub on_missing: Policy,
    /// For records whose last attempt failed.
    pub on_failure: Policy,
    /// For records whose deadline came first.
    pub on_timeout: Policy,
    /// When a record gets another attempt.
    pub retry: Retry,
    /// What was found is used again, and equal keys that are looked up at the same time share one
    /// lookup. None makes a lookup for each record.
    pub cache: Option<CacheOptions>,
    /// Whether requests carry the records' payloads.
    pub request_payload: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Ordered,
            capacity: NonZeroU32::new(100).expect("not zero"),
            max_bytes: None,
            timeout: Some(Duration::from_secs(60)),
            on_missing: Policy::Emit,
            on_failure: Policy::Fail,
            on_timeout: Policy::Fail,
            retry: Retry::default(),
            cache: None,
            request_payload: false,
        }
    }
}

/// An option that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {name}: {reason}")]
pub struct RefusedOption {
    /// Its name, as given.
    pub name: String,
    /// What is wrong and what would be right.
    pub reason: String,
}

const ORDERS: &[(&str, Order)] =
    &[("ordered", Order::Ordered), ("unordered", Order::Unordered), ("key-ordered", Order::KeyOrdered)];
const POLICIES: &[(&str, Policy)] = &[("emit", Policy::Emit), ("drop", Policy::Drop), ("fail", Policy::Fail)];
const RETRY_ON: &[(&str, RetryOn)] =
    &[("none", RetryOn::None), ("failure", RetryOn::Failure), ("missing", RetryOn::Missing), ("both", RetryOn::Both)];
const BOOLEANS: &[(&str, bool)] = &[("true", true), ("false", false)];

const UNKNOWN: &str = "it is unknown; the contract lists the options there are";

impl Options {
    /// The options that `pairs` name; the defaults for the rest.
    ///
    /// # Errors
    ///
    /// The first option that is unknown, named twice, or has a text that it cannot use.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, RefusedOption> {
        let mut options = Self::default();
        let mut seen = Vec::new();
        let mut cache = CacheOptions::with_max_bytes(0);
        for (name, text) in pairs {
            let refuse = |reason: String| RefusedOption { name: name.to_owned(), reason };
            if seen.contains(&name) {
                return Err(refuse("it is given twice".to_owned()));
            }
            seen.push(name);
            let cached = name.strip_prefix("cache-").map(|name| (&mut cache, name));
            match cached {
                Some((cache, name)) => set_cache(cache, name, text).map_err(refuse)?,
                None => options.set(name, text).map_err(refuse)?,
            }
        }
        if cache.max_bytes > 0 {
            options.cache = Some(cache);
        } else if let Some(name) = seen.iter().find(|name| name.starts_with("cache-") && **name != "cache-max-bytes") {
            let reason = "there is no cache without cache-max-bytes".to_owned();
            return Err(RefusedOption { name: (*name).to_owned(), reason });
        }
        options.checked()
    }

    /// Every option as its name and its text; [`Self::from_pairs`] reads them back.
    #[must_use]
    pub fn to_pairs(&self) -> Vec<(&'static str, String)> {
        let optional = |value: Option<u64>| value.map_or("none".to_owned(), |value| value.to_string());
        let pairs = [
            ("order", word(ORDERS, self.order)),
            ("capacity", self.capacity.to_string()),
            ("max-bytes", optional(self.max_bytes)),
            ("timeout", optional(self.timeout.map(nanos))),
            ("on-missing", word(POLICIES, self.on_missing)),
            ("on-failure", word(POLICIES, self.on_failure)),
            ("on-timeout", word(POLICIES, self.on_timeout)),
            ("retry-on", word(RETRY_ON, self.retry.on)),
            ("retry-attempts", self.retry.attempts.to_string()),
            ("retry-delay", nanos(self.retry.delay).to_string()),
            ("retry-multiplier", self.retry.multiplier.to_string()),
            ("retry-max-delay", optional(self.retry.max_delay.map(nanos))),
            ("retry-jitter-seed", optional(self.retry.jitter_seed)),
            ("request-payload", word(BOOLEANS, self.request_payload)),
        ];
        let mut pairs = Vec::from(pairs);
        if let Some(cache) = &self.cache {
            pairs.extend([
                ("cache-max-bytes", cache.max_bytes.to_string()),
                ("cache-expire-after-write", optional(cache.expire_after_write.map(nanos))),
                ("cache-expire-after-access", optional(cache.expire_after_access.map(nanos))),
                ("cache-missing-expire-after-write", optional(cache.missing_expire_after_write.map(nanos))),
            ]);
        }
        pairs
    }

    /// The same options, if they can be used together.
    ///
    /// # Errors
    ///
    /// The option that cannot be used, with its bounds.
    pub fn checked(self) -> Result<Self, RefusedOption> {
        let refuse = |name: &str, reason: String| Err(RefusedOption { name: name.to_owned(), reason });
        if self.capacity.get() > MAX_CAPACITY {
            return refuse("capacity", format!("{} is over the greatest, {MAX_CAPACITY}", self.capacity));
        }
        if self.max_bytes == Some(0) {
            return refuse("max-bytes", "0 bytes hold no record; `none` sets no bound".to_owned());
        }
        if self.timeout == Some(Duration::ZERO) {
            return refuse("timeout", "0 leaves no time for any lookup; `none` sets no timeout".to_owned());
        }
        if self.cache.as_ref().is_some_and(|cache| cache.max_bytes == 0) {
            return refuse("cache-max-bytes", "0 bytes keep nothing; `none` is no cache".to_owned());
        }
        Ok(self)
    }

    /// What becomes of a record that ended with `outcome`.
    pub(crate) fn policy(&self, outcome: Outcome) -> Policy {
        match outcome {
            Outcome::Found => Policy::Emit,
            Outcome::Missing => self.on_missing,
            Outcome::Failed => self.on_failure,
            Outcome::TimedOut => self.on_timeout,
        }
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "order" => self.order = choice(ORDERS, text)?,
            "capacity" => {
                const EXPECTED: &str = "a whole number from 1 to 16777215";
                self.capacity = (u32::try_from(number(text, EXPECTED)?).ok().and_then(NonZeroU32::new))
                    .ok_or_else(|| format!("{text} is not {EXPECTED}"))?;
            }
            "max-bytes" => self.max_bytes = optional(text)?,
            "timeout" => self.timeout = optional(text)?.map(Duration::from_nanos),
            "on-missing" => self.on_missing = choice(POLICIES, text)?,
            "on-failure" => self.on_failure = choice(POLICIES, text)?,
            "on-timeout" => self.on_timeout = choice(POLICIES, text)?,
            "retry-on" => self.retry.on = choice(RETRY_ON, text)?,
            "retry-attempts" => {
                self.retry.attempts = u32::try_from(number(text, "a whole number")?).unwrap_or(u32::MAX);
            }
            "retry-delay" => self.retry.delay = Duration::from_nanos(number(text, "a number of nanoseconds")?),
            "retry-multiplier" => {
                self.retry.multiplier = (text.parse())
                    .map_err(|()| format!("`{text}` is not a number of 1 or more with at most three decimals"))?;
            }
            "retry-max-delay" => self.retry.max_delay = optional(text)?.map(Duration::from_nanos),
            "retry-jitter-seed" => self.retry.jitter_seed = optional(text)?,
            "request-payload" => self.request_payload = choice(BOOLEANS, text)?,
            _ => {
                return Err(UNKNOWN.to_owned());
            }
        }
        Ok(())
    }
}

/// Sets an option of the cache; `max_bytes` 0 stands for no cache.
fn set_cache(cache: &mut CacheOptions, name: &str, text: &str) -> Result<(), String> {
    match name {
        "max-bytes" => {
            cache.max_bytes = optional(text)?.unwrap_or(0);
            if text != "none" && cache.max_bytes == 0 {
                return Err("0 bytes keep nothing; `none` is no cache".to_owned());
            }
        }
        "expire-after-write" => cache.expire_after_write = optional(text)?.map(Duration::from_nanos),
        "expire-after-access" => cache.expire_after_access = optional(text)?.map(Duration::from_nanos),
        "missing-expire-after-write" => cache.missing_expire_after_write = optional(text)?.map(Duration::from_nanos),
        _ => return Err(UNKNOWN.to_owned()),
    }
    Ok(())
}

fn choice<T: Copy>(choices: &[(&str, T)], text: &str) -> Result<T, String> {
    match choices.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(*value),
        None => Err(none_of(&mut choices.iter().map(|(word, _)| *word), text)),
    }
}

fn none_of(words: &mut dyn Iterator<Item = &str>, text: &str) -> String {
    let mut reason = format!("`{text}` is none of");
    for (number, word) in words.enumerate() {
        reason.push_str(if number == 0 { " " } else { ", " });
        reason.push_str(word);
    }
    reason
}

fn word<T: PartialEq>(choices: &[(&str, T)], value: T) -> String {
    choices.iter().find(|(_, choice)| *choice == value).map_or(String::new(), |(word, _)| (*word).to_owned())
}

fn number(text: &str, expected: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not {expected}"))
}

fn optional(text: &str) -> Result<Option<u64>, String> {
    if text == "none" {
        return Ok(None);
    }
    number(text, "a whole number or `none`").map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_give_the_options_back() {
        let options = Options {
            order: Order::KeyOrdered,
            capacity: NonZeroU32::MIN,
            max_bytes: Some(1 << 40),
            timeout: None,
            on_missing: Policy::Drop,
            on_failure: Policy::Emit,
            on_timeout: Policy::Emit,
            retry: Retry {
                on: RetryOn::Both,
                attempts: 7,
                delay: Duration::from_nanos(3),
                multiplier: "1.5".parse().unwrap(),
                max_delay: Some(Duration::from_secs(9)),
                jitter_seed: Some(u64::MAX),
            },
            cache: Some(CacheOptions {
                max_bytes: 1 << 20,
                expire_after_write: Some(Duration::from_secs(1)),
                expire_after_access: None,
                missing_expire_after_write: None,
            }),
            request_payload: true,
        };
        let pairs = options.to_pairs();
        let read = Options::from_pairs(pairs.iter().map(|(name, text)| (*name, text.as_str())));
        assert_eq!(read, Ok(options));
    }

    #[test]
    fn unusable_options_are_refused_by_name() {
        for (name, text) in [
            ("order", "sorted"),
            ("capacity", "0"),
            ("capacity", "-1"),
            ("capacity", "16777216"),
            ("max-bytes", "0"),
            ("max-bytes", "1k"),
            ("timeout", "0"),
            ("timeout", "2s"),
            ("on-missing", "ignore"),
            ("retry-multiplier", "0.5"),
            ("retry-multiplier", "NaN"),
            ("request-payload", "yes"),
            ("Order", "ordered"),
            ("cache-max-bytes", "0"),
            ("cache-expire-after-write", "1000"),
            ("cache-size", "1000"),
        ] {
            let refused = Options::from_pairs([(name, text)]).expect_err(name);
            assert_eq!(refused.name, name);
            assert!(!refused.reason.is_empty());
        }
        let twice = Options::from_pairs([("capacity", "1"), ("capacity", "1")]).expect_err("given twice");
        assert_eq!(twice.name, "capacity");
    }
}
