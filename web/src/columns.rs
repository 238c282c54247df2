//! Batches of columns, as JavaScript objects of typed arrays.

use js_sys::{Array, BigInt64Array, BigUint64Array, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::{JsCast, prelude::*};

/// A new object with these fields.
pub(crate) fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // A plain object takes any field.
        let _ = Reflect::set(&object, &JsValue::from_str(name), value);
    }
    object.into()
}

/// A field of an object; undefined where it has none.
pub(crate) fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
}

/// How many records a batch has.
pub(crate) fn record_count(records: &JsValue) -> u32 {
    field(records, "eventTimes").dyn_into::<BigInt64Array>().map_or(0, |times| times.length())
}

/// The records from `first` on, up to `count` of them.
pub(crate) fn slice_records(records: &JsValue, first: u32, count: u32) -> JsValue {
    let times: BigInt64Array = field(records, "eventTimes").unchecked_into();
    let keyless: Uint32Array = field(records, "keyless").unchecked_into();
    let keyless: Vec<u32> = keyless
        .to_vec()
        .into_iter()
        .filter(|row| (first..first + count).contains(row))
        .map(|row| row - first)
        .collect();
    let strings = |name| match field(records, name) {
        none if none.is_undefined() => none,
        strings => slice_strings(&strings, first, count),
    };
    object(&[
        ("eventTimes", times.subarray(first, first + count).into()),
        ("keys", strings("keys")),
        ("keyless", Uint32Array::from(&keyless[..]).into()),
        ("orderKeys", strings("orderKeys")),
        ("payloads", strings("payloads")),
    ])
}

fn slice_strings(strings: &JsValue, first: u32, count: u32) -> JsValue {
    let ends: Uint32Array = field(strings, "ends").unchecked_into();
    let bytes: Uint8Array = field(strings, "bytes").unchecked_into();
    let start = if first == 0 { 0 } else { ends.get_index(first - 1) };
    let ends = ends.subarray(first, first + count).to_vec();
    let end = ends.last().copied().unwrap_or(start);
    let ends: Vec<u32> = ends.into_iter().map(|end| end - start).collect();
    object(&[("ends", Uint32Array::from(&ends[..]).into()), ("bytes", bytes.subarray(start, end).into())])
}

/// Answers that nobody has taken yet, each with all its columns.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    ids: Vec<u64>,
    attempts: Vec<u32>,
    statuses: Vec<u8>,
    arrivals: Vec<u64>,
    row_counts: Vec<u32>,
    row_ends: Vec<u32>,
    rows: Vec<u8>,
    retry_after: Vec<u64>,
}

impl Answers {
    /// One answer: its status is the position in the contract's `completion-status`.
    pub(crate) fn push(&mut self, id: u64, attempt: u32, status: u8, arrival: u64, rows: &Array, retry_after: u64) {
        self.ids.push(id);
        self.attempts.push(attempt);
        self.statuses.push(status);
        self.arrivals.push(arrival);
        self.row_counts.push(rows.length());
        self.retry_after.push(retry_after);
        for row in rows.iter() {
            let row: Uint8Array = row.unchecked_into();
            self.rows.extend(row.to_vec());
            self.row_ends.push(self.rows.len() as u32);
        }
    }

    /// All of them as a `completion-batch`.
    pub(crate) fn into_batch(self) -> JsValue {
        let rows = [
            ("ends", Uint32Array::from(&self.row_ends[..]).into()),
            ("bytes", Uint8Array::from(&self.rows[..]).into()),
        ];
        object(&[
            ("ids", BigUint64Array::from(&self.ids[..]).into()),
            ("attempts", Uint32Array::from(&self.attempts[..]).into()),
            ("statuses", Uint8Array::from(&self.statuses[..]).into()),
            ("arrivals", BigUint64Array::from(&self.arrivals[..]).into()),
            ("rowCounts", Uint32Array::from(&self.row_counts[..]).into()),
            ("rows", object(&rows)),
            ("retryAfter", BigUint64Array::from(&self.retry_after[..]).into()),
        ])
    }
}
