//! From a record's text to a record with a key.

use lookaside_core::{EventTime, columns::RecordBatchBuilder};
use serde_json::value::RawValue;

use super::{
    EventTimeFormat, FieldNames, FieldPath,
    fields::{Field, all_fields, fields},
};
use crate::{json, lookup::KeyWriter, text::NOT_UTF8};

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
    /// The fields that the join will set, by the names that lead to them: a record must not have them.
    pub set: Vec<FieldNames>,
    /// Whether it may have them all the same, since what was found takes their place.
    pub overwrites: bool,
    /// Whether an empty text in a key stands for null, as in CSV.
    pub empty_is_null: bool,
}

impl RecordReader {
    /// Appends the record that `text` writes to `records`, with the text as its payload, on one line.
    ///
    /// # Errors
    ///
    /// [`BadField`] where the text is no JSON object, a key is no scalar, the event time is none, or a field that is to be
    /// set is there; nothing is appended then.
    pub fn read(&self, text: &[u8], records: &mut RecordBatchBuilder) -> Result<ReadRecord, BadField> {
        let text = std::str::from_utf8(text).map_err(|_| BadField(NOT_UTF8.into()))?;
        let event_time_path = self.event_time.iter().map(|(path, _)| path);
        let wanted = |name: &str| {
            let mut paths = self.key.iter().chain(&self.order_key).chain(event_time_path.clone());
            paths.any(|path| path.begins_with(name)) || self.set.iter().any(|names| names[0] == name)
        };
        let fields = fields(text, &wanted).map_err(|error| BadField(expected_object(text, &error)))?;

        let (key, has_key_field) = self.key_of(&self.key, &fields)?;
        let order_key = if self.order_key.is_empty() { None } else { self.key_of(&self.order_key, &fields)?.0 };
        let event_time = match &self.event_time {
            None => EventTime::NONE,
            Some((path, format)) => {
                let value = path.find(&fields).ok_or_else(|| BadField(format!("it has no event time in `{path}`")))?;
                format.read(value).map_err(|reason| BadField(format!("the event time in `{path}`: {reason}")))?
            }
        };
        self.set.iter().try_for_each(|names| self.check_set(names, &fields))?;
        let payload = json::on_one_line(text);
        records.push_row(event_time, key.as_deref(), order_key.as_deref(), payload.as_bytes());
        Ok(ReadRecord { event_time, key, has_key_field })
    }

    /// Whether a field can be set in a record with these fields.
    fn check_set(&self, names: &[String], fields: &[Field<'_>]) -> Result<(), BadField> {
        let Some((first, rest)) = names.split_first() else { return Ok(()) };
        let Some((_, value)) = fields.iter().rev().find(|(name, _)| name == first) else { return Ok(()) };
        if rest.is_empty() {
            return if self.overwrites {
                Ok(())
            } else {
                Err(BadField(format!(
                    "it has the field `{first}`, which is to be set; name another with --as or --merge, or say --overwrite"
                )))
            };
        }
        let inner = all_fields(value.get())
            .map_err(|_| BadField(format!("its field `{first}` is no object, so that nothing can be put into it")))?;
        self.check_set(rest, &inner)
    }

    /// The key that these fields make; none where one of them is null or absent. And whether all are there.
    fn key_of(&self, paths: &[FieldPath], fields: &[Field<'_>]) -> Result<(Option<Vec<u8>>, bool), BadField> {
        let mut key = Vec::new();
        let mut writer = KeyWriter::begin(&mut key);
        for path in paths {
            let Some(value) = path.find(fields).map(RawValue::get) else { return Ok((None, false)) };
            if value == "null" || self.empty_is_null && value == "\"\"" {
                return Ok((None, true));
            }
            if writer.push_json(value).is_none() {
                let kind = if value.starts_with(['{', '[']) { "an object or array" } else { "no valid text" };
                return Err(BadField(format!(
                    "the key in `{path}` is {kind}; a text, number, boolean or null was expected"
                )));
            }
        }
        writer.end();
        Ok((Some(key), true))
    }
}

/// What a record had, as far as its reader looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Its event time; [`EventTime::NONE`] where none was asked for.
    pub event_time: EventTime,
    /// Its key, as it crosses the operator; none where a field of it is null or absent.
    pub key: Option<Vec<u8>>,
    /// Whether it has each field of the key, null or not.
    pub has_key_field: bool,
}

fn expected_object(text: &str, error: &serde_json::Error) -> String {
    if text.starts_with('[') {
        return "a JSON object was expected and there is an array; --in-format json reads an array of records".into();
    }
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
            set: vec![vec!["found".into()], vec!["deep".into(), "found".into()]],
            overwrites: false,
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
    fn a_record_has_no_field_that_the_join_sets() {
        let text = r#"{"found":{"old":1},"n":1.10,"a":"x"}"#;
        let mut records = RecordBatchBuilder::default();
        let error = reader(&["a"]).read(text.as_bytes(), &mut records).unwrap_err().to_string();
        assert!(error.contains("it has the field `found`") && records.is_empty(), "{error}");
        let overwriting = RecordReader { overwrites: true, ..reader(&["a"]) };
        assert!(overwriting.read(text.as_bytes(), &mut records).is_ok());
        for (text, is_good) in
            [(r#"{"deep":{"x":1}}"#, true), (r#"{"deep":7}"#, false), (r#"{"deep":{"found":1}}"#, false)]
        {
            assert_eq!(reader(&["a"]).read(text.as_bytes(), &mut records).is_ok(), is_good, "{text}");
        }
    }

    #[test]
    fn an_absent_field_is_told_from_a_null() {
        let mut records = RecordBatchBuilder::default();
        for (text, has_field) in [("{}", false), (r#"{"a":null}"#, true), (r#"{"a":1}"#, true)] {
            assert_eq!(reader(&["a"]).read(text.as_bytes(), &mut records).unwrap().has_key_field, has_field, "{text}");
        }
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
