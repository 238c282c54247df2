//! Batches of columns, as JavaScript has them.

use js_sys::{BigInt64Array, BigUint64Array, Object, Uint8Array, Uint32Array};
use wasm_bindgen::{JsCast, prelude::*};

#[wasm_bindgen]
extern "C" {
    /// Byte strings, laid end to end.
    #[wasm_bindgen(extends = Object)]
    #[derive(Debug, Clone)]
    pub type ByteStrings;

    #[wasm_bindgen(method, getter)]
    fn ends(this: &ByteStrings) -> Uint32Array;
    #[wasm_bindgen(method, setter)]
    fn set_ends(this: &ByteStrings, ends: &Uint32Array);
    #[wasm_bindgen(method, getter)]
    fn bytes(this: &ByteStrings) -> Uint8Array;
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &ByteStrings, bytes: &Uint8Array);

    /// The contract's `record-batch`.
    #[wasm_bindgen(extends = Object)]
    #[derive(Debug, Clone)]
    pub type RecordBatch;

    #[wasm_bindgen(method, getter, js_name = eventTimes)]
    fn event_times(this: &RecordBatch) -> BigInt64Array;
    #[wasm_bindgen(method, setter, js_name = eventTimes)]
    fn set_event_times(this: &RecordBatch, event_times: &BigInt64Array);
    #[wasm_bindgen(method, getter)]
    fn keys(this: &RecordBatch) -> ByteStrings;
    #[wasm_bindgen(method, setter)]
    fn set_keys(this: &RecordBatch, keys: &ByteStrings);
    #[wasm_bindgen(method, getter)]
    fn keyless(this: &RecordBatch) -> Uint32Array;
    #[wasm_bindgen(method, setter)]
    fn set_keyless(this: &RecordBatch, keyless: &Uint32Array);
    #[wasm_bindgen(method, getter, js_name = orderKeys)]
    fn order_keys(this: &RecordBatch) -> Option<ByteStrings>;
    #[wasm_bindgen(method, setter, js_name = orderKeys)]
    fn set_order_keys(this: &RecordBatch, order_keys: &ByteStrings);
    #[wasm_bindgen(method, getter)]
    fn payloads(this: &RecordBatch) -> ByteStrings;
    #[wasm_bindgen(method, setter)]
    fn set_payloads(this: &RecordBatch, payloads: &ByteStrings);

    /// The contract's `completion-batch`.
    #[wasm_bindgen(extends = Object)]
    #[derive(Debug, Clone)]
    pub type AnswerBatch;

    #[wasm_bindgen(method, getter)]
    fn ids(this: &AnswerBatch) -> BigUint64Array;
    #[wasm_bindgen(method, setter)]
    fn set_ids(this: &AnswerBatch, ids: &BigUint64Array);
    #[wasm_bindgen(method, getter)]
    fn attempts(this: &AnswerBatch) -> Uint32Array;
    #[wasm_bindgen(method, setter)]
    fn set_attempts(this: &AnswerBatch, attempts: &Uint32Array);
    #[wasm_bindgen(method, getter)]
    fn statuses(this: &AnswerBatch) -> Uint8Array;
    #[wasm_bindgen(method, setter)]
    fn set_statuses(this: &AnswerBatch, statuses: &Uint8Array);
    #[wasm_bindgen(method, getter)]
    fn arrivals(this: &AnswerBatch) -> BigUint64Array;
    #[wasm_bindgen(method, setter)]
    fn set_arrivals(this: &AnswerBatch, arrivals: &BigUint64Array);
    #[wasm_bindgen(method, getter, js_name = rowCounts)]
    fn row_counts(this: &AnswerBatch) -> Uint32Array;
    #[wasm_bindgen(method, setter, js_name = rowCounts)]
    fn set_row_counts(this: &AnswerBatch, row_counts: &Uint32Array);
    #[wasm_bindgen(method, getter)]
    fn rows(this: &AnswerBatch) -> ByteStrings;
    #[wasm_bindgen(method, setter)]
    fn set_rows(this: &AnswerBatch, rows: &ByteStrings);
    #[wasm_bindgen(method, getter, js_name = retryAfter)]
    fn retry_after(this: &AnswerBatch) -> BigUint64Array;
    #[wasm_bindgen(method, setter, js_name = retryAfter)]
    fn set_retry_after(this: &AnswerBatch, retry_after: &BigUint64Array);

    /// The contract's `output-batch`.
    #[wasm_bindgen(extends = Object)]
    #[derive(Debug, Clone)]
    pub type OutputBatch;

    #[wasm_bindgen(method, getter)]
    fn kinds(this: &OutputBatch) -> Uint8Array;
}

/// A plain object, to be given the fields of its type.
fn new_object<T: JsCast>() -> T {
    Object::new().unchecked_into()
}

impl ByteStrings {
    fn of(ends: &Uint32Array, bytes: &Uint8Array) -> Self {
        let strings: Self = new_object();
        strings.set_ends(ends);
        strings.set_bytes(bytes);
        strings
    }

    /// The strings from `first` on, `count` of them.
    fn slice(&self, first: u32, count: u32) -> Self {
        let ends = self.ends();
        let start = if first == 0 { 0 } else { ends.get_index(first - 1) };
        let mut ends = ends.subarray(first, first + count).to_vec();
        let end = ends.last().copied().unwrap_or(start);
        ends.iter_mut().for_each(|end| *end -= start);
        Self::of(&Uint32Array::from(&ends[..]), &self.bytes().subarray(start, end))
    }
}

impl RecordBatch {
    /// How many records there are.
    pub(crate) fn count(&self) -> u32 {
        self.event_times().length()
    }

    /// The records from `first` on, `count` of them.
    pub(crate) fn slice(&self, first: u32, count: u32) -> Self {
        let rows = first..first + count;
        let keyless = self.keyless().to_vec().into_iter().filter(|row| rows.contains(row)).map(|row| row - first);
        let records: Self = new_object();
        records.set_event_times(&self.event_times().subarray(first, first + count));
        records.set_keys(&self.keys().slice(first, count));
        records.set_keyless(&Uint32Array::from(&keyless.collect::<Vec<_>>()[..]));
        if let Some(order_keys) = self.order_keys() {
            records.set_order_keys(&order_keys.slice(first, count));
        }
        records.set_payloads(&self.payloads().slice(first, count));
        records
    }
}

impl AnswerBatch {
    /// A batch without answers.
    pub(crate) fn none() -> Self {
        let none = BigUint64Array::new_with_length(0);
        let empty = Uint32Array::new_with_length(0);
        let no_bytes = Uint8Array::new_with_length(0);
        Self::of(&none, &empty, &no_bytes, &none, &empty, &ByteStrings::of(&empty, &no_bytes), &none)
    }

    fn of(
        ids: &BigUint64Array,
        attempts: &Uint32Array,
        statuses: &Uint8Array,
        arrivals: &BigUint64Array,
        row_counts: &Uint32Array,
        rows: &ByteStrings,
        retry_after: &BigUint64Array,
    ) -> Self {
        let answers: Self = new_object();
        answers.set_ids(ids);
        answers.set_attempts(attempts);
        answers.set_statuses(statuses);
        answers.set_arrivals(arrivals);
        answers.set_row_counts(row_counts);
        answers.set_rows(rows);
        answers.set_retry_after(retry_after);
        answers
    }

    /// How many answers there are.
    pub(crate) fn count(&self) -> u32 {
        self.ids().length()
    }

    /// The answers from `first` on, `count` of them.
    pub(crate) fn slice(&self, first: u32, count: u32) -> Self {
        let end = first + count;
        let counts = self.row_counts();
        let rows_between = |first, end| counts.subarray(first, end).to_vec().iter().sum();
        Self::of(
            &self.ids().subarray(first, end),
            &self.attempts().subarray(first, end),
            &self.statuses().subarray(first, end),
            &self.arrivals().subarray(first, end),
            &counts.subarray(first, end),
            &self.rows().slice(rows_between(0, first), rows_between(first, end)),
            &self.retry_after().subarray(first, end),
        )
    }
}

impl OutputBatch {
    /// Whether there is no output.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds().length() == 0
    }
}
