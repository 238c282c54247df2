//! What a response says about each key.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use bytes::{Bytes, BytesMut};
use lookaside_core::{FailureKind, LookupError, Rows};
use reqwest::{Response, StatusCode, header::RETRY_AFTER};
use serde_json::value::RawValue;

use crate::{budget::Reservation, json, lookup::KeyValue};

/// Where rows stand in a response, and whose they are.
#[derive(Debug)]
pub(super) struct RowsAt {
    /// A JSON pointer; empty for the whole response.
    pub(super) rows: String,
    /// JSON pointers into a row, one a value of the key; none where rows do not say whose they are.
    pub(super) row_key: Vec<String>,
    /// Whether the service promises a row, or null, for each key, in the keys' order.
    pub(super) in_order: bool,
}

/// What the status alone says: that there are rows, none, or that the lookup failed. One of `misses` says none.
pub(super) fn status(response: &Response, misses: &[u16]) -> Result<bool, LookupError> {
    let status = response.status();
    let failed = |kind| LookupError::new(kind, format!("the server answered {status}"));
    match status {
        _ if misses.contains(&status.as_u16()) => Ok(false),
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT => Ok(false),
        // The answer is still being made, or the request came too late or too early: another one may find it.
        StatusCode::ACCEPTED | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY => {
            Err(failed(FailureKind::Unavailable))
        }
        // Nobody asked for a part.
        StatusCode::PARTIAL_CONTENT => Err(failed(FailureKind::Malformed)),
        _ if status.is_success() => Ok(true),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let value = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = value.and_then(|value| delay(value, jiff::Timestamp::now()));
            Err(LookupError { retry_after, ..failed(FailureKind::Throttled) })
        }
        _ if status.is_server_error() => Err(failed(FailureKind::Unavailable)),
        _ => Err(failed(FailureKind::Rejected)),
    }
}

/// The delay in `Retry-After`: seconds, or until a date.
fn delay(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    // One that is past asks for no delay.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

/// Reads the body as there is room for it, and stops where it gets longer than `most` bytes.
pub(super) async fn body(mut response: Response, most: usize, room: &Reservation) -> Result<Bytes, LookupError> {
    let over = || LookupError::new(FailureKind::Rejected, format!("the response is longer than max-bytes={most}"));
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(over());
    }
    let mut body = BytesMut::new();
    // What breaks off on its way was not made wrong: another attempt may get it whole.
    let broken = |error| LookupError { kind: FailureKind::Unavailable, ..super::failure(error) };
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > most {
            return Err(over());
        }
        room.hold((body.len() + chunk.len()) as u64).await;
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

impl RowsAt {
    /// The rows of the only key.
    pub(super) fn of_one(&self, body: &[u8]) -> Result<Rows, LookupError> {
        Ok(self.find(body)?.map(rows).transpose()?.unwrap_or_default())
    }

    /// The rows of each key.
    pub(super) fn of_each(
        &self,
        body: &[u8],
        keys: &[Vec<KeyValue>],
    ) -> Result<Vec<Result<Rows, LookupError>>, LookupError> {
        let Some(found) = self.find(body)? else { return Ok(vec![Ok(Rows::None); keys.len()]) };
        if !self.row_key.is_empty() {
            return Ok(self.by_row_key(found, keys)?.into_iter().map(Ok).collect());
        }
        if found.get().starts_with('{') {
            let by_key: BTreeMap<Cow<'_, str>, &RawValue> = parsed(found)?;
            let of = |key: &Vec<KeyValue>| by_key.get(key[0].plain().as_str()).copied();
            return Ok(keys.iter().map(|key| of(key).map_or(Ok(Rows::None), rows)).collect());
        }
        if !self.in_order {
            return Err(malformed(
                "rows came as an array, and nothing says whose they are: say where each has its key with row-key=/id, or \
                 in-order=true where the service promises one for each key, in the keys' order"
                    .into(),
            ));
        }
        let found: Vec<&RawValue> = parsed(found)?;
        let short = || {
            malformed(format!(
                "{} keys were asked for and {} rows came back, none for this one",
                keys.len(),
                found.len()
            ))
        };
        if found.len() > keys.len() {
            return Err(malformed(format!("{} keys were asked for and {} rows came back", keys.len(), found.len())));
        }
        Ok((0..keys.len()).map(|place| found.get(place).map_or_else(|| Err(short()), |row| rows(row))).collect())
    }

    /// Gives each row to the keys that it names.
    fn by_row_key(&self, found: &RawValue, keys: &[Vec<KeyValue>]) -> Result<Vec<Rows>, LookupError> {
        let mut by_key: BTreeMap<Vec<String>, Vec<Bytes>> = BTreeMap::new();
        for row in parsed::<Vec<&RawValue>>(found)? {
            let mut key = Vec::with_capacity(self.row_key.len());
            for pointer in &self.row_key {
                let value = at(row, pointer)?.and_then(|value| KeyValue::from_json(value.get()));
                key.push(value.ok_or_else(|| malformed(format!("a row has no key at {pointer}")))?.plain());
            }
            by_key.entry(key).or_default().push(one_row(row));
        }
        let of = |key: &Vec<KeyValue>| by_key.get(&key.iter().map(KeyValue::plain).collect::<Vec<_>>());
        Ok(keys.iter().map(|key| of(key).into_iter().flatten().cloned().collect()).collect())
    }

    fn find<'a>(&self, body: &'a [u8]) -> Result<Option<&'a RawValue>, LookupError> {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        if body.trim_ascii().is_empty() {
            return Ok(None);
        }
        let body: &RawValue =
            serde_json::from_slice(body).map_err(|error| malformed(format!("the response is no JSON: {error}")))?;
        at(body, &self.rows)
    }
}

/// The rows that a value stands for: each of an array, none of null, or itself.
fn rows(value: &RawValue) -> Result<Rows, LookupError> {
    match value.get().as_bytes().first() {
        Some(b'n') => Ok(Rows::None),
        Some(b'[') => Ok(parsed::<Vec<&RawValue>>(value)?.into_iter().map(one_row).collect()),
        _ => Ok(Rows::One(one_row(value))),
    }
}

fn one_row(value: &RawValue) -> Bytes {
    Bytes::from(json::on_one_line(value.get()).into_owned())
}

/// What a JSON pointer leads to, as it is written.
fn at<'a>(value: &'a RawValue, pointer: &str) -> Result<Option<&'a RawValue>, LookupError> {
    let mut value = value;
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let inner = match value.get().as_bytes().first() {
            Some(b'{') => parsed::<BTreeMap<Cow<'_, str>, &RawValue>>(value)?.remove(name.as_str()),
            Some(b'[') => name
                .parse::<usize>()
                .ok()
                .map_or(Ok(None), |place| Ok(parsed::<Vec<&RawValue>>(value)?.get(place).copied()))?,
            _ => None,
        };
        match inner {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn parsed<'a, T: serde::Deserialize<'a>>(value: &'a RawValue) -> Result<T, LookupError> {
    serde_json::from_str(value.get()).map_err(|error| malformed(format!("the response has another shape: {error}")))
}

fn malformed(message: String) -> LookupError {
    LookupError::new(FailureKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rows: &str, row_key: &[&str]) -> RowsAt {
        let row_key = row_key.iter().map(|pointer| (*pointer).to_owned()).collect();
        RowsAt { rows: rows.into(), row_key, in_order: true }
    }

    fn keys(texts: &[&str]) -> Vec<Vec<KeyValue>> {
        texts.iter().map(|text| vec![KeyValue::Text((*text).into())]).collect()
    }

    #[test]
    fn rows_stand_where_the_pointer_says() {
        for (body, pointer, expected) in [
            (r#"{"a": 1.10}"#, "", &[r#"{"a": 1.10}"#][..]),
            (r#"[{"a":1},{"a":2}]"#, "", &[r#"{"a":1}"#, r#"{"a":2}"#]),
            (r#"{"data":{"x/y":[9007199254740993]}}"#, "/data/x~1y", &["9007199254740993"]),
            (r#"{"data":[{"a":1}]}"#, "/data/0", &[r#"{"a":1}"#]),
            (r#"{"data":null}"#, "/data", &[]),
            (r#"{}"#, "/data", &[]),
            ("[]", "", &[]),
            ("", "", &[]),
            ("{\n  \"a\": 1\n}", "", &[r#"{"a":1}"#]),
            ("\u{feff}{\"a\":1}", "", &[r#"{"a":1}"#]),
            ("\u{feff}", "", &[]),
        ] {
            assert_eq!(at(pointer, &[]).of_one(body.as_bytes()).unwrap().as_slice(), expected, "{body}");
        }
        assert!(at("", &[]).of_one(b"<html>").is_err());
    }

    #[test]
    fn a_batch_is_matched_by_place_by_name_or_by_the_rows_own_keys() {
        let asked = keys(&["b", "a", "c", "b"]);
        let one = Rows::One(Bytes::from_static(b"1"));
        let of_each = |at: &RowsAt, body: &[u8]| -> Result<Vec<Rows>, LookupError> {
            at.of_each(body, &asked)?.into_iter().collect()
        };
        let by_place = of_each(&at("", &[]), b"[2,1,null,[2,3]]").unwrap();
        assert_eq!(by_place[1], one);
        assert_eq!(by_place[2], Rows::None);
        assert_eq!(by_place[3].as_slice().len(), 2);
        let short = at("", &[]).of_each(b"[2,1]", &asked).unwrap();
        assert_eq!(short.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, false]);
        assert!(at("", &[]).of_each(b"[1,2,3,4,5]", &asked).is_err());
        let unsaid = RowsAt { in_order: false, ..at("", &[]) };
        let error = unsaid.of_each(b"[2,1,null,[2,3]]", &asked).unwrap_err().message;
        assert!(error.contains("nothing says whose they are"), "a place alone says nothing: {error}");
        let by_name = of_each(&unsaid, br#"{"a":1,"b":2}"#).unwrap();
        assert_eq!(by_name[1], one);
        assert_eq!(by_name[0], by_name[3]);
        let rows_of_keys = br#"{"rows":[{"id":"a"},{"id":"b","n":1},{"id":"b","n":2}]}"#;
        let by_key = of_each(&at("/rows", &["/id"]), rows_of_keys).unwrap();
        assert_eq!(by_key.iter().map(|rows| rows.as_slice().len()).collect::<Vec<_>>(), [2, 1, 0, 2]);
        assert!(at("", &["/id"]).of_each(br#"[{"a":1}]"#, &asked).is_err());
    }

    #[test]
    fn retry_after_has_two_forms() {
        let now: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(delay("120", now), Some(Duration::from_secs(120)));
        assert_eq!(delay("Thu, 01 Jan 2026 00:00:30 GMT", now), Some(Duration::from_secs(30)));
        assert_eq!(delay("Wed, 31 Dec 2025 00:00:30 GMT", now), Some(Duration::ZERO));
        assert_eq!(delay("soon", now), None);
    }
}
