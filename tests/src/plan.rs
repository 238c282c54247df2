//! A run of an operator, made up from a seed: settings, and commands as a stream and its backend
//! would give them.

use std::fmt;

use fastrand::Rng;
use lookaside_core::{EventTime, FailureKind};

use crate::scenario::{Command, Settings};

/// Settings and commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The line `set:` of its scenario.
    pub set: String,
    /// What happens, in order.
    pub commands: Vec<Command>,
    /// Every record shows when it leaves: nothing is dropped, and nothing is missing.
    pub shows_all: bool,
}

/// What a plan is like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Settings that every plan has; others are drawn.
    pub fixed: String,
    /// Commands, where it is not drawn.
    pub commands: Option<usize>,
}

impl Plan {
    /// The plan of a seed; equal seeds and shapes make equal plans.
    #[must_use]
    pub fn from_seed(seed: u64, shape: &Shape) -> Self {
        Draft::new(seed, shape).plan()
    }

    /// The settings as a host takes them.
    ///
    /// # Panics
    ///
    /// Where they make no sense: they were made here.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::parse(&self.set).expect("a plan has settings that make sense")
    }
}

impl fmt::Display for Plan {
    /// As the scenario that can be put into a file, without what must come of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "set: {}", self.set)?;
        self.commands.iter().try_for_each(|command| writeln!(f, "{command}"))
    }
}

/// A record that was pushed, as far as the backend knows it.
struct Pushed {
    name: String,
    /// The attempts that the backend has heard of.
    attempts: u32,
}

struct Draft {
    rng: Rng,
    set: String,
    commands: Vec<Command>,
    shows_all: bool,
    count: usize,
    pushed: Vec<Pushed>,
    clock: u64,
    timeout: u64,
    snapshots: usize,
    keys: usize,
}

impl Draft {
    fn new(seed: u64, shape: &Shape) -> Self {
        let mut rng = Rng::with_seed(seed);
        let shows_all = rng.bool();
        let timeout = [0, 8, 30, 100][rng.usize(..4)];
        let mut set = shape.fixed.clone();
        let mut add = |setting: String| {
            let (name, _) = setting.split_once('=').expect("a setting");
            if !set.split_whitespace().any(|given| given.starts_with(&format!("{name}="))) {
                set.push_str(if set.is_empty() { "" } else { " " });
                set.push_str(&setting);
            }
        };
        add(format!("mode={}", ["ordered", "unordered", "key-ordered"][rng.usize(..3)]));
        add(format!("cap={}", [1, 2, 3, 5, 9][rng.usize(..5)]));
        add(format!("timeout={timeout}"));
        let policy = |rng: &mut Rng| if shows_all { "emit" } else { ["emit", "emit", "drop", "fail"][rng.usize(..4)] };
        add(format!("on-failure={}", policy(&mut rng)));
        add(format!("on-missing={}", policy(&mut rng)));
        add(format!("on-timeout={}", if shows_all { "emit[late]" } else { policy(&mut rng) }));
        if rng.bool() {
            let ends = ["empty", "error", "any"][rng.usize(..3)];
            let (count, delay) = (rng.usize(..4), [0, 3, 10, 40][rng.usize(..4)]);
            let longest = rng.usize(..100);
            let times = ["1", "1.5", "2"][rng.usize(..3)];
            add(match rng.bool() {
                true => format!("retry=fixed({count},{delay},{ends})"),
                false => format!("retry=exp({count},{delay},{longest},{times},{ends})"),
            });
        }
        if rng.usize(..4) == 0 {
            add(format!("max-bytes={}", 10 + rng.usize(..60)));
        }
        if rng.bool() {
            let duration = |rng: &mut Rng| ["none", "5", "20", "200"][rng.usize(..4)];
            add(format!("cache={}", 1 + rng.usize(..5)));
            add(format!("cache-write={}", duration(&mut rng)));
            add(format!("cache-access={}", duration(&mut rng)));
            add(format!("cache-missing={}", duration(&mut rng)));
        }
        let timeout = Settings::parse(&set).ok().and_then(|settings| settings.options.timeout);
        Self {
            count: shape.commands.unwrap_or_else(|| 10 + rng.usize(..90)),
            keys: 1 + rng.usize(..5),
            timeout: timeout.map_or(0, |timeout| timeout.as_millis() as u64),
            rng,
            set,
            commands: Vec::new(),
            shows_all,
            pushed: Vec::new(),
            clock: 0,
            snapshots: 0,
        }
    }

    fn plan(mut self) -> Plan {
        while self.commands.len() < self.count {
            let command = self.command();
            self.commands.push(command);
        }
        Plan { set: self.set, commands: self.commands, shows_all: self.shows_all }
    }

    fn command(&mut self) -> Command {
        match self.rng.usize(..100) {
            0..=29 => self.push(),
            30..=35 => Command::Watermark(EventTime(self.rng.i64(..1_000))),
            36..=37 => Command::Status { idle: self.rng.bool() },
            38..=67 => self.answer(),
            68..=79 => self.clock(),
            80..=91 => Command::Poll { max: [None, None, Some(1), Some(2), Some(0)][self.rng.usize(..5)] },
            92..=94 => {
                self.snapshots += 1;
                Command::Snapshot(format!("S{}", self.snapshots))
            }
            95..=97 if self.snapshots > 0 => self.restore(),
            98 if self.commands.len() * 2 > self.count => Command::Finish,
            _ => Command::Inspect,
        }
    }

    fn push(&mut self) -> Command {
        // Each event time is one record's: by it a record is known when it leaves.
        let number = self.pushed.len();
        self.pushed.push(Pushed { name: format!("r{number}"), attempts: 1 });
        Command::Push {
            name: format!("r{number}"),
            lookup_key: self.rng.bool().then(|| format!("k{}", self.rng.usize(..self.keys))),
            event_time: EventTime(number as i64),
            order_key: self.rng.bool().then(|| format!("o{}", self.rng.usize(..self.keys))),
            bytes: if self.rng.bool() { 0 } else { self.rng.usize(..30) },
            keyless: !self.shows_all && self.rng.usize(..10) == 0,
        }
    }

    /// The backend answers: a recent record mostly, an old or unknown one sometimes, twice or late too.
    fn answer(&mut self) -> Command {
        let count = self.pushed.len();
        if count == 0 {
            return self.push();
        }
        let recent = count.saturating_sub(1 + self.rng.usize(..8.min(count)));
        let at = (self.rng.usize(..8) == 0).then(|| self.clock.saturating_sub(self.rng.u64(..20)));
        let fails = self.rng.usize(..4) == 0;
        let pushed = &mut self.pushed[recent];
        let attempt = if self.rng.usize(..6) == 0 { 1 + self.rng.u32(..4) } else { pushed.attempts };
        pushed.attempts += u32::from(self.rng.usize(..3) == 0);
        let name = pushed.name.clone();
        if fails {
            let kinds =
                [FailureKind::Unavailable, FailureKind::Unavailable, FailureKind::Throttled, FailureKind::Rejected];
            let kind = kinds[self.rng.usize(..4)];
            let retry_after = (kind == FailureKind::Throttled).then(|| self.rng.u64(..30));
            return Command::Fail { name, attempt, message: "down".into(), at, kind, retry_after };
        }
        let fewest = usize::from(self.shows_all);
        let rows = (0..self.rng.usize(fewest..fewest + 2)).map(|row| format!("v{row}")).collect();
        Command::Complete { name, attempt, rows, at }
    }

    /// Small steps mostly, a deadline's length at times, and beyond it.
    fn clock(&mut self) -> Command {
        self.clock += match self.rng.usize(..6) {
            0 => 0,
            1..=3 => self.rng.u64(1..8),
            4 => self.timeout,
            _ => self.timeout * 2 + 50,
        };
        Command::Clock(self.clock)
    }

    fn restore(&mut self) -> Command {
        let name = format!("S{}", 1 + self.rng.usize(..self.snapshots));
        let mut changed = Vec::new();
        if self.rng.bool() {
            changed.push(("cap".to_owned(), (1 + self.rng.usize(..6)).to_string()));
        }
        if self.rng.usize(..4) == 0 {
            changed.push(("max-bytes".to_owned(), (10 + self.rng.usize(..60)).to_string()));
        }
        self.clock = 0;
        Command::Restore { name, changed }
    }
}
