//! The lines of a script.

use std::fmt;

use lookaside_core::{EventTime, FailureKind};

/// The ways to fail, by their names.
const KINDS: [FailureKind; 4] =
    [FailureKind::Unavailable, FailureKind::Throttled, FailureKind::Rejected, FailureKind::Malformed];

/// One line: what is done, and what must come of it.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its line in the file, from 1.
    pub line: usize,
    /// The line as it stands.
    pub text: String,
    /// What is done.
    pub command: Command,
    /// What must come of it.
    pub expected: String,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Offers a record.
    Push {
        /// Its name, which is its lookup key where it has no other.
        name: String,
        /// Its lookup key, where it is another.
        lookup_key: Option<String>,
        /// Its event time.
        event_time: EventTime,
        /// What keeps its order in key-ordered mode.
        order_key: Option<String>,
        /// Bytes of payload besides its name.
        bytes: usize,
        /// It has no lookup key.
        keyless: bool,
    },
    /// Offers a watermark.
    Watermark(EventTime),
    /// Offers a status: idle, or active.
    Status {
        /// Idle from here on.
        idle: bool,
    },
    /// Answers an attempt with rows.
    Complete {
        /// Whose.
        name: String,
        /// Which.
        attempt: u32,
        /// One row each.
        rows: Vec<String>,
        /// When the answer arrived, in milliseconds, where that is not now.
        at: Option<u64>,
    },
    /// Answers an attempt with a failure.
    Fail {
        /// Whose.
        name: String,
        /// Which.
        attempt: u32,
        /// What went wrong.
        message: String,
        /// When the answer arrived, in milliseconds, where that is not now.
        at: Option<u64>,
        /// What another attempt could do about it.
        kind: FailureKind,
        /// Milliseconds to wait at least before another attempt.
        retry_after: Option<u64>,
    },
    /// Lets the clock become so many milliseconds.
    Clock(u64),
    /// Takes outputs.
    Poll {
        /// At most so many elements.
        max: Option<u32>,
    },
    /// Takes a snapshot and calls it so.
    Snapshot(String),
    /// Starts anew from a snapshot, with some settings changed.
    Restore {
        /// Which snapshot.
        name: String,
        /// Settings and their new values.
        changed: Vec<(String, String)>,
    },
    /// Ends the input.
    Finish,
    /// Looks at the gauges.
    State,
    /// Looks at the cache's counters.
    Cache,
    /// Looks at what is in flight.
    Inspect,
}

impl Step {
    /// Reads `COMMAND -> EXPECTED`.
    ///
    /// # Errors
    ///
    /// What makes no sense in it.
    pub fn parse(line: usize, text: &str) -> Result<Self, String> {
        let (command, expected) = text.split_once(" -> ").ok_or("a step is `COMMAND -> EXPECTED`")?;
        Ok(Self {
            line,
            text: text.to_owned(),
            command: Command::parse(command.trim())?,
            expected: expected.trim().to_owned(),
        })
    }
}

impl Command {
    fn parse(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no command");
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "push" => push(rest),
            "wm" => rest.parse().map(|time| Self::Watermark(EventTime(time))).map_err(|_| unknown()),
            "status" if rest == "idle" || rest == "active" => Ok(Self::Status { idle: rest == "idle" }),
            "complete" => {
                let (attempt, rest) = rest.split_once(" [").ok_or_else(unknown)?;
                let (rows, more) = rest.split_once(']').ok_or_else(unknown)?;
                let (name, attempt) = named_attempt(attempt).ok_or_else(unknown)?;
                let mut at = None;
                for word in more.split_whitespace() {
                    at = Some(word.strip_prefix("at=").and_then(|at| at.parse().ok()).ok_or_else(unknown)?);
                }
                Ok(Self::Complete { name, attempt, rows: rows.split_whitespace().map(str::to_owned).collect(), at })
            }
            "fail" => {
                let (attempt, rest) = rest.split_once(" \"").ok_or_else(unknown)?;
                let (message, more) = rest.split_once('"').ok_or_else(unknown)?;
                let (name, attempt) = named_attempt(attempt).ok_or_else(unknown)?;
                let (mut at, mut kind, mut retry_after) = (None, FailureKind::Unavailable, None);
                for word in more.split_whitespace() {
                    match word.split_once('=') {
                        Some(("at", ms)) => at = Some(ms.parse().map_err(|_| unknown())?),
                        Some(("after", ms)) => retry_after = Some(ms.parse().map_err(|_| unknown())?),
                        _ => kind = KINDS.into_iter().find(|kind| kind.name() == word).ok_or_else(unknown)?,
                    }
                }
                Ok(Self::Fail { name, attempt, message: message.to_owned(), at, kind, retry_after })
            }
            "clock" => rest.parse().map(Self::Clock).map_err(|_| unknown()),
            "poll" if rest.is_empty() => Ok(Self::Poll { max: None }),
            "poll" => {
                let max = rest.strip_prefix("max=").and_then(|max| max.parse().ok()).ok_or_else(unknown)?;
                Ok(Self::Poll { max: Some(max) })
            }
            "snapshot" => Ok(Self::Snapshot(rest.to_owned())),
            "restore" => {
                let mut words = rest.split_whitespace();
                let name = words.next().ok_or_else(unknown)?.to_owned();
                let changed = words
                    .map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
                    .collect::<Option<_>>()
                    .ok_or_else(unknown)?;
                Ok(Self::Restore { name, changed })
            }
            "finish" if rest.is_empty() => Ok(Self::Finish),
            "state" if rest.is_empty() => Ok(Self::State),
            "cache" if rest.is_empty() => Ok(Self::Cache),
            "inspect" if rest.is_empty() => Ok(Self::Inspect),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Command {
    /// Writes it as it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |at: &Option<u64>| at.map(|at| format!(" at={at}")).unwrap_or_default();
        match self {
            Self::Push { name, lookup_key, event_time, order_key, bytes, keyless } => {
                write!(f, "push {name}")?;
                if *event_time != EventTime::NONE {
                    write!(f, " @{}", event_time.0)?;
                }
                if let Some(key) = lookup_key {
                    write!(f, " lookup={key}")?;
                }
                if let Some(key) = order_key {
                    write!(f, " key={key}")?;
                }
                if *bytes > 0 {
                    write!(f, " bytes={bytes}")?;
                }
                f.write_str(if *keyless { " keyless" } else { "" })
            }
            Self::Watermark(time) => write!(f, "wm {}", time.0),
            Self::Status { idle } => f.write_str(if *idle { "status idle" } else { "status active" }),
            Self::Complete { name, attempt, rows, at: arrived } => {
                write!(f, "complete {name}#{attempt} [{}]{}", rows.join(" "), at(arrived))
            }
            Self::Fail { name, attempt, message, at: arrived, kind, retry_after } => {
                write!(f, "fail {name}#{attempt} \"{message}\"{}", at(arrived))?;
                if *kind != FailureKind::Unavailable {
                    write!(f, " {}", kind.name())?;
                }
                retry_after.map_or(Ok(()), |ms| write!(f, " after={ms}"))
            }
            Self::Clock(ms) => write!(f, "clock {ms}"),
            Self::Poll { max: None } => f.write_str("poll"),
            Self::Poll { max: Some(max) } => write!(f, "poll max={max}"),
            Self::Snapshot(name) => write!(f, "snapshot {name}"),
            Self::Restore { name, changed } => {
                write!(f, "restore {name}")?;
                changed.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
            }
            Self::Finish => f.write_str("finish"),
            Self::State => f.write_str("state"),
            Self::Cache => f.write_str("cache"),
            Self::Inspect => f.write_str("inspect"),
        }
    }
}

/// `r1 @5 key=a`.
fn push(text: &str) -> Result<Command, String> {
    let mut words = text.split_whitespace();
    let name = words.next().ok_or("a record needs a name")?.to_owned();
    let (mut event_time, mut lookup_key, mut order_key) = (EventTime::NONE, None, None);
    let (mut bytes, mut keyless) = (0, false);
    for word in words {
        let wrong = || format!("`{word}` is none of @TIME, lookup=KEY, key=KEY, bytes=N, keyless");
        if let Some(time) = word.strip_prefix('@') {
            event_time = EventTime(time.parse().map_err(|_| wrong())?);
        } else if let Some(key) = word.strip_prefix("lookup=") {
            lookup_key = Some(key.to_owned());
        } else if let Some(key) = word.strip_prefix("key=") {
            order_key = Some(key.to_owned());
        } else if let Some(length) = word.strip_prefix("bytes=") {
            bytes = length.parse().map_err(|_| wrong())?;
        } else if word == "keyless" {
            keyless = true;
        } else {
            return Err(wrong());
        }
    }
    Ok(Command::Push { name, lookup_key, event_time, order_key, bytes, keyless })
}

/// `r1#2`.
fn named_attempt(text: &str) -> Option<(String, u32)> {
    let (name, attempt) = text.split_once('#')?;
    Some((name.to_owned(), attempt.parse().ok()?))
}
