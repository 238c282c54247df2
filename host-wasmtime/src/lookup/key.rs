//! Keys with types, as bytes.
//!
//! A key crosses the operator as a JSON array of its values, so `7` and `"7"` differ, and so do
//! `["a b", "c"]` and `["a", "b c"]`. Equal values have equal bytes: texts are escaped in one way,
//! and numbers that are equal as exact decimals are written alike, however the data wrote them.

use bytes::Bytes;
use lookaside_core::{FailureKind, LookupError};
use serde_json::value::RawValue;

use crate::json;

/// One value of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// True or false.
    Boolean(bool),
    /// A number, as the one text that all exactly equal decimals have: `7`, `0.1`, `-12.5`; with an exponent where it has
    /// more zeros than anybody counts.
    Number(String),
    /// A text.
    Text(String),
}

/// The type of a [`KeyValue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyKind {
    /// True or false.
    Boolean,
    /// A number.
    Number,
    /// A text.
    Text,
}

impl KeyKind {
    /// The kind's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "a text",
        }
    }
}

impl KeyValue {
    /// The value of a JSON scalar; none for null, arrays and objects.
    #[must_use]
    pub fn from_json(json: &str) -> Option<Self> {
        match json.as_bytes().first()? {
            b'"' => serde_json::from_str(json).ok().map(Self::Text),
            b't' => Some(Self::Boolean(true)),
            b'f' => Some(Self::Boolean(false)),
            b'-' | b'0'..=b'9' => Some(Self::Number(one_spelling(json).unwrap_or_else(|| json.to_owned()))),
            _ => None,
        }
    }

    /// The value without quotes and escapes: what stores know it by.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Number(text) | Self::Text(text) => text.clone(),
        }
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match self {
            Self::Boolean(_) => KeyKind::Boolean,
            Self::Number(_) => KeyKind::Number,
            Self::Text(_) => KeyKind::Text,
        }
    }
}

impl std::fmt::Display for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Number(digits) => f.write_str(digits),
            Self::Text(text) => f.write_str(&serde_json::Value::from(text.as_str()).to_string()),
        }
    }
}

/// The key of `values`, as it crosses the operator.
#[must_use]
pub fn write_key(values: &[KeyValue]) -> Bytes {
    let mut key = Vec::new();
    let mut writer = KeyWriter::begin(&mut key);
    values.iter().for_each(|value| writer.push(value));
    writer.end();
    key.into()
}

/// Writes a key, value by value.
pub(crate) struct KeyWriter<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
}

impl<'a> KeyWriter<'a> {
    /// A key behind whatever is in `out`.
    pub(crate) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, is_first: true }
    }

    /// Appends the value of a JSON scalar; none for null, arrays and objects, after which the key is of no use.
    pub(crate) fn push_json(&mut self, json: &str) -> Option<KeyKind> {
        // A text without escapes is written in the one way already.
        if json.starts_with('"') && memchr::memchr(b'\\', json.as_bytes()).is_none() {
            self.push_written(json);
            return Some(KeyKind::Text);
        }
        let value = KeyValue::from_json(json)?;
        self.push(&value);
        Some(value.kind())
    }

    /// Appends a text.
    pub(crate) fn push_text(&mut self, text: &str) {
        self.part();
        json::write_text(text, self.out);
    }

    /// Appends what is written as it is in a key: digits, or a JSON text.
    pub(crate) fn push_written(&mut self, json: &str) {
        self.part();
        self.out.extend_from_slice(json.as_bytes());
    }

    fn push(&mut self, value: &KeyValue) {
        match value {
            KeyValue::Boolean(value) => self.push_written(if *value { "true" } else { "false" }),
            KeyValue::Number(digits) => self.push_written(digits),
            KeyValue::Text(text) => self.push_text(text),
        }
    }

    fn part(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    /// Ends the key.
    pub(crate) fn end(self) {
        self.out.push(b']');
    }
}

/// The values of a key that [`write_key`] wrote.
///
/// # Errors
///
/// A rejected lookup where the key is none.
pub fn read_key(key: &[u8]) -> Result<Vec<KeyValue>, LookupError> {
    let values: Vec<&RawValue> = serde_json::from_slice(key).map_err(|error| unreadable(&error.to_string()))?;
    values.iter().map(|value| KeyValue::from_json(value.get()).ok_or_else(|| unreadable(value.get()))).collect()
}

fn unreadable(why: &str) -> LookupError {
    LookupError::new(FailureKind::Rejected, format!("the key is no array of texts, numbers and booleans: {why}"))
}

/// Zeros that are written out at most, before or behind a number's other digits.
const MAX_ZEROS: i64 = 40;

/// The one text for a JSON number, by its exact decimal value; none where `json` has it already, or where its exponent is
/// beyond counting.
fn one_spelling(json: &str) -> Option<String> {
    let is_whole = !json.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if is_whole && json != "-0" {
        return None;
    }
    let (mantissa, exponent) = json.split_once(['e', 'E']).unwrap_or((json, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // The value is `digits`, which neither begin nor end with a zero, times ten to the power of `power`.
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let behind = (all.len() - digits.len()) as i64;
    let power = exponent.checked_sub(fraction.len() as i64)?.checked_add(behind)?;
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".into());
    }
    let point = power + digits.len() as i64;
    Some(match power {
        0..=MAX_ZEROS => format!("{sign}{digits}{}", "0".repeat(power as usize)),
        _ if power < 0 && point > 0 => format!("{sign}{}.{}", &digits[..point as usize], &digits[point as usize..]),
        _ if power < 0 && point >= -MAX_ZEROS => format!("{sign}0.{}{digits}", "0".repeat(-point as usize)),
        power => format!("{sign}{digits}e{power}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(json: &[&str]) -> Bytes {
        write_key(&json.iter().map(|json| KeyValue::from_json(json).unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn equal_values_have_equal_keys_however_they_are_written() {
        for (one, other) in [
            ("7", "7.0"),
            ("7", "70e-1"),
            ("120", "1.2E2"),
            ("0", "-0"),
            ("0", "0.0"),
            ("-5", "-5.00"),
            ("1.5", "1.50"),
            ("1.5", "15e-1"),
            ("0.1", "0.10"),
            ("1e-7", "0.0000001"),
            ("-12.5", "-1.25E+1"),
            ("100.25", "10025e-2"),
            ("1e400", "10e399"),
            ("1e-400", "0.1e-399"),
            ("0", "0e5"),
            ("0", "-0.00e-9"),
            (r#""A""#, r#""\u0041""#),
        ] {
            assert_eq!(key(&[one]), key(&[other]), "{one} {other}");
        }
    }

    #[test]
    fn different_values_have_different_keys() {
        let keys = [
            &["7"][..],
            &[r#""7""#],
            &["true"],
            &[r#""true""#],
            &[r#""a b""#, r#""c""#],
            &[r#""a""#, r#""b c""#],
            &["7.5"],
            &["0.1"],
            &["0.10000000000000000000001"],
            &["1e400"],
            &["1e-400"],
            &["-7.5"],
            &["9007199254740993"],
            &["9007199254740992"],
        ];
        for (number, one) in keys.iter().enumerate() {
            for other in &keys[number + 1..] {
                assert_ne!(key(one), key(other));
            }
        }
    }

    #[test]
    fn a_key_reads_as_it_was_written() {
        let values = [KeyValue::Text("q\"\n\u{0}é".into()), KeyValue::Number("-12".into()), KeyValue::Boolean(false)];
        assert_eq!(read_key(&write_key(&values)).unwrap(), values);
        assert!(read_key(b"7").is_err());
        assert!(read_key(b"[null]").is_err());
    }
}
