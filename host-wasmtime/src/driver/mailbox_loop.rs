//! The loop itself.

use std::time::Duration;

use futures::{FutureExt, StreamExt, stream::BoxStream};
use lookaside_feeder::Feeder;
use tokio::sync::{
    mpsc::{self, Permit},
    watch,
};

use super::{
    Driver, DriverSnapshot, Input,
    handle::Question,
    inbox::{Inbox, Next},
};
use crate::{Instant, OperatorError, Poll, PollState, Stats, columns::OutputBatch, pause};

/// Outputs that one poll gives at most.
const MAX_OUTPUTS: u32 = 4_096;
/// Bytes near which one poll stops.
const MAX_OUTPUT_BYTES: u32 = 1 << 20;
/// Elements that wait to be pushed, at which no more are read.
const ENOUGH_INPUT: usize = 4_096;
/// The shortest sleep until a `wake-at`: a component that names the past must not spin the loop.
const SHORTEST_SLEEP: Duration = Duration::from_micros(200);
/// Elements that an inspection shows at most.
const MAX_INSPECTED: u32 = 1_000;
/// Turns after which others on the thread get theirs.
const TURNS_IN_A_ROW: u32 = 64;
/// Chunks that are read in one turn at most.
const MAX_CHUNKS: usize = 64;
/// Between two publications of the counters, at least.
const STATS_EVERY: Duration = Duration::from_millis(50);

pub(super) struct MailboxLoop {
    driver: Driver,
    input: BoxStream<'static, Vec<Input>>,
    outputs: mpsc::Sender<OutputBatch>,
    questions: mpsc::Receiver<Question>,
    stats: watch::Sender<Stats>,
    /// Elements that were accepted and emitted so far.
    accepted: u64,
    emitted: u64,
    /// Input that was read and not pushed.
    waiting: Inbox,
    feeder: Feeder,
}

/// Why the loop goes on.
enum Woken {
    Input(Option<Vec<Input>>),
    Room,
    Question(Question),
    /// An answer, or the time.
    Poll,
    /// Nobody reads the output any more.
    Unread,
}

impl MailboxLoop {
    pub(super) fn new(
        driver: Driver,
        input: BoxStream<'static, Vec<Input>>,
        outputs: mpsc::Sender<OutputBatch>,
        questions: mpsc::Receiver<Question>,
        stats: watch::Sender<Stats>,
    ) -> Self {
        let feeder = Feeder::new(driver.capacity);
        Self { driver, input, outputs, questions, stats, accepted: 0, emitted: 0, waiting: Inbox::default(), feeder }
    }

    pub(super) async fn run(mut self) -> Result<(), OperatorError> {
        let ended = self.turn().await;
        // A failed operator still tells its counters.
        self.publish_stats();
        ended
    }

    async fn turn(&mut self) -> Result<(), OperatorError> {
        let outputs = self.outputs.clone();
        let mut permit: Option<Permit<'_, OutputBatch>> = None;
        let mut turns = 0_u32;
        let mut last_published = tokio::time::Instant::now();
        loop {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_IN_A_ROW) {
                // Others on this thread get their turn, however busy this loop is, and so does what is no answer.
                tokio::task::yield_now().await;
                if self.outputs.is_closed() {
                    return Ok(());
                }
                self.answer_questions()?;
                self.read_more();
            }
            let mailbox = self.driver.operator.mailbox();
            if mailbox.next_turn().is_delayed(self.driver.clock.now().0) {
                pause::catch_up(|| mailbox.arrival()).await;
            }
            self.push()?;
            if permit.is_none() {
                permit = outputs.try_reserve().ok();
            }
            let taken = self.driver.operator.mailbox().taken();
            let poll = self.poll(permit.is_some())?;
            if !poll.outputs.is_empty()
                && let Some(permit) = permit.take()
            {
                self.emitted += poll.outputs.len() as u64;
                permit.send(poll.outputs);
            }
            if poll.state == PollState::Drained {
                return Ok(());
            }
            let is_ready = poll.state == PollState::Ready;
            if is_ready && permit.is_none() {
                permit = outputs.try_reserve().ok();
            }
            let has_answers = self.has_more_answers_than(taken);
            if self.feeder.goes_on(!self.waiting.is_empty(), has_answers, is_ready && permit.is_some()) {
                continue;
            }
            if last_published.elapsed() >= STATS_EVERY {
                last_published = tokio::time::Instant::now();
                self.publish_stats();
            }
            if poll.state == PollState::Waiting {
                self.driver.operator.mailbox().budget().relieve();
            }
            match self.sleep(poll.wake_at, is_ready).await {
                Woken::Input(chunk) => {
                    self.read(chunk);
                    self.read_more();
                }
                Woken::Question(question) => self.answer(question)?,
                Woken::Room | Woken::Poll => {}
                Woken::Unread => return Ok(()),
            }
        }
    }

    fn answer_questions(&mut self) -> Result<(), OperatorError> {
        while let Ok(question) = self.questions.try_recv() {
            self.answer(question)?;
        }
        Ok(())
    }

    /// Answers a question; whoever asked may have gone.
    fn answer(&mut self, question: Question) -> Result<(), OperatorError> {
        match question {
            Question::Inspect(reply) => {
                let _ = reply.send(self.driver.operator.inspect(MAX_INSPECTED, self.driver.clock.now())?);
            }
            Question::Snapshot(reply) => {
                let snapshot = match self.driver.operator.snapshot() {
                    Err(error) if error.is_fatal() => return Err(error),
                    state => {
                        state.map(|state| DriverSnapshot { state, accepted: self.accepted, emitted: self.emitted })
                    }
                };
                let _ = reply.send(snapshot);
            }
        }
        Ok(())
    }

    /// Takes over what was read; nothing is the end of the input.
    fn read(&mut self, chunk: Option<Vec<Input>>) {
        match chunk {
            Some(chunk) => self.waiting.extend(chunk),
            None => self.feeder.exhaust(),
        }
    }

    /// Reads what else is there already: one turn for many small chunks.
    fn read_more(&mut self) {
        for _ in 0..MAX_CHUNKS {
            if !self.wants_input() {
                return;
            }
            match self.input.next().now_or_never() {
                Some(chunk) => self.read(chunk),
                None => return,
            }
        }
    }

    /// What cannot be pushed soon stays with its source: reading it early would only make it old.
    fn wants_input(&self) -> bool {
        let enough = ENOUGH_INPUT.min(self.feeder.room().max(1) as usize);
        self.feeder.is_open() && self.waiting.len() < enough
    }

    /// Offers what waits, as far as there is room, and tells the end of the input.
    fn push(&mut self) -> Result<(), OperatorError> {
        loop {
            let room = self.feeder.offer(self.waiting.kind_of_next());
            if room == 0 {
                break;
            }
            let now = self.driver.clock.now();
            let operator = &mut self.driver.operator;
            let is_taken = match self.waiting.next(room as usize) {
                Next::Nothing => break,
                Next::Watermark(time) => operator.push_watermark(time, now)?,
                Next::Idle(idle) => operator.push_idle(idle, now)?,
                Next::Records(records) => {
                    let offered = records.len();
                    let (taken, records) = operator.offer_records(records, now)?;
                    // A component may say anything.
                    let taken = taken.min(offered);
                    self.waiting.took_records(taken, records);
                    self.accepted += taken as u64;
                    self.feeder.took_records(taken as u32, offered as u32);
                    continue;
                }
            };
            self.feeder.took_barrier(is_taken);
            if is_taken {
                self.waiting.took_one();
                self.accepted += 1;
            }
        }
        if self.feeder.should_end(!self.waiting.is_empty()) {
            self.driver.operator.end_input(self.driver.clock.now())?;
            self.feeder.ended();
        }
        self.dispatch();
        Ok(())
    }

    fn poll(&mut self, has_room: bool) -> Result<Poll, OperatorError> {
        let max = if has_room { MAX_OUTPUTS } else { 0 };
        let now = self.driver.clock.now();
        let poll = self.driver.operator.poll(max, MAX_OUTPUT_BYTES, now)?;
        self.driver.operator.mailbox().next_turn().expect(poll.wake_at.map(|at| at.0), now.0);
        self.feeder.polled(poll.room);
        self.note_held_bytes()?;
        self.dispatch();
        Ok(poll)
    }

    /// Whether answers are left that no arrival will tell of: a poll takes some, and may leave others. One that took none,
    /// when so many were `taken` before it, takes none a second time.
    fn has_more_answers_than(&self, taken: u64) -> bool {
        let mailbox = self.driver.operator.mailbox();
        mailbox.taken() > taken && !mailbox.is_empty()
    }

    /// Tells the calls under way what is held, where that is bounded.
    fn note_held_bytes(&mut self) -> Result<(), OperatorError> {
        let mailbox = self.driver.operator.mailbox().clone();
        if mailbox.budget().is_bounded() {
            let held = self.driver.operator.stats()?.held_bytes;
            mailbox.budget().set_inside(held + mailbox.byte_len());
        }
        Ok(())
    }

    fn dispatch(&mut self) {
        let requests = self.driver.operator.take_request_batches();
        self.driver.dispatch.start(requests, self.driver.operator.mailbox());
    }

    async fn sleep(&mut self, wake_at: Option<Instant>, wants_room: bool) -> Woken {
        let earliest = tokio::time::Instant::now() + SHORTEST_SLEEP;
        let wake_at = wake_at.and_then(|at| self.driver.clock.to_tokio(at)).map(|at| at.max(earliest));
        let timer = async {
            match wake_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let room = async {
            match self.outputs.reserve().await {
                Ok(_) => Woken::Room,
                Err(_) => Woken::Unread,
            }
        };
        let wants_input = self.wants_input();
        tokio::select! {
            // Answers first: they make room. Then what waits for room, then more input.
            biased;
            () = self.driver.operator.mailbox().arrival() => Woken::Poll,
            () = timer => Woken::Poll,
            () = self.driver.operator.mailbox().budget().stuck() => Woken::Poll,
            woken = room, if wants_room => woken,
            () = self.outputs.closed() => Woken::Unread,
            Some(question) = self.questions.recv() => Woken::Question(question),
            chunk = self.input.next(), if wants_input => Woken::Input(chunk),
        }
    }

    fn publish_stats(&mut self) {
        if let Ok(stats) = self.driver.operator.stats() {
            self.stats.send_replace(stats);
        }
    }
}
