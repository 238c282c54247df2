//! The loop: pushes input as there is room, polls, starts lookups, and waits for answers and time.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::{Rc, Weak},
};

use js_sys::{Array, Function, Uint8Array};
use lookaside_feeder::{Feeder, GRACE, LATE, LONGEST, Next, NextTurn, QUIET};
use wasm_bindgen::prelude::*;

use crate::{
    clock::{Clock, JsClock, Timer},
    columns::{AnswerBatch, RecordBatch},
    component::Poll,
    operator::Operator,
};

/// Outputs that one poll gives at most.
const MAX_OUTPUTS: u32 = 4_096;
/// Bytes near which one poll stops.
const MAX_OUTPUT_BYTES: u32 = 1 << 20;

/// Drives an operator. Calls `on_requests` with each batch of requests, `on_outputs` with each batch of
/// outputs while somebody wants them, and `on_change` when input was taken, when it is drained (`true`),
/// and when it failed (the error).
#[wasm_bindgen]
pub struct Driver {
    shared: Rc<Shared>,
}

struct Shared {
    operator: Operator,
    clock: Clock,
    on_requests: Function,
    on_outputs: Function,
    on_change: Function,
    waiting: RefCell<VecDeque<Input>>,
    feeder: RefCell<Feeder>,
    /// Whether nothing moves any more: drained, failed or closed.
    is_over: Cell<bool>,
    is_platform_clock: bool,
    next_turn: NextTurn,
    /// Since when it waits for what came in a pause, if it does.
    catches_up_since: Cell<Option<u64>>,
    /// Whether an answer came since it last looked.
    is_answered: Cell<bool>,
    wants_outputs: Cell<bool>,
    /// Whether the last poll left outputs inside, or none was made.
    may_have_outputs: Cell<bool>,
    turning: Cell<bool>,
    turn_again: Cell<bool>,
    timer: RefCell<Option<Timer>>,
}

enum Input {
    /// Records, of which the first so many were taken.
    Records(RecordBatch, u32),
    Watermark(i64),
    Idle(bool),
}

impl Input {
    fn kind(&self) -> Next {
        match self {
            Self::Records(..) => Next::Records,
            Self::Watermark(_) | Self::Idle(_) => Next::Barrier,
        }
    }
}

#[wasm_bindgen]
impl Driver {
    /// Drives `operator`, which has room for `capacity` elements, by the time of `clock`. A clock that is the platform's
    /// jumps when the process is paused; any other jumps when it is told to.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(
        operator: Operator,
        clock: JsClock,
        is_platform_clock: bool,
        capacity: u32,
        on_requests: Function,
        on_outputs: Function,
        on_change: Function,
    ) -> Self {
        let clock = Clock::new(clock);
        let shared = Rc::new_cyclic(|weak: &Weak<Shared>| {
            let weak = weak.clone();
            let timer = Timer::new(clock.clone(), move || {
                if let Some(shared) = weak.upgrade() {
                    shared.timer.borrow_mut().iter_mut().for_each(Timer::clear);
                    shared.wake();
                }
            });
            Shared {
                operator,
                clock,
                on_requests,
                on_outputs,
                on_change,
                waiting: RefCell::default(),
                feeder: RefCell::new(Feeder::new(capacity)),
                is_over: Cell::new(false),
                is_platform_clock,
                next_turn: NextTurn::default(),
                catches_up_since: Cell::new(None),
                is_answered: Cell::new(false),
                wants_outputs: Cell::new(false),
                may_have_outputs: Cell::new(true),
                turning: Cell::new(false),
                turn_again: Cell::new(false),
                timer: RefCell::new(Some(timer)),
            }
        });
        Self { shared }
    }

    /// Takes a batch of records, which may wait for room; [`waiting`](Self::waiting) tells.
    pub fn push(&self, records: RecordBatch) {
        let must_wait = self.room() == 0;
        self.shared.waiting.borrow_mut().push_back(Input::Records(records, 0));
        // Where there is no room, the turn that makes some takes them.
        if !must_wait {
            self.shared.turn();
        }
    }

    /// Takes a watermark, in milliseconds of event time.
    #[wasm_bindgen(js_name = pushWatermark)]
    pub fn push_watermark(&self, time: i64) {
        self.shared.waiting.borrow_mut().push_back(Input::Watermark(time));
        self.shared.turn();
    }

    /// Takes a status, idle or active.
    #[wasm_bindgen(js_name = pushIdle)]
    pub fn push_idle(&self, idle: bool) {
        self.shared.waiting.borrow_mut().push_back(Input::Idle(idle));
        self.shared.turn();
    }

    /// Says that no more input comes.
    pub fn end(&self) {
        self.shared.feeder.borrow_mut().exhaust();
        self.shared.turn();
    }

    /// How many batches, watermarks and statuses wait for room.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.waiting.borrow().len()
    }

    /// How many elements it takes at once; none while something waits.
    #[must_use]
    pub fn room(&self) -> u32 {
        if self.shared.waiting.borrow().is_empty() { self.shared.feeder.borrow().room() } else { 0 }
    }

    /// Whether outputs are wanted: while they are not, they stay inside, and room runs out.
    #[wasm_bindgen(js_name = wantOutputs)]
    pub fn want_outputs(&self, wanted: bool) {
        self.shared.wants_outputs.set(wanted);
        // Where there was none, none comes before an answer, an input or a timer.
        if wanted && self.shared.may_have_outputs.get() {
            self.shared.turn();
        }
    }

    /// Has the operator take a batch of answers: the columns of the contract's `completion-batch`.
    pub fn answer(&self, answers: AnswerBatch) {
        self.shared.operator.answer(answers);
        self.shared.is_answered.set(true);
        self.shared.turn();
    }

    /// When an answer that is read now counts as having come, in nanoseconds: now, unless the process was paused.
    #[must_use]
    pub fn arrival(&self) -> u64 {
        self.shared.next_turn.arrival(self.shared.clock.now())
    }

    /// How much longer a call whose deadline has come may take, in milliseconds: 0 unless it passed in a pause.
    #[must_use]
    pub fn grace(&self, deadline: u64) -> f64 {
        let late = self.shared.clock.now().saturating_sub(deadline);
        if self.shared.is_platform_clock && late >= LATE.as_nanos() as u64 { GRACE.as_millis() as f64 } else { 0.0 }
    }

    /// Nanoseconds on the clock that deadlines are told by.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.shared.clock.now()
    }

    /// Everything accepted and not yet emitted, as bytes; what still waits for room is not in it.
    ///
    /// # Errors
    ///
    /// The operator failed before.
    pub fn snapshot(&self) -> Result<Uint8Array, JsValue> {
        self.shared.operator.snapshot()
    }

    /// Counters and gauges: pairs of name and number.
    ///
    /// # Errors
    ///
    /// None but those of the platform.
    pub fn stats(&self) -> Result<Array, JsValue> {
        self.shared.operator.stats()
    }

    /// What is in flight, oldest first.
    ///
    /// # Errors
    ///
    /// The operator failed before.
    pub fn inspect(&self, max: u32) -> Result<Array, JsValue> {
        self.shared.operator.inspect(max, self.shared.clock.now())
    }

    /// Ends it: no timer runs any more, and nothing is called.
    pub fn close(&self) {
        self.shared.is_over.set(true);
        self.shared.timer.borrow_mut().take();
    }
}

impl Shared {
    /// Goes on as far as anything can be done.
    ///
    /// Whoever is called may call back: that turn then follows this one.
    fn turn(&self) {
        if self.catches_up() {
            return;
        }
        self.turn_again.set(true);
        if self.turning.replace(true) {
            return;
        }
        while self.turn_again.replace(false) && !self.is_over.get() {
            if let Err(error) = self.turn_once() {
                self.is_over.set(true);
                self.timer.borrow_mut().take();
                self.tell(&self.on_change, &error);
            }
        }
        self.turning.set(false);
    }

    /// The timer has come.
    fn wake(&self) {
        let Some(since) = self.catches_up_since.get() else { return self.turn() };
        let is_quiet = !self.is_answered.replace(false);
        let now = self.clock.now();
        if is_quiet || now.saturating_sub(since) >= LONGEST.as_nanos() as u64 {
            self.catches_up_since.set(None);
            // What was due then is late no more: it is due now.
            self.next_turn.expect(None, now);
            self.turn();
        } else {
            self.set_timer(Some(now + QUIET.as_nanos() as u64));
        }
    }

    /// Whether no time passes yet, since the process was paused and what came meanwhile is still being read.
    fn catches_up(&self) -> bool {
        let now = self.clock.now();
        if self.catches_up_since.get().is_none() && self.next_turn.is_delayed(now) && !self.turning.get() {
            self.catches_up_since.set(Some(now));
            self.is_answered.set(false);
            self.set_timer(Some(now + QUIET.as_nanos() as u64));
        }
        self.catches_up_since.get().is_some()
    }

    fn set_timer(&self, at: Option<u64>) {
        if let Some(timer) = self.timer.borrow_mut().as_mut() {
            timer.set(at);
        }
    }

    fn turn_once(&self) -> Result<(), JsValue> {
        let before = self.waiting.borrow().len();
        self.push()?;
        let poll = self.poll()?;
        let outputs = poll.outputs();
        if !outputs.is_empty() {
            self.tell(&self.on_outputs, &outputs);
        }
        self.dispatch();
        if self.waiting.borrow().len() < before {
            self.tell(&self.on_change, &JsValue::UNDEFINED);
        }
        let state = poll.state();
        self.may_have_outputs.set(state == "ready");
        if state == "drained" {
            self.is_over.set(true);
            self.timer.borrow_mut().take();
            self.tell(&self.on_change, &JsValue::TRUE);
            return Ok(());
        }
        let can_emit = state == "ready" && self.wants_outputs.get();
        let has_answers = self.operator.state().borrow().has_answers();
        if self.feeder.borrow().goes_on(!self.waiting.borrow().is_empty(), has_answers, can_emit) {
            self.turn_again.set(true);
        } else {
            self.set_timer(poll.wake_at());
        }
        Ok(())
    }

    /// Offers what waits, as far as there is room, and tells the end of the input.
    fn push(&self) -> Result<(), JsValue> {
        loop {
            let mut waiting = self.waiting.borrow_mut();
            let mut feeder = self.feeder.borrow_mut();
            let room = feeder.offer(waiting.front().map(Input::kind));
            match waiting.front_mut() {
                Some(input) if room > 0 => {
                    let now = self.clock.now();
                    let is_taken = match input {
                        Input::Watermark(time) => self.operator.push_watermark(*time, now)?,
                        Input::Idle(idle) => self.operator.push_idle(*idle, now)?,
                        Input::Records(records, first) => {
                            let count = records.count();
                            let offered = (count - *first).min(room);
                            let taken = if offered == count {
                                self.operator.push_records(records, now)?
                            } else {
                                self.operator.push_records(&records.slice(*first, offered), now)?
                            };
                            *first += taken;
                            feeder.took_records(taken, offered);
                            if *first == count {
                                waiting.pop_front();
                            }
                            continue;
                        }
                    };
                    feeder.took_barrier(is_taken);
                    if is_taken {
                        waiting.pop_front();
                    }
                }
                _ => break,
            }
        }
        let has_input = !self.waiting.borrow().is_empty();
        if self.feeder.borrow().should_end(has_input) {
            self.operator.end_input(self.clock.now())?;
            self.feeder.borrow_mut().ended();
        }
        Ok(())
    }

    fn poll(&self) -> Result<Poll, JsValue> {
        let max = if self.wants_outputs.get() { MAX_OUTPUTS } else { 0 };
        let now = self.clock.now();
        let poll = self.operator.poll(max, MAX_OUTPUT_BYTES, now)?;
        self.next_turn.expect(poll.wake_at().filter(|_| self.is_platform_clock), now);
        self.feeder.borrow_mut().polled(poll.room());
        Ok(poll)
    }

    fn dispatch(&self) {
        for requests in self.operator.take_requests().iter() {
            self.tell(&self.on_requests, &requests);
        }
    }

    /// Calls into the package, which throws nothing.
    fn tell(&self, callback: &Function, argument: &JsValue) {
        let _ = callback.call1(&JsValue::NULL, argument);
    }
}
