//! The operator's laws, checked on what can be seen from outside, step by step.

use std::collections::HashMap;

use lookaside_core::{EventTime, Options, Order, Stats};

use crate::{
    plan::Plan,
    scenario::{Command, Settings},
};

/// What was accepted and has not left.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    /// As it is shown when it leaves: `@5`, `W7`, `idle`.
    shown: String,
    order_key: Option<String>,
    is_barrier: bool,
}

/// Watches a run.
#[derive(Debug)]
pub struct Laws {
    /// As the plan has them.
    planned: Settings,
    /// As the last restore changed them.
    settings: Settings,
    shows_all: bool,
    pending: Vec<Pending>,
    snapshots: HashMap<String, Vec<Pending>>,
    clock: u64,
    /// A failed operator does nothing more, until it is restored.
    failed: bool,
    /// When each record's first attempt started.
    started: HashMap<String, u64>,
}

impl Laws {
    /// Watches a run of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            planned: plan.settings(),
            settings: plan.settings(),
            shows_all: plan.shows_all,
            pending: Vec::new(),
            snapshots: HashMap::new(),
            clock: 0,
            failed: false,
            started: HashMap::new(),
        }
    }

    /// Checks one step.
    ///
    /// # Errors
    ///
    /// The law that is broken, and how.
    pub fn observe(&mut self, command: &Command, came: &str, stats: &Stats, state: &str) -> Result<(), String> {
        let accepted = came.starts_with("accepted");
        match command {
            Command::Push { event_time, order_key, name, lookup_key, .. } if accepted => self.pending.push(Pending {
                shown: format!("@{}", event_time.0),
                order_key: order_key.clone().or_else(|| lookup_key.clone()).or_else(|| Some(name.clone())),
                is_barrier: false,
            }),
            Command::Watermark(EventTime(time)) if accepted => self.barrier(format!("W{time}")),
            Command::Status { idle } if accepted => self.barrier(if *idle { "idle".into() } else { "active".into() }),
            // A clock that goes back counts as one that stands still.
            Command::Clock(ms) => self.clock = self.clock.max(*ms),
            Command::Poll { .. } if self.shows_all => self.poll(came)?,
            Command::Snapshot(name) => {
                if self.shows_all && !came.starts_with("FAILED") {
                    self.snapshot(came)?;
                }
                self.snapshots.insert(name.clone(), self.pending.clone());
            }
            Command::Restore { name, changed } if !came.starts_with("no snapshot") => {
                self.pending = self.snapshots.get(name).cloned().unwrap_or_default();
                self.settings = self.planned.clone();
                for (name, value) in changed {
                    self.settings.set(name, value)?;
                }
                self.clock = 0;
                self.failed = false;
                self.started.clear();
            }
            _ => {}
        }
        self.failed |= came.starts_with("FAILED");
        self.starts(command, came)?;
        self.balance(stats)?;
        self.bounds(stats)?;
        self.wakes(stats, state)
    }

    fn options(&self) -> &Options {
        &self.settings.options
    }

    fn barrier(&mut self, shown: String) {
        // Key-ordered, watermarks that follow each other at once are one.
        let time = |shown: &str| shown.strip_prefix('W').and_then(|time| time.parse::<i64>().ok());
        if self.options().order == Order::KeyOrdered
            && let Some(last) = self.pending.last_mut().filter(|last| last.is_barrier)
            && let (Some(before), Some(now)) = (time(&last.shown), time(&shown))
        {
            last.shown = format!("W{}", before.max(now));
            return;
        }
        self.pending.push(Pending { shown, order_key: None, is_barrier: true });
    }

    /// Order: what leaves was accepted, and nothing passes what it must not pass.
    fn poll(&mut self, came: &str) -> Result<(), String> {
        let Some((_, rest)) = came.split_once('[') else { return Ok(()) };
        let outputs = rest.split(']').next().unwrap_or_default();
        let mut last = None;
        for output in outputs.split_whitespace() {
            let shown = output.find('@').map_or(output, |at| &output[at..]);
            // A record's rows are shown one after another.
            if last == Some(shown) && shown.starts_with('@') {
                continue;
            }
            last = Some(shown);
            let place = self.pending.iter().position(|pending| pending.shown == shown);
            let Some(place) = place else { return Err(format!("{output} left and was not in flight")) };
            let leaving = self.pending.remove(place);
            let passed = &self.pending[..place];
            let broken = match self.options().order {
                Order::Ordered => !passed.is_empty(),
                Order::Unordered => leaving.is_barrier && place > 0 || passed.iter().any(|pending| pending.is_barrier),
                Order::KeyOrdered => {
                    leaving.is_barrier && place > 0
                        || passed.iter().any(|pending| pending.is_barrier || pending.order_key == leaving.order_key)
                }
            };
            if broken {
                return Err(format!("{output} passed {passed:?}"));
            }
        }
        Ok(())
    }

    /// Snapshot: what was accepted and not emitted, in order.
    fn snapshot(&self, came: &str) -> Result<(), String> {
        let listed = came.trim_start_matches('{').split('}').next().unwrap_or_default();
        let shown: Vec<&str> = listed
            .split_whitespace()
            .map(|word| word.find('@').map_or(word, |at| word[at..].split('/').next().unwrap_or_default()))
            .collect();
        let pending: Vec<&str> = self.pending.iter().map(|pending| pending.shown.as_str()).collect();
        if shown == pending { Ok(()) } else { Err(format!("the snapshot has {shown:?} of {pending:?}")) }
    }

    /// Deadline: no attempt starts at it or after it.
    fn starts(&mut self, command: &Command, came: &str) -> Result<(), String> {
        let Some((_, starts)) = came.split_once("starts ") else { return Ok(()) };
        for start in starts.split_whitespace() {
            let name = start.split('#').next().unwrap_or_default().to_owned();
            // A record that shared a lookup before it made its own began earlier than is seen here.
            let first = *self.started.entry(name).or_insert(self.clock);
            // Within a clock step attempts start on the way, before the instant at its end.
            let is_step = matches!(command, Command::Clock(_));
            let timeout = self.options().timeout.map(|timeout| timeout.as_millis() as u64);
            if !is_step && timeout.is_some_and(|timeout| self.clock >= first + timeout) {
                return Err(format!("{start} started at {} with a first attempt at {first}", self.clock));
            }
        }
        Ok(())
    }

    /// Conservation: accepted = emitted + dropped + in flight, and each record has one outcome.
    fn balance(&self, stats: &Stats) -> Result<(), String> {
        let ended = stats.found + stats.missing + stats.failed + stats.timed_out;
        let taken = stats.accepted + stats.restored;
        if taken != stats.emitted + stats.dropped + stats.in_flight
            || ended > taken
            || ended < stats.emitted + stats.dropped
        {
            return Err(format!("the counters do not balance: {stats:?}"));
        }
        Ok(())
    }

    /// Capacity: never more in flight than it allows.
    fn bounds(&self, stats: &Stats) -> Result<(), String> {
        let capacity = u64::from(self.options().capacity.get());
        let all = stats.in_flight + stats.barriers_in_flight - stats.backlog;
        let counted = if self.options().order == Order::KeyOrdered { stats.lookups_in_flight } else { all };
        if counted > capacity {
            return Err(format!("{counted} in flight with a capacity of {capacity}"));
        }
        match &self.options().cache {
            Some(cache) if stats.cache_bytes > cache.max_bytes => Err(format!("the cache holds {}", stats.cache_bytes)),
            _ => Ok(()),
        }
    }

    /// Wake: whenever a lookup can time out, there is a timer.
    fn wakes(&self, stats: &Stats, state: &str) -> Result<(), String> {
        if !self.failed
            && self.options().timeout.is_some()
            && stats.lookups_in_flight > 0
            && state.ends_with("timer=none")
        {
            return Err(format!("nothing would wake the host: {state}"));
        }
        Ok(())
    }
}
