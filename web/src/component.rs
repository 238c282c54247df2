//! The transpiled component, as JavaScript has it. What it throws has the error in `payload`.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::columns::{OutputBatch, RecordBatch};

#[wasm_bindgen]
extern "C" {
    /// All that an instance exports.
    pub type Exports;

    #[wasm_bindgen(method, getter)]
    pub fn operator(this: &Exports) -> Single;
    #[wasm_bindgen(method, getter, js_name = operatorBatch)]
    pub fn operator_batch(this: &Exports) -> Batch;
    #[wasm_bindgen(method, getter, js_name = operatorInspect)]
    pub fn operator_inspect(this: &Exports) -> Inspect;

    /// The interface `operator`.
    pub type Single;

    #[wasm_bindgen(method, catch)]
    pub fn open(this: &Single, now: u64, options: &Array) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub fn restore(this: &Single, now: u64, options: &Array, snapshot: &Uint8Array) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch, js_name = pushWatermark)]
    pub fn push_watermark(this: &Single, now: u64, time: i64) -> Result<String, JsValue>;
    #[wasm_bindgen(method, catch, js_name = pushIdle)]
    pub fn push_idle(this: &Single, now: u64, idle: bool) -> Result<String, JsValue>;
    #[wasm_bindgen(method, catch, js_name = endInput)]
    pub fn end_input(this: &Single, now: u64) -> Result<(), JsValue>;
    #[wasm_bindgen(method, catch)]
    pub fn snapshot(this: &Single) -> Result<Uint8Array, JsValue>;
    #[wasm_bindgen(method, catch)]
    pub fn stats(this: &Single) -> Result<Array, JsValue>;

    /// The interface `operator-batch`.
    pub type Batch;

    #[wasm_bindgen(method, catch, js_name = pushRecords)]
    pub fn push_records(this: &Batch, now: u64, records: &RecordBatch) -> Result<u32, JsValue>;
    #[wasm_bindgen(method, catch, js_name = pollOutputs)]
    pub fn poll_outputs(this: &Batch, now: u64, max: u32, max_bytes: u32) -> Result<Poll, JsValue>;

    /// What one poll gives.
    #[derive(Debug)]
    pub type Poll;

    #[wasm_bindgen(method, getter)]
    pub fn outputs(this: &Poll) -> OutputBatch;
    #[wasm_bindgen(method, getter)]
    pub fn state(this: &Poll) -> String;
    #[wasm_bindgen(method, getter, js_name = wakeAt)]
    pub fn wake_at(this: &Poll) -> Option<u64>;
    #[wasm_bindgen(method, getter)]
    pub fn room(this: &Poll) -> u32;

    /// The interface `operator-inspect`.
    pub type Inspect;

    #[wasm_bindgen(method, catch)]
    pub fn inspect(this: &Inspect, now: u64, max: u32) -> Result<Array, JsValue>;
}
