//! Runs one scenario on one host.

use std::{collections::HashMap, time::Duration};

use lookaside_core::{
    Answer, Element, EventTime, InFlight, Instant, JoinedRecord, LookupError, Options, Outcome, PollState, Record,
    RequestId, Rows, Stats, Verdict, WaitsFor,
};

use crate::{
    host::{Host, HostKind, Refusal},
    scenario::{Command, Scenario, Settings, Step},
};

const MS: u64 = 1_000_000;

/// A step that went otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The step's line in its file.
    pub line: usize,
    /// The step as it stands.
    pub step: String,
    /// What must have come of it.
    pub expected: String,
    /// What did.
    pub got: String,
}

/// Runs a scenario; gives the first step that goes otherwise.
///
/// # Errors
///
/// That step.
pub fn run(scenario: &Scenario, kind: HostKind) -> Result<(), Mismatch> {
    let mut run = match Run::open(&scenario.settings, kind) {
        Ok(run) => run,
        Err(refusal) => {
            let line = scenario.steps.first().map_or(0, |step| step.line);
            let got = format!("{refusal:?}");
            return Err(Mismatch { line, step: "open".into(), expected: "an operator".into(), got });
        }
    };
    scenario.steps.iter().try_for_each(|step| run.check(step))
}

/// A scenario under way.
pub struct Run {
    kind: HostKind,
    host: Box<dyn Host>,
    settings: Settings,
    now: Instant,
    /// The request id of each record that was looked up.
    ids: HashMap<String, RequestId>,
    order_keys: HashMap<String, String>,
    /// The records' names, by what a look at the operator shows of them.
    names: HashMap<(String, EventTime), String>,
    snapshots: HashMap<String, Vec<u8>>,
    /// The attempts that were started in this step.
    starts: Vec<String>,
}

/// What came of a step: the word for it, and the timeouts that were handled.
struct Came {
    word: String,
    timeouts: Vec<String>,
}

impl From<String> for Came {
    fn from(word: String) -> Self {
        Self { word, timeouts: Vec::new() }
    }
}

impl Run {
    /// Opens an operator with `settings`.
    ///
    /// # Errors
    ///
    /// Where the settings are refused.
    pub fn open(settings: &Settings, kind: HostKind) -> Result<Self, Refusal> {
        Ok(Self {
            kind,
            host: kind.open(&settings.options)?,
            settings: settings.clone(),
            now: Instant(0),
            ids: HashMap::new(),
            order_keys: HashMap::new(),
            names: HashMap::new(),
            snapshots: HashMap::new(),
            starts: Vec::new(),
        })
    }

    fn check(&mut self, step: &Step) -> Result<(), Mismatch> {
        let mismatch =
            |got| Mismatch { line: step.line, step: step.text.clone(), expected: step.expected.clone(), got };
        let got = self.step(&step.command);
        if got != step.expected {
            return Err(mismatch(got));
        }
        self.balance().map_err(mismatch)
    }

    /// Carries out one command, and says what came of it in the words of a scenario.
    pub fn step(&mut self, command: &Command) -> String {
        let mut came = self.carry_out(command);
        // What is due by now is handled now: a host polls after whatever it has done.
        if let Err(refusal @ Refusal::Failed(_)) = self.host.poll(0, self.now) {
            came = refused(&refusal);
        }
        self.note_starts();
        let starts = std::mem::take(&mut self.starts);
        let mut parts = Vec::new();
        if came.word != "-" {
            parts.push(came.word);
        }
        if !came.timeouts.is_empty() {
            parts.push(format!("timeouts {}", came.timeouts.join(" ")));
        }
        if !starts.is_empty() {
            parts.push(format!("starts {}", starts.join(" ")));
        }
        if parts.is_empty() { "-".into() } else { parts.join(" ") }
    }

    /// Takes the requests, as a host does after each call.
    fn note_starts(&mut self) {
        for request in self.host.take_requests() {
            let name = name_of(request.payload.as_deref().unwrap_or_default());
            self.ids.insert(name.clone(), request.id);
            self.starts.push(format!("{name}#{}", request.attempt));
        }
    }

    /// Counters and gauges.
    pub fn stats(&mut self) -> Stats {
        self.host.stats()
    }

    /// The counters' law, after each step.
    fn balance(&mut self) -> Result<(), String> {
        let stats = self.host.stats();
        if stats.accepted + stats.restored == stats.emitted + stats.dropped + stats.in_flight {
            return Ok(());
        }
        Err(format!("counters that do not balance: {stats:?}"))
    }

    fn carry_out(&mut self, command: &Command) -> Came {
        match command {
            Command::Push { name, lookup_key, event_time, order_key, bytes, keyless } => {
                let key = lookup_key.clone().unwrap_or_else(|| name.clone());
                self.names.insert((key.clone(), *event_time), name.clone());
                if let Some(key) = order_key {
                    self.order_keys.insert(name.clone(), key.clone());
                }
                let mut payload = name.clone().into_bytes();
                payload.resize(payload.len() + bytes, b'.');
                let record = Record {
                    event_time: *event_time,
                    key: (!keyless).then(|| key.into()),
                    order_key: order_key.clone().map(Into::into),
                    payload: payload.into(),
                };
                word(self.host.push_record(record, self.now), "accepted")
            }
            Command::Watermark(time) => word(self.host.push_watermark(*time, self.now), "accepted"),
            Command::Status { idle } => word(self.host.push_idle(*idle, self.now), "accepted"),
            Command::Complete { name, attempt, rows, at } => {
                let rows = rows.iter().map(|row| row.clone().into()).collect::<Rows>();
                self.answer(name, *attempt, *at, Ok(rows))
            }
            Command::Fail { name, attempt, message, at, kind, retry_after } => {
                let retry_after = retry_after.map(Duration::from_millis);
                self.answer(
                    name,
                    *attempt,
                    *at,
                    Err(LookupError { kind: *kind, message: message.clone(), retry_after }),
                )
            }
            Command::Clock(ms) => self.clock(Instant(ms * MS)),
            Command::Poll { max } => match self.host.poll(max.unwrap_or(u32::MAX), self.now) {
                Ok((elements, state)) => {
                    let more = if state == PollState::Ready { " more" } else { "" };
                    format!("[{}]{more}", self.show(&elements).join(" ")).into()
                }
                Err(refusal) => refused(&refusal),
            },
            Command::Snapshot(name) => match self.host.snapshot() {
                Ok(snapshot) => {
                    let elements = list(self.kind, &self.settings.options, &snapshot, &self.order_keys);
                    self.snapshots.insert(name.clone(), snapshot);
                    elements.map_or_else(
                        |refusal| refused(&refusal),
                        |elements| format!("{{{}}}", elements.join(" ")).into(),
                    )
                }
                Err(refusal) => refused(&refusal),
            },
            Command::Restore { name, changed } => self.restore(name, changed),
            Command::Finish => match self.host.end_input(self.now) {
                Ok(PollState::Drained) => "done".to_owned().into(),
                Ok(PollState::Ready | PollState::Waiting) => "pending".to_owned().into(),
                Err(refusal) => refused(&refusal),
            },
            Command::State => {
                let stats = self.host.stats();
                let timer = self.host.wake_at().map_or("none".into(), |at| (at.0 / MS).to_string());
                let queued = stats.in_flight + stats.barriers_in_flight;
                format!("queued={queued} inflight={} timer={timer}", stats.lookups_in_flight).into()
            }
            Command::Cache => {
                let stats = self.host.stats();
                format!(
                    "hits={} misses={} shared={} evictions={} entries={}",
                    stats.cache_hits,
                    stats.cache_misses,
                    stats.cache_shared,
                    stats.cache_evictions,
                    stats.cache_entries
                )
                .into()
            }
            Command::Inspect => {
                let views = self.host.inspect(self.now);
                let shown: Vec<String> = views.iter().map(|view| self.show_view(view)).collect();
                format!("[{}]", shown.join(" ")).into()
            }
        }
    }

    fn answer(&mut self, name: &str, attempt: u32, at: Option<u64>, result: Result<Rows, LookupError>) -> Came {
        // A record that was never looked up has no id; this one is never given.
        let id = self.ids.get(name).copied().unwrap_or(RequestId(u64::MAX));
        let answer = Answer { id, attempt, arrival: at.map_or(self.now, |ms| Instant(ms * MS)), result };
        match self.host.answer(answer, self.now) {
            Ok(Verdict::Accepted) => "accepted".to_owned().into(),
            Ok(Verdict::Stale | Verdict::Late) => "ignored".to_owned().into(),
            Ok(Verdict::Unknown) => "unknown".to_owned().into(),
            Err(refusal) => refused(&refusal),
        }
    }

    /// Goes to `target` as a host does that sleeps until the operator wants to be woken.
    fn clock(&mut self, target: Instant) -> Came {
        let open = self.open_records();
        let mut came = Came::from("-".to_owned());
        loop {
            let next = self.host.wake_at().filter(|&at| at <= target).unwrap_or(target);
            self.now = next.max(self.now);
            if let Err(refusal) = self.host.poll(0, self.now) {
                self.now = target;
                return refused(&refusal);
            }
            self.note_starts();
            if next == target {
                break;
            }
        }
        let ended: Vec<String> = (self.host.inspect(self.now).iter())
            .filter(|view| view.outcome == Some(Outcome::TimedOut))
            .filter_map(|view| self.name(view))
            .collect();
        came.timeouts = open.into_iter().map(|(_, name)| name).filter(|name| ended.contains(name)).collect();
        came
    }

    /// The records without an outcome, by deadline.
    fn open_records(&mut self) -> Vec<(Instant, String)> {
        let views = self.host.inspect(self.now);
        let mut open: Vec<(Instant, String)> = (views.iter().filter(|view| view.outcome.is_none()))
            .filter_map(|view| Some((view.deadline?, self.name(view)?)))
            .collect();
        open.sort_by_key(|(deadline, _)| *deadline);
        open
    }

    /// A record's name, by its key and event time.
    fn name(&self, view: &InFlight) -> Option<String> {
        self.names.get(&(text(view.key.as_ref()?), view.event_time)).cloned()
    }

    fn restore(&mut self, name: &str, changed: &[(String, String)]) -> Came {
        let Some(snapshot) = self.snapshots.get(name) else { return format!("no snapshot {name}").into() };
        let mut settings = self.settings.clone();
        for (name, value) in changed {
            if let Err(reason) = settings.set(name, value) {
                return reason.into();
            }
        }
        match self.kind.restore(&settings.options, snapshot) {
            Ok(host) => {
                self.host = host;
                self.now = Instant(0);
                self.ids.clear();
                "-".to_owned().into()
            }
            Err(refusal) => refused(&refusal),
        }
    }

    /// `r1:answer/30ms/2` waits for an answer, is 30 ms old and in its second attempt.
    fn show_view(&self, view: &InFlight) -> String {
        let name = match (view.barrier, view.event_time) {
            (true, EventTime::NONE) => "status".into(),
            (true, time) => format!("W{}", time.0),
            (false, _) => self.name(view).unwrap_or_else(|| "keyless".into()),
        };
        let waits_for = match view.waits_for {
            WaitsFor::Slot => "slot",
            WaitsFor::Key => "key",
            WaitsFor::Answer => "answer",
            WaitsFor::Retry => "retry",
            WaitsFor::Order => "order",
            WaitsFor::Downstream => "downstream",
        };
        let error = view.last_error.as_ref().map(|error| format!("/{}", error.replace(' ', "-"))).unwrap_or_default();
        format!("{name}:{waits_for}/{}ms/{}{error}", view.age.as_millis(), view.attempts)
    }

    fn show(&self, elements: &[Element]) -> Vec<String> {
        elements.iter().flat_map(|element| self.show_one(element)).collect()
    }

    fn show_one(&self, element: &Element) -> Vec<String> {
        match element {
            Element::Dropped => Vec::new(),
            Element::Watermark(time) => vec![format!("W{}", time.0)],
            Element::Idle => vec!["idle".into()],
            Element::Active => vec!["active".into()],
            Element::Joined(JoinedRecord { record, outcome, rows, .. }) => {
                let values: Vec<String> = match outcome {
                    Outcome::Found => rows.as_slice().iter().map(|row| text(row)).collect(),
                    Outcome::Missing => Vec::new(),
                    Outcome::Failed => vec!["failed".into()],
                    Outcome::TimedOut => self.settings.timed_out.clone(),
                };
                values.iter().map(|value| format!("{value}@{}", show_time(record.event_time))).collect()
            }
        }
    }
}

fn word(result: Result<(), Refusal>, done: &str) -> Came {
    match result {
        Ok(()) => done.to_owned().into(),
        Err(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> Came {
    match refusal {
        Refusal::Full => "backpressured".to_owned().into(),
        Refusal::AfterEnd => "finished".to_owned().into(),
        Refusal::Spent => "FAILED".to_owned().into(),
        Refusal::Failed(failed) => {
            let key = failed.key.as_ref().map_or("without a key".into(), |key| text(key));
            let message = match failed.outcome {
                Outcome::TimedOut => format!("timeout {key}"),
                Outcome::Missing => format!("missing {key}"),
                Outcome::Found | Outcome::Failed => failed.message.trim_start_matches("unavailable: ").to_owned(),
            };
            format!("FAILED \"{message}\"").into()
        }
        Refusal::Other(reason) => format!("refused: {reason}").into(),
    }
}

/// What a snapshot holds, in its order: restored where there is room for all, which shows the order, and each lookup
/// answered, so that everything comes out.
fn list(
    kind: HostKind,
    options: &Options,
    snapshot: &[u8],
    order_keys: &HashMap<String, String>,
) -> Result<Vec<String>, Refusal> {
    let options =
        Options { capacity: 1_000.try_into().expect("not zero"), timeout: None, cache: None, ..options.clone() };
    let mut host = kind.restore(&options, snapshot)?;
    let mut places: Vec<Option<Seen>> =
        host.inspect(Instant(0)).into_iter().map(|view| Some((view.barrier, view.key, view.event_time))).collect();
    let mut listed = Vec::new();
    loop {
        let requests = host.take_requests();
        for request in &requests {
            host.answer(Answer::rows(request, Rows::from("row"), Instant(0)), Instant(0))?;
        }
        let (elements, _) = host.poll(u32::MAX, Instant(0))?;
        if requests.is_empty() && elements.is_empty() {
            listed.sort_by_key(|&(place, _)| place);
            return Ok(listed.into_iter().map(|(_, shown)| shown).collect());
        }
        for element in &elements {
            let seen = seen(element);
            let place = places.iter().position(|place| place.as_ref() == Some(&seen)).expect("it was in flight");
            places[place] = None;
            listed.push((place, list_one(element, order_keys)));
        }
    }
}

/// What an element in flight and the same one on its way out have in common: whether it is a barrier, key, event time.
type Seen = (bool, Option<bytes::Bytes>, EventTime);

fn seen(element: &Element) -> Seen {
    match element {
        Element::Joined(joined) => (false, joined.record.key.clone(), joined.record.event_time),
        Element::Watermark(time) => (true, None, *time),
        Element::Idle | Element::Active | Element::Dropped => (true, None, EventTime::NONE),
    }
}

fn list_one(element: &Element, order_keys: &HashMap<String, String>) -> String {
    match element {
        Element::Joined(joined) => {
            let name = name_of(&joined.record.payload);
            let time = match joined.record.event_time {
                EventTime::NONE => String::new(),
                time => format!("@{}", time.0),
            };
            let order_key = order_keys.get(&name).map(|key| format!("/{key}")).unwrap_or_default();
            format!("{name}{time}{order_key}")
        }
        Element::Watermark(time) => format!("W{}", time.0),
        Element::Idle => "idle".into(),
        Element::Active => "active".into(),
        Element::Dropped => "dropped".into(),
    }
}

fn show_time(time: EventTime) -> String {
    if time == EventTime::NONE { "-".into() } else { time.0.to_string() }
}

/// A record's name, from its payload.
fn name_of(payload: &[u8]) -> String {
    text(payload).trim_end_matches('.').to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
