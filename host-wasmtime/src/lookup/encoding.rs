//! Bytes of a store as JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use lookaside_core::{FailureKind, LookupError};
use serde::de::IgnoredAny;

use crate::json;

/// What the values of a store are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    /// JSON where they parse, else texts, else as [`Base64`](Self::Base64).
    Auto,
    /// JSON, put into the row as it is.
    Json,
    /// Texts in UTF-8.
    Text,
    /// Bytes, given as base64 texts.
    Base64,
}

/// The names of the encodings in settings.
pub(crate) const ENCODINGS: &[(&str, ValueEncoding)] = &[
    ("auto", ValueEncoding::Auto),
    ("json", ValueEncoding::Json),
    ("text", ValueEncoding::Text),
    ("base64", ValueEncoding::Base64),
];

impl ValueEncoding {
    /// The value as JSON on one line.
    pub(crate) fn to_json(self, value: Bytes) -> Result<Bytes, LookupError> {
        match self {
            Self::Auto if is_json(&value) => Ok(one_line(value)),
            Self::Auto => match std::str::from_utf8(&value) {
                Ok(text) => Ok(json::text(text).into()),
                Err(_) => Self::Base64.to_json(value),
            },
            Self::Json if is_json(&value) => Ok(one_line(value)),
            Self::Json => Err(malformed("the value is no JSON")),
            Self::Text => match std::str::from_utf8(&value) {
                Ok(text) => Ok(json::text(text).into()),
                Err(error) => Err(malformed(&format!("the value is no UTF-8 text: {error}"))),
            },
            Self::Base64 => Ok(json::text(&STANDARD.encode(value)).into()),
        }
    }
}

fn is_json(value: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(value).is_ok() && std::str::from_utf8(value).is_ok()
}

fn one_line(value: Bytes) -> Bytes {
    match std::str::from_utf8(&value).map(|text| json::on_one_line(text.trim())) {
        Ok(line) if line.len() != value.len() => Bytes::from(line.into_owned()),
        _ => value,
    }
}

fn malformed(message: &str) -> LookupError {
    LookupError::new(FailureKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(encoding: ValueEncoding, value: &[u8]) -> Option<String> {
        let json = encoding.to_json(Bytes::copy_from_slice(value)).ok()?;
        Some(String::from_utf8(json.to_vec()).unwrap())
    }

    #[test]
    fn each_encoding_has_its_json() {
        use ValueEncoding::{Auto, Base64, Json, Text};
        for (value, auto, strict, text) in [
            (
                &b"{ \"a\": 1.10,\n \"b\": 2}"[..],
                Some("{\"a\":1.10,\"b\":2}"),
                Some("{\"a\":1.10,\"b\":2}"),
                Some(r#""{ \"a\": 1.10,\n \"b\": 2}""#),
            ),
            (b"9007199254740993", Some("9007199254740993"), Some("9007199254740993"), Some(r#""9007199254740993""#)),
            (b"007", Some(r#""007""#), None, Some(r#""007""#)),
            (b"", Some(r#""""#), None, Some(r#""""#)),
            (b"\xff\x00", Some(r#""/wA=""#), None, None),
            (b"\"\xff\"", Some(r#""Iv8i""#), None, None),
        ] {
            assert_eq!(json(Auto, value).as_deref(), auto);
            assert_eq!(json(Json, value).as_deref(), strict);
            assert_eq!(json(Text, value).as_deref(), text);
            assert_eq!(json(Base64, value), Some(format!("\"{}\"", STANDARD.encode(value))));
        }
    }
}
