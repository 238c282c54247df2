//! The line `set:`.

use std::time::Duration;

use lookaside_core::{CacheOptions, Multiplier, Options, Order, Policy, Retry, RetryOn};

/// What a timed-out record shows, where the policy is to emit it.
pub type TimedOutValues = Vec<String>;

/// The operator's options, and how outputs are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How the operator is opened.
    pub options: Options,
    /// What stands for a timed-out record's rows.
    pub timed_out: TimedOutValues,
}

impl Settings {
    /// Reads `mode=ordered cap=5 timeout=10 on-timeout=emit[3 4]`.
    ///
    /// # Errors
    ///
    /// The setting that has no meaning here.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut settings = Self {
            options: Options { timeout: None, request_payload: true, ..Options::default() },
            timed_out: Vec::new(),
        };
        let mut has_mode = false;
        for word in words(text) {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no NAME=VALUE"))?;
            settings.set(name, value)?;
            has_mode |= name == "mode";
        }
        if !has_mode {
            return Err("`mode` must be given".into());
        }
        Ok(settings)
    }

    /// Sets one of them.
    ///
    /// # Errors
    ///
    /// The setting, if it has no meaning here: none is passed over.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match (name, value) {
            ("mode", "ordered") => self.options.order = Order::Ordered,
            ("mode", "unordered") => self.options.order = Order::Unordered,
            ("mode", "key-ordered") => self.options.order = Order::KeyOrdered,
            // Whether records have timestamps shows in the script.
            ("time", "event" | "processing") => {}
            ("cap", cap) => self.options.capacity = number(cap)?,
            ("max-bytes", bytes) => self.options.max_bytes = Some(number(bytes)?),
            ("timeout", "none") => self.options.timeout = None,
            ("timeout", ms) => self.options.timeout = Some(number(ms)?).filter(|&ms| ms > 0).map(Duration::from_millis),
            ("on-timeout", text) => {
                (self.options.on_timeout, self.timed_out) = match policy(text) {
                    Ok(policy) => (policy, Vec::new()),
                    Err(reason) => emitted(text).ok_or(reason)?,
                }
            }
            ("on-missing", text) => self.options.on_missing = policy(text)?,
            ("on-failure", text) => self.options.on_failure = policy(text)?,
            ("cache", entries) => self.cache().max_bytes = number::<u64>(entries)? * ENTRY_BYTES,
            ("cache-write", ms) => self.cache().expire_after_write = duration(ms)?,
            ("cache-access", ms) => self.cache().expire_after_access = duration(ms)?,
            ("cache-missing", ms) => self.cache().missing_expire_after_write = duration(ms)?,
            ("retry", "none") => self.options.retry = Retry::default(),
            ("retry", text) => self.options.retry = retry(text)?,
            _ => return Err(format!("the setting `{name}={value}` has no meaning here")),
        }
        Ok(())
    }

    fn cache(&mut self) -> &mut CacheOptions {
        self.options.cache.get_or_insert(CacheOptions::with_max_bytes(0))
    }
}

/// Bytes of an entry with a key and a row of one character each.
const ENTRY_BYTES: u64 = 98;

/// Splits at spaces outside of brackets.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => {
                words.push(String::new());
                continue;
            }
            _ => {}
        }
        words.last_mut().expect("there is always one").push(character);
    }
    words.retain(|word| !word.is_empty());
    words
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is no number that fits"))
}

/// Milliseconds, or `none`.
fn duration(text: &str) -> Result<Option<Duration>, String> {
    if text == "none" { Ok(None) } else { Ok(Some(Duration::from_millis(number(text)?))) }
}

fn policy(text: &str) -> Result<Policy, String> {
    match text {
        "fail" => Ok(Policy::Fail),
        "drop" => Ok(Policy::Drop),
        "emit" => Ok(Policy::Emit),
        _ => Err(format!("`{text}` is no policy of this operator")),
    }
}

/// `emit[]` drops; `emit[v ...]` shows these values.
fn emitted(text: &str) -> Option<(Policy, TimedOutValues)> {
    let values: Vec<String> =
        text.strip_prefix("emit[")?.strip_suffix(']')?.split_whitespace().map(str::to_owned).collect();
    Some((if values.is_empty() { Policy::Drop } else { Policy::Emit }, values))
}

/// `fixed(N,DELAY,ON)` and `exp(N,INIT,MAX,MULT,ON)`, in milliseconds.
fn retry(text: &str) -> Result<Retry, String> {
    let wrong = || format!("`{text}` is neither fixed(N,DELAY,ON) nor exp(N,INIT,MAX,MULT,ON)");
    let (kind, arguments) = text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(wrong)?;
    let arguments: Vec<&str> = arguments.split(',').collect();
    let on = |text: &str| match text {
        "empty" => Ok(RetryOn::Missing),
        "error" => Ok(RetryOn::Failure),
        "any" => Ok(RetryOn::Both),
        _ => Err(wrong()),
    };
    let ms = |text: &str| number(text).map(Duration::from_millis);
    match (kind, &arguments[..]) {
        ("fixed", [attempts, delay, ends]) => {
            Ok(Retry { on: on(ends)?, attempts: number(attempts)?, delay: ms(delay)?, ..Retry::default() })
        }
        ("exp", [attempts, delay, longest, multiplier, ends]) => Ok(Retry {
            on: on(ends)?,
            attempts: number(attempts)?,
            delay: ms(delay)?,
            max_delay: Some(ms(longest)?),
            multiplier: multiplier.parse::<Multiplier>().map_err(|()| wrong())?,
            ..Retry::default()
        }),
        _ => Err(wrong()),
    }
}
