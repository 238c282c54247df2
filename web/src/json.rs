//! Columns of JSON texts.

use js_sys::Array;
use wasm_bindgen::prelude::*;

/// As many digits may be more than a double holds.
const LONG: usize = 16;

/// Two values: the texts of a column as one array, to be parsed at once, in which `null` stands for an empty one; and
/// whether a number of it may be one that a double does not hold.
#[wasm_bindgen(js_name = joinJson)]
#[must_use]
pub fn join_json(ends: &[u32], bytes: &[u8]) -> Array {
    let mut array = Vec::with_capacity(bytes.len() + 5 * ends.len() + 2);
    array.push(b'[');
    let mut start = 0;
    for (row, &end) in ends.iter().enumerate() {
        if row > 0 {
            array.push(b',');
        }
        let text = &bytes[start..end as usize];
        array.extend_from_slice(if text.is_empty() { b"null" } else { text });
        start = end as usize;
    }
    array.push(b']');
    let has_long_number = has_digits(bytes);
    let text = String::from_utf8(array).unwrap_or_else(|array| String::from_utf8_lossy(array.as_bytes()).into_owned());
    Array::of2(&text.into(), &has_long_number.into())
}

/// Whether [`LONG`] digits stand in a row. Looks at each such place alone that they cannot miss.
fn has_digits(bytes: &[u8]) -> bool {
    let count =
        |bytes: &mut dyn Iterator<Item = &u8>| bytes.take(LONG).take_while(|byte| byte.is_ascii_digit()).count();
    (LONG - 1..bytes.len()).step_by(LONG).any(|place| {
        bytes[place].is_ascii_digit()
            && count(&mut bytes[..place].iter().rev()) + count(&mut bytes[place..].iter()) >= LONG
    })
}
