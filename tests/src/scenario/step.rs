//! The lines of a script.

use lookaside_core::EventTime;

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
    },
    /// Answers an attempt with a failure.
    Fail {
        /// Whose.
        name: String,
        /// Which.
        attempt: u32,
        /// What went wrong.
        message: String,
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
                let (attempt, rows) = rest.split_once(' ').ok_or_else(unknown)?;
                let rows = rows.trim().strip_prefix('[').and_then(|rows| rows.strip_suffix(']')).ok_or_else(unknown)?;
                let (name, attempt) = named_attempt(attempt).ok_or_else(unknown)?;
                Ok(Self::Complete { name, attempt, rows: rows.split_whitespace().map(str::to_owned).collect() })
            }
            "fail" => {
                let (attempt, message) = rest.split_once(' ').ok_or_else(unknown)?;
                let message =
                    message.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"')).ok_or_else(unknown)?;
                let (name, attempt) = named_attempt(attempt).ok_or_else(unknown)?;
                Ok(Self::Fail { name, attempt, message: message.to_owned() })
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
