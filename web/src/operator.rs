//! One operator, without a clock and without lookups: time comes with the calls.

use std::{cell::RefCell, rc::Rc};

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::{
    columns::{AnswerBatch, RecordBatch},
    component::{Exports, Poll},
    imports::{Imports, State},
};

/// An instance of the component, opened. Instants are nanoseconds; what fails throws the
/// component's error, with its code and message in `payload`.
#[wasm_bindgen]
pub struct Operator {
    exports: Exports,
    imports: Imports,
}

#[wasm_bindgen]
impl Operator {
    /// Opens the instance that was made with `imports`; where a snapshot is given, where that left off.
    ///
    /// # Errors
    ///
    /// An option or the snapshot cannot be used.
    pub fn open(
        imports: Imports,
        exports: Exports,
        options: &Array,
        now: u64,
        snapshot: Option<Uint8Array>,
    ) -> Result<Self, JsValue> {
        match snapshot {
            None => exports.operator().open(now, options)?,
            Some(snapshot) => exports.operator().restore(now, options, &snapshot)?,
        }
        Ok(Self { exports, imports })
    }

    /// Offers a batch of records; says how many it has taken, from the first on.
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    #[wasm_bindgen(js_name = pushRecords)]
    pub fn push_records(&self, records: &RecordBatch, now: u64) -> Result<u32, JsValue> {
        self.exports.operator_batch().push_records(now, records)
    }

    /// Offers a watermark; false where it is full.
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    #[wasm_bindgen(js_name = pushWatermark)]
    pub fn push_watermark(&self, time: i64, now: u64) -> Result<bool, JsValue> {
        Ok(self.exports.operator().push_watermark(now, time)? == "accepted")
    }

    /// Offers a status, idle or active; false where it is full.
    ///
    /// # Errors
    ///
    /// Nothing was taken.
    #[wasm_bindgen(js_name = pushIdle)]
    pub fn push_idle(&self, idle: bool, now: u64) -> Result<bool, JsValue> {
        Ok(self.exports.operator().push_idle(now, idle)? == "accepted")
    }

    /// Says that no more input comes.
    ///
    /// # Errors
    ///
    /// The operator fails or did before.
    #[wasm_bindgen(js_name = endInput)]
    pub fn end_input(&self, now: u64) -> Result<(), JsValue> {
        self.exports.operator().end_input(now)
    }

    /// Puts a batch of answers into the mailbox: the columns of the contract's `completion-batch`.
    pub fn answer(&self, answers: AnswerBatch) {
        self.state().borrow_mut().answer(answers);
    }

    /// Takes answers, handles what is due, and gives at most `max` outputs.
    ///
    /// # Errors
    ///
    /// The operator fails or did before.
    pub fn poll(&self, max: u32, max_bytes: u32, now: u64) -> Result<Poll, JsValue> {
        self.exports.operator_batch().poll_outputs(now, max, max_bytes)
    }

    /// The batches of requests that were made since the last time.
    #[wasm_bindgen(js_name = takeRequests)]
    pub fn take_requests(&self) -> Array {
        std::mem::take(&mut self.state().borrow_mut().requests).into_iter().collect()
    }

    /// Everything accepted and not yet emitted, as bytes.
    ///
    /// # Errors
    ///
    /// The operator failed before.
    pub fn snapshot(&self) -> Result<Uint8Array, JsValue> {
        self.exports.operator().snapshot()
    }

    /// Counters and gauges: pairs of name and number.
    ///
    /// # Errors
    ///
    /// None but those of the platform.
    pub fn stats(&self) -> Result<Array, JsValue> {
        self.exports.operator().stats()
    }

    /// What is in flight, oldest first.
    ///
    /// # Errors
    ///
    /// The operator failed before.
    pub fn inspect(&self, max: u32, now: u64) -> Result<Array, JsValue> {
        self.exports.operator_inspect().inspect(now, max)
    }
}

impl Operator {
    pub(crate) fn state(&self) -> &Rc<RefCell<State>> {
        &self.imports.state
    }
}
