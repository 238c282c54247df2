//! What the component imports: its lookups.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::*;

use crate::columns::AnswerBatch;

/// Requests that the component made, and answers that it has not taken.
#[derive(Debug)]
pub(crate) struct State {
    /// Batches of requests, as the component made them.
    pub(crate) requests: Vec<JsValue>,
    /// Batches in the order of their arrival.
    answers: VecDeque<AnswerBatch>,
    /// How many answers of the first batch were taken.
    taken: u32,
    /// What is given where there is no answer.
    none: AnswerBatch,
}

impl State {
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Takes a batch of answers, as the component will have it.
    pub(crate) fn answer(&mut self, answers: AnswerBatch) {
        if answers.count() > 0 {
            self.answers.push_back(answers);
        }
    }

    /// At most `max` answers, of one batch.
    fn take(&mut self, max: u32) -> AnswerBatch {
        let Some(answers) = self.answers.front() else {
            return self.none.clone();
        };
        let left = answers.count() - self.taken;
        if left > max {
            let some = answers.slice(self.taken, max);
            self.taken += max;
            return some;
        }
        let rest = if self.taken == 0 { answers.clone() } else { answers.slice(self.taken, left) };
        self.answers.pop_front();
        self.taken = 0;
        rest
    }
}

type AsyncLookup = Closure<dyn FnMut(u64, JsValue)>;
type TakeCompletions = Closure<dyn FnMut(u64, u32) -> AnswerBatch>;

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
        let state = State { requests: Vec::new(), answers: VecDeque::new(), taken: 0, none: AnswerBatch::none() };
        let state = Rc::new(RefCell::new(state));
        let (asking, taking) = (Rc::clone(&state), Rc::clone(&state));
        Self {
            state,
            async_lookup: Closure::new(move |_now, requests| asking.borrow_mut().requests.push(requests)),
            take_completions: Closure::new(move |_now, max| taking.borrow_mut().take(max)),
        }
    }

    /// The interface `lookup`, to be given to the component.
    #[must_use]
    pub fn lookup(&self) -> JsValue {
        let lookup = Object::new();
        for (name, function) in
            [("asyncLookup", self.async_lookup.as_ref()), ("takeCompletions", self.take_completions.as_ref())]
        {
            // A plain object takes any field.
            let _ = Reflect::set(&lookup, &JsValue::from_str(name), function);
        }
        lookup.into()
    }
}
