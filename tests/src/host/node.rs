//! The component in Node and in Chromium, as the web package runs it: a process that carries out one call after another.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use lookaside_core::{
    Answer, Element, EventTime, FailureKind, InFlight, Instant, LookupFailed, Options, Outcome, PollState, Record,
    Request, RequestId, Stats, Verdict, WaitsFor,
    columns::{ByteStrings, ByteStringsBuilder, OutputBatch},
};
use serde_json::{Value, json};

use super::{Host, Refusal};

/// One process for all operators in Node, and one for those in Chromium.
static NODE: LazyLock<Mutex<Process>> = LazyLock::new(|| Mutex::new(Process::start("node.mjs")));
static CHROMIUM: LazyLock<Mutex<Process>> = LazyLock::new(|| Mutex::new(Process::start("chromium.mjs")));

/// Where JavaScript runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Node,
    Chromium,
}

struct Process {
    _child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(script: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/tests/host");
        let mut child = Command::new("node")
            .arg(format!("{folder}/{script}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Node 20 or newer runs; the package is built by `cargo xtask web --build`");
        let requests = child.stdin.take().expect("its input is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self { _child: child, requests, answers }
    }

    fn call(&mut self, request: &Value) -> Result<Value, Refusal> {
        writeln!(self.requests, "{request}").expect("Node reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("Node answers");
        let mut answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{line:?}: {error}; is the package built by `cargo xtask web --build`?"));
        match answer.get_mut("error") {
            None => Ok(answer["done"].take()),
            Some(error) => Err(refusal(error)),
        }
    }
}

fn call(engine: Engine, request: &Value) -> Result<Value, Refusal> {
    let process = match engine {
        Engine::Node => &NODE,
        Engine::Chromium => &CHROMIUM,
    };
    process.lock().unwrap_or_else(PoisonError::into_inner).call(request)
}

fn refusal(error: &Value) -> Refusal {
    let lookup = &error["lookup"];
    match error["code"].as_str() {
        Some("lookup-failed") => Refusal::Failed(LookupFailed {
            id: RequestId(number(&lookup["id"])),
            key: optional_bytes(&lookup["key"]),
            outcome: outcome(&lookup["outcome"]),
            attempts: number(&lookup["attempts"]) as u32,
            message: text(&lookup["message"]),
        }),
        Some("spent") => Refusal::Spent,
        Some("after-end") => Refusal::AfterEnd,
        _ => Refusal::Other(text(&error["message"])),
    }
}

/// A number, or the text of its digits.
fn number(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

fn event_time(value: &Value) -> EventTime {
    EventTime(value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no event time")))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn bytes(value: &Value) -> Bytes {
    STANDARD.decode(value.as_str().unwrap_or_default()).expect("it is base64").into()
}

fn optional_bytes(value: &Value) -> Option<Bytes> {
    value.as_str().map(|_| bytes(value))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn outcome(value: &Value) -> Outcome {
    match value.as_str() {
        Some("found") => Outcome::Found,
        Some("missing") => Outcome::Missing,
        Some("failed") => Outcome::Failed,
        Some("timed-out") => Outcome::TimedOut,
        _ => panic!("{value} is no outcome"),
    }
}

fn strings(value: &Value) -> ByteStrings {
    let mut builder = ByteStringsBuilder::default();
    for string in list(value) {
        builder.push(&bytes(string));
    }
    builder.build()
}

/// The operator in Node or in Chromium.
pub struct Node {
    engine: Engine,
    operator: u64,
    wake_at: Option<Instant>,
    last_now: Instant,
}

impl Node {
    pub(super) fn open(engine: Engine, options: &Options) -> Result<Self, Refusal> {
        Self::new(engine, options, None)
    }

    pub(super) fn restore(engine: Engine, options: &Options, snapshot: &[u8]) -> Result<Self, Refusal> {
        Self::new(engine, options, Some(snapshot))
    }

    fn new(engine: Engine, options: &Options, snapshot: Option<&[u8]>) -> Result<Self, Refusal> {
        let snapshot = snapshot.map(|snapshot| STANDARD.encode(snapshot));
        let operator = call(engine, &json!({ "call": "open", "options": options.to_pairs(), "snapshot": snapshot }))?;
        Ok(Self { engine, operator: number(&operator), wake_at: None, last_now: Instant(0) })
    }

    fn call(&self, name: &str, now: Instant, mut request: Value) -> Result<Value, Refusal> {
        request["call"] = name.into();
        request["operator"] = self.operator.into();
        request["now"] = now.0.to_string().into();
        call(self.engine, &request)
    }

    fn offer(&mut self, name: &str, now: Instant, request: Value) -> Result<(), Refusal> {
        self.last_now = now;
        if self.call(name, now, request)? == true { Ok(()) } else { Err(Refusal::Full) }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = call(self.engine, &json!({ "call": "close", "operator": self.operator }));
    }
}

impl Host for Node {
    fn push_record(&mut self, record: Record, now: Instant) -> Result<(), Refusal> {
        let encoded = |bytes: Option<&Bytes>| bytes.map(|bytes| STANDARD.encode(bytes));
        let request = json!({
            "eventTime": record.event_time.0.to_string(),
            "key": encoded(record.key.as_ref()),
            "orderKey": encoded(record.order_key.as_ref()),
            "payload": STANDARD.encode(&record.payload),
        });
        self.offer("pushRecord", now, request)
    }

    fn push_watermark(&mut self, time: EventTime, now: Instant) -> Result<(), Refusal> {
        self.offer("pushWatermark", now, json!({ "eventTime": time.0.to_string() }))
    }

    fn push_idle(&mut self, idle: bool, now: Instant) -> Result<(), Refusal> {
        self.offer("pushIdle", now, json!({ "idle": idle }))
    }

    fn end_input(&mut self, now: Instant) -> Result<PollState, Refusal> {
        self.last_now = now;
        self.call("endInput", now, json!({}))?;
        self.poll(0, now).map(|(_, state)| state)
    }

    fn answer(&mut self, answer: Answer, now: Instant) -> Result<Verdict, Refusal> {
        let before = self.stats();
        let (status, rows, retry_after) = match &answer.result {
            Ok(rows) => (0, rows.as_slice().to_vec(), None),
            Err(error) => {
                let status = match error.kind {
                    FailureKind::Unavailable => 1,
                    FailureKind::Throttled => 2,
                    FailureKind::Rejected => 3,
                    FailureKind::Malformed => 4,
                };
                (status, vec![Bytes::from(error.message.clone())], error.retry_after)
            }
        };
        let request = json!({
            "id": answer.id.0.to_string(),
            "attempt": answer.attempt,
            "status": status,
            "arrival": answer.arrival.0.to_string(),
            "rows": rows.iter().map(|row| STANDARD.encode(row)).collect::<Vec<_>>(),
            "retryAfter": retry_after.map_or(0, |delay| delay.as_nanos()).to_string(),
        });
        self.call("answer", now, request)?;
        self.poll(0, now)?;
        super::verdict(&before, &self.stats())
    }

    fn poll(&mut self, max: u32, now: Instant) -> Result<(Vec<Element>, PollState), Refusal> {
        self.last_now = now;
        let poll = self.call("poll", now, json!({ "max": max }))?;
        self.wake_at = poll.get("wakeAt").filter(|at| !at.is_null()).map(|at| Instant(number(at)));
        let outputs = &poll["outputs"];
        let numbers = |name: &str| list(&outputs[name]).iter().map(|value| number(value) as u32).collect::<Vec<u32>>();
        let batch = OutputBatch::new(
            numbers("kinds").into_iter().map(|kind| kind as u8).collect(),
            list(&outputs["eventTimes"]).iter().map(|time| event_time(time).0).collect(),
            strings(&outputs["keys"]),
            numbers("keyless"),
            strings(&outputs["payloads"]),
            numbers("attempts"),
            numbers("rowCounts"),
            strings(&outputs["rows"]),
        );
        let state = match poll["state"].as_str() {
            Some("ready") => PollState::Ready,
            Some("waiting") => PollState::Waiting,
            Some("drained") => PollState::Drained,
            _ => return Err(Refusal::Other(format!("{poll} has no state"))),
        };
        let batch = batch.map_err(|malformed| Refusal::Other(malformed.0))?;
        Ok((batch.iter().collect(), state))
    }

    fn wake_at(&mut self) -> Option<Instant> {
        // A poll tells; one that gives nothing at the last instant changes nothing.
        match self.poll(0, self.last_now) {
            Ok(_) => self.wake_at,
            Err(_) => None,
        }
    }

    fn take_requests(&mut self) -> Vec<Request> {
        let requests = self.call("takeRequests", self.last_now, json!({})).expect("taking does not fail");
        let request = |request: &Value| Request {
            id: RequestId(number(&request["id"])),
            attempt: number(&request["attempt"]) as u32,
            deadline: Instant(number(&request["deadline"])),
            key: bytes(&request["key"]),
            payload: request.get("payload").and_then(optional_bytes),
        };
        list(&requests).iter().map(request).collect()
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Refusal> {
        Ok(bytes(&self.call("snapshot", self.last_now, json!({}))?).to_vec())
    }

    fn stats(&mut self) -> Stats {
        let pairs = self.call("stats", self.last_now, json!({})).expect("counting does not fail");
        let pairs: Vec<(String, u64)> = list(&pairs).iter().map(|pair| (text(&pair[0]), number(&pair[1]))).collect();
        Stats::from_pairs(pairs.iter().map(|(name, value)| (name.as_str(), *value)))
    }

    fn inspect(&mut self, now: Instant) -> Vec<InFlight> {
        let elements = self.call("inspect", now, json!({ "max": u32::MAX })).expect("looking does not fail");
        list(&elements).iter().map(in_flight).collect()
    }
}

fn in_flight(element: &Value) -> InFlight {
    let present = |name: &str| element.get(name).filter(|value| !value.is_null());
    InFlight {
        id: present("id").map(|id| RequestId(number(id))),
        event_time: event_time(&element["eventTime"]),
        barrier: element["barrier"] == true,
        key: present("key").map(bytes),
        waits_for: match element["waitsFor"].as_str() {
            Some("slot") => WaitsFor::Slot,
            Some("key") => WaitsFor::Key,
            Some("answer") => WaitsFor::Answer,
            Some("retry") => WaitsFor::Retry,
            Some("order") => WaitsFor::Order,
            _ => WaitsFor::Downstream,
        },
        age: Duration::from_nanos(number(&element["age"])),
        attempts: number(&element["attempts"]) as u32,
        deadline: present("deadline").map(|at| Instant(number(at))),
        outcome: present("outcome").map(outcome),
        last_error: present("lastError").map(text),
    }
}
