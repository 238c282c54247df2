//! From a record's text to a record with a key.

use lookaside_core::{EventTime, columns::RecordBatchBuilder};
use serde_json::value::RawValue;

use super::{
    EventTimeFormat, FieldPath,
    fields::{Field, all_fields, fields},
};
use crate::{json, lookup::KeyWriter};

/// A record's text cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadField(String);

/// Finds keys and event times in records, and leaves everything else as it is written.
#[derive(Debug, Clone)]
pub struct RecordReader {
    /// The fields that make the lookup key.
    pub key: Vec<FieldPath>,
    /// The fields that make the order key, where it is another.
    pub order_key: Vec<FieldPath>,
    /// The field with the event time.
    pub event_time: Option<(FieldPath, EventTimeFormat)>,
    /// The fields that the join will set: what the record has of them makes way.
    pub replaced: Vec<String>,
    /// Whether an empty text in a key stands for null, as in CSV.
    pub empty_is_null: bool,
}

impl RecordReader {
    /// Appends the record that `text` writes to `records`, with the text as its payload, on one line; gives its event
    /// time.
    ///
    /// # Errors
    ///
    /// [`BadField`] where the text is no JSON object, a key is no scalar, or the event time is none; nothing is
    /// appended then.
    pub fn read(&self, text: &[u8], records: &mut RecordBatchBuilder) -> Result<EventTime, BadField> {
        let text = std::str::from_utf8(text).map_err(|_| BadField("it is no UTF-8".into()))?;
        let replaced = |name: &str| self.replaced.iter().any(|field| field == name);
        let event_time_path = self.event_time.iter().map(|(path, _)| path);
        let wanted = |name: &str| {
            let mut paths = self.key.iter().chain(&self.order_key).chain(event_time_path.clone());
            paths.any(|path| path.begins_with(name)) || replaced(name)
        };
        let fields = fields(text, &wanted).map_err(|error| BadField(expected_object(&error)))?;

        let key = self.key_of(&self.key, &fields)?;
        let order_key = if self.order_key.is_empty() { None } else { self.key_of(&self.order_key, &fields)? };
        let event_time = match &self.event_time {
            None => EventTime::NONE,
            Some((path, format)) => {
                let value = path.find(&fields).ok_or_else(|| BadField(format!("it has no event time in `{path}`")))?;
                format.read(value).map_err(|reason| BadField(format!("the event time in `{path}`: {reason}")))?
            }
        };
        let has_replaced = fields.iter().any(|(name, _)| replaced(name));
        let payload = if has_replaced { without(text, replaced)?.into() } else { json::on_one_line(text) };
        records.push_row(event_time, key.as_deref(), order_key.as_deref(), payload.as_bytes());
        Ok(event_time)
    }

    /// The key that these fields make; none where one of them is null or absent.
    fn key_of(&self, paths: &[FieldPath], fields: &[Field<'_>]) -> Result<Option<Vec<u8>>, BadField> {
        let mut key = Vec::new();
        let mut writer = KeyWriter::begin(&mut key);
        for path in paths {
            let Some(value) = path.find(fields).map(RawValue::get).filter(|&value| value != "null") else {
                return Ok(None);
            };
            if self.empty_is_null && value == "\"\"" {
                return Ok(None);
            }
            if writer.push_json(value).is_none() {
                let kind = if value.starts_with(['{', '[']) { "an object or array" } else { "no valid text" };
                return Err(BadField(format!(
                    "the key in `{path}` is {kind}; a text, number, boolean or null was expected"
                )));
            }
        }
        writer.end();
        Ok(Some(key))
    }
}

/// The object without the fields that make way; the other values stay as they are written.
fn without(text: &str, replaced: impl Fn(&str) -> bool) -> Result<String, BadField> {
    let fields = all_fields(text).map_err(|error| BadField(expected_object(&error)))?;
    let kept = fields.iter().filter(|(name, _)| !replaced(name));
    Ok(json::object(kept.map(|(name, value)| (name.as_ref(), json::on_one_line(value.get()).into_owned()))))
}

fn expected_object(error: &serde_json::Error) -> String {
    let error = error.to_string();
    // The place within the record's own text; the record's line is said by whoever reads the file.
    let (reason, place) = error.rsplit_once(" at line ").unwrap_or((&error, ""));
    match place.rsplit_once("column ") {
        Some((_, column)) => format!("a JSON object was expected: {reason} at column {column}"),
        None => format!("a JSON object was expected: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lookaside_core::Record;

    use super::*;

    fn reader(key: &[&str]) -> RecordReader {
        RecordReader {
            key: key.iter().map(|path| path.parse().unwrap()).collect(),
            order_key: Vec::new(),
            event_time: None,
            replaced: vec!["found".into()],
            empty_is_null: false,
        }
    }

    fn read(paths: &[&str], text: &str) -> Record {
        let mut records = RecordBatchBuilder::default();
        reader(paths).read(text.as_bytes(), &mut records).unwrap();
        records.build().iter().next().unwrap()
    }

    fn key(paths: &[&str], text: &str) -> Option<Bytes> {
        read(paths, text).key
    }

    #[test]
    fn keys_come_from_one_field_several_or_nested_ones() {
        assert_eq!(key(&["a"], r#"{"a":"x"}"#).unwrap(), r#"["x"]"#);
        assert_eq!(key(&["a", "b.c"], r#"{"b":{"c":7},"a":"x"}"#).unwrap(), r#"["x",7]"#);
        assert_eq!(key(&["b.c"], r#"{"b":{"c":7},"b.c":8}"#).unwrap(), "[8]", "a field of that very name comes first");
        assert_eq!(key(&["a"], r#"{"a":1,"a":2}"#).unwrap(), "[2]", "of equal names the last counts");
    }

    #[test]
    fn null_or_absent_makes_no_key() {
        for text in [r#"{}"#, r#"{"a":null}"#, r#"{"b":1}"#] {
            assert_eq!(key(&["a"], text), None);
        }
        assert_eq!(key(&["a", "b"], r#"{"a":1,"b":null}"#), None);
        assert_eq!(key(&["a.b"], r#"{"a":7}"#), None);
    }

    #[test]
    fn what_nobody_names_stays_as_it_is_written() {
        let text =
            r#"{"big":9007199254740993,"dec":1.10,"huge":1e400,"neg":-0,"z":1,"a":"\u00e9\/\ud800", "s" : [ 1 ]}"#;
        assert_eq!(read(&["z"], text).payload, text);
    }

    #[test]
    fn fields_that_the_join_sets_make_way() {
        let text = r#"{"found":{"old":1},"n":1.10,"a":"x"}"#;
        assert_eq!(read(&["a"], text).payload, r#"{"n":1.10,"a":"x"}"#);
    }

    #[test]
    fn bad_records_say_what_was_expected() {
        for text in ["7", "[]", "{", r#"{"a":1}}"#, r#"{"a":[1]}"#, r#"{"a":{}}"#, "nul", r#"{"a" 1}"#] {
            let mut records = RecordBatchBuilder::default();
            assert!(reader(&["a"]).read(text.as_bytes(), &mut records).is_err(), "{text}");
            assert!(records.is_empty(), "{text}");
        }
        assert!(reader(&["a"]).read(b"{\"a\":\"\xff\"}", &mut RecordBatchBuilder::default()).is_err());
    }
}
