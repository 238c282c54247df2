//! The loop: pushes input as there is room, polls, starts lookups, and waits for answers and time.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::{Rc, Weak},
};

use js_sys::{Array, Function, Uint8Array};
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
    capacity: u32,
    on_requests: Function,
    on_outputs: Function,
    on_change: Function,
    waiting: RefCell<VecDeque<Input>>,
    room: Cell<u32>,
    /// The room at which it took less than it was offered; more room lifts it.
    refused_at: Cell<Option<u32>>,
    end: Cell<End>,
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    /// No more input comes; what came may still wait.
    Exhausted,
    /// The operator knows.
    Ended,
    /// Nothing moves any more: drained, failed or closed.
    Over,
}

#[wasm_bindgen]
impl Driver {
    /// Drives `operator`, which has room for `capacity` elements, by the time of `clock`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(
        operator: Operator,
        clock: JsClock,
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
                    shared.turn();
                }
            });
            Shared {
                operator,
                clock,
                capacity,
                on_requests,
                on_outputs,
                on_change,
                waiting: RefCell::default(),
                room: Cell::new(capacity),
                refused_at: Cell::new(None),
                end: Cell::new(End::Open),
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
        if self.shared.end.get() == End::Open {
            self.shared.end.set(End::Exhausted);
        }
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
        if self.shared.waiting.borrow().is_empty() { self.shared.room.get() } else { 0 }
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
        self.shared.turn();
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
        self.shared.end.set(End::Over);
        self.shared.timer.borrow_mut().take();
    }
}

impl Shared {
    /// Goes on as far as anything can be done.
    ///
    /// Whoever is called may call back: that turn then follows this one.
    fn turn(&self) {
        self.turn_again.set(true);
        if self.turning.replace(true) {
            return;
        }
        while self.turn_again.replace(false) && self.end.get() != End::Over {
            if let Err(error) = self.turn_once() {
                self.end.set(End::Over);
                self.timer.borrow_mut().take();
                self.tell(&self.on_change, &error);
            }
        }
        self.turning.set(false);
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
            self.end.set(End::Over);
            self.timer.borrow_mut().take();
            self.tell(&self.on_change, &JsValue::TRUE);
            return Ok(());
        }
        let can_push = self.refused_at.get().is_none() && !self.waiting.borrow().is_empty();
        let can_emit = state == "ready" && self.wants_outputs.get();
        if can_push || can_emit || self.can_end() || self.operator.state().borrow().has_answers() {
            self.turn_again.set(true);
        } else if let Some(timer) = self.timer.borrow_mut().as_mut() {
            timer.set(poll.wake_at());
        }
        Ok(())
    }

    /// Offers what waits, as far as there is room, and tells the end of the input.
    fn push(&self) -> Result<(), JsValue> {
        while self.refused_at.get().is_none() {
            let now = self.clock.now();
            let mut waiting = self.waiting.borrow_mut();
            let is_taken = match waiting.front_mut() {
                None => break,
                Some(Input::Watermark(time)) => self.operator.push_watermark(*time, now)?,
                Some(Input::Idle(idle)) => self.operator.push_idle(*idle, now)?,
                Some(Input::Records(records, first)) => {
                    let count = records.count();
                    let offered = (count - *first).min(self.room.get());
                    let taken = match offered {
                        0 => 0,
                        offered if offered == count => self.operator.push_records(records, now)?,
                        offered => self.operator.push_records(&records.slice(*first, offered), now)?,
                    };
                    *first += taken;
                    self.room.set(self.room.get().saturating_sub(taken));
                    *first == count
                }
            };
            if is_taken {
                let was = waiting.pop_front();
                if !matches!(was, Some(Input::Records(..))) {
                    self.room.set(self.room.get().saturating_sub(1));
                }
            } else {
                self.refused_at.set(Some(self.room.get()));
            }
        }
        if self.can_end() {
            self.operator.end_input(self.clock.now())?;
            self.end.set(End::Ended);
        }
        Ok(())
    }

    /// Whether the operator may learn of the end of the input. An ended operator retries no more, so
    /// records in flight get to their end first.
    fn can_end(&self) -> bool {
        self.end.get() == End::Exhausted && self.waiting.borrow().is_empty() && self.room.get() >= self.capacity
    }

    fn poll(&self) -> Result<Poll, JsValue> {
        let max = if self.wants_outputs.get() { MAX_OUTPUTS } else { 0 };
        let poll = self.operator.poll(max, MAX_OUTPUT_BYTES, self.clock.now())?;
        let room = poll.room();
        self.refused_at.set(self.refused_at.get().filter(|&refused| room <= refused));
        self.room.set(room);
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
