//! What the component imports: its lookups.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use js_sys::Array;
use wasm_bindgen::prelude::*;

use crate::columns::{Answers, object};

/// Requests that the component made, and answers that it has not taken.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Batches of requests, as the component made them.
    pub(crate) requests: Vec<JsValue>,
    /// In the order of their arrival.
    answers: VecDeque<Answer>,
}

#[derive(Debug)]
struct Answer {
    id: u64,
    attempt: u32,
    status: u8,
    arrival: u64,
    rows: Array,
    retry_after: u64,
}

impl State {
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    pub(crate) fn answer(&mut self, id: u64, attempt: u32, status: u8, arrival: u64, rows: Array, retry_after: u64) {
        self.answers.push_back(Answer { id, attempt, status, arrival, rows, retry_after });
    }

    fn take(&mut self, max: u32) -> Answers {
        let mut taken = Answers::default();
        let count = self.answers.len().min(max as usize);
        for Answer { id, attempt, status, arrival, rows, retry_after } in self.answers.drain(..count) {
            taken.push(id, attempt, status, arrival, &rows, retry_after);
        }
        taken
    }
}

type AsyncLookup = Closure<dyn FnMut(u64, JsValue)>;
type TakeCompletions = Closure<dyn FnMut(u64, u32) -> JsValue>;

/// The imports of one instance. It comes first: an instance is made with them, and an operator of both.
#[wasm_bindgen]
pub struct Imports {
    pub(crate) state: Rc<RefCell<State>>,
    async_lookup: AsyncLookup,
    take_completions: TakeCompletions,
}

impl Default for Imports {
    fn default() -> Self {
        Self::new()
    }
}

#[wasm_bindgen]
impl Imports {
    /// Imports with an empty mailbox.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        let state = Rc::new(RefCell::new(State::default()));
        let (asking, taking) = (Rc::clone(&state), Rc::clone(&state));
        Self {
            state,
            async_lookup: Closure::new(move |_now, requests| asking.borrow_mut().requests.push(requests)),
            take_completions: Closure::new(move |_now, max| taking.borrow_mut().take(max).into_batch()),
        }
    }

    /// The interface `lookup`, to be given to the component.
    #[must_use]
    pub fn lookup(&self) -> JsValue {
        object(&[
            ("asyncLookup", self.async_lookup.as_ref().clone()),
            ("takeCompletions", self.take_completions.as_ref().clone()),
        ])
    }
}
