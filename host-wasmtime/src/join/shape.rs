//! From a joined record back to a text.

use std::collections::BTreeSet;

use lookaside_core::{Outcome, columns::JoinedRow};

use super::fields::all_fields;
use crate::json;

/// Which of the rows that were found are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum RowsShape {
    /// The first one, as an object; null where there is none.
    First,
    /// All of them, as an array.
    All,
}

/// Where the rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Into one field.
    Field(String),
    /// Each of the row's fields into one of the record, its name behind this prefix.
    Merge(String),
}

/// How a joined record is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Where the rows go.
    pub target: Target,
    /// Which of them.
    pub rows: RowsShape,
    /// The fields that rows have, where they are known.
    pub columns: Vec<String>,
}

/// A row that a provider gave is no JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a row for the key {key} is no JSON object: {reason}")]
pub struct BadRow {
    key: String,
    reason: String,
}

impl Shape {
    /// The names of all fields that it may set.
    #[must_use]
    pub fn fields(&self) -> Vec<String> {
        let mut fields = match &self.target {
            Target::Field(field) => vec![field.clone()],
            Target::Merge(prefix) => self.columns.iter().map(|column| format!("{prefix}{column}")).collect(),
        };
        fields.push(self.error_field());
        fields
    }

    /// Appends the joined record to `out`, without a line break.
    ///
    /// A record whose lookup failed or timed out has no rows, like a miss, and one more field that
    /// says why: the target's name with `_error`, or the prefix with `error`.
    ///
    /// # Errors
    ///
    /// [`BadRow`] where a row is to be taken apart and is no JSON object.
    pub fn write(&self, joined: &JoinedRow<'_>, out: &mut Vec<u8>) -> Result<(), BadRow> {
        let payload = joined.payload.trim_ascii_end();
        let open = payload.strip_suffix(b"}").unwrap_or(payload).trim_ascii_end();
        out.extend_from_slice(open);
        let mut fields = Fields { is_first: open.trim_ascii_start() == b"{", out };
        let failed = matches!(joined.outcome, Outcome::Failed | Outcome::TimedOut);
        let mut rows = joined.rows().filter(|_| !failed);
        match (&self.target, self.rows) {
            (Target::Field(name), RowsShape::First) => fields.push(name, rows.next().unwrap_or(b"null")),
            (Target::Field(name), RowsShape::All) => {
                let rows: Vec<&[u8]> = rows.collect();
                fields.push(name, &[b"[", rows.join(&b","[..]).as_slice(), b"]"].concat());
            }
            (Target::Merge(prefix), _) => self.merge(prefix, rows.next(), joined, &mut fields)?,
        }
        if failed {
            fields.push(&self.error_field(), error(joined).as_bytes());
        }
        out.push(b'}');
        Ok(())
    }

    fn merge(
        &self,
        prefix: &str,
        row: Option<&[u8]>,
        joined: &JoinedRow<'_>,
        merged: &mut Fields<'_>,
    ) -> Result<(), BadRow> {
        let bad = |reason: String| BadRow {
            key: joined.key.map_or(String::new(), |key| String::from_utf8_lossy(key).into_owned()),
            reason,
        };
        let row = std::str::from_utf8(row.unwrap_or(b"{}")).map_err(|error| bad(error.to_string()))?;
        let fields = all_fields(row).map_err(|error| bad(error.to_string()))?;
        let mut set = BTreeSet::new();
        for (name, value) in &fields {
            merged.push(&format!("{prefix}{name}"), value.get().as_bytes());
            set.insert(name.as_ref());
        }
        for column in self.columns.iter().filter(|column| !set.contains(column.as_str())) {
            merged.push(&format!("{prefix}{column}"), b"null");
        }
        Ok(())
    }

    fn error_field(&self) -> String {
        match &self.target {
            Target::Field(field) => format!("{field}_error"),
            Target::Merge(prefix) => format!("{prefix}error"),
        }
    }
}

/// Fields that follow those of the record.
struct Fields<'a> {
    is_first: bool,
    out: &'a mut Vec<u8>,
}

impl Fields<'_> {
    fn push(&mut self, name: &str, value: &[u8]) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        json::write_text(name, self.out);
        self.out.push(b':');
        self.out.extend_from_slice(value);
    }
}

/// Why a record has no rows: its outcome, attempts and message.
fn error(joined: &JoinedRow<'_>) -> String {
    let outcome = if joined.outcome == Outcome::TimedOut { "timed out" } else { "failed" };
    let message = joined.rows().next().map(String::from_utf8_lossy).unwrap_or_default();
    let fields = [
        ("outcome", json::text(outcome)),
        ("attempts", joined.attempts.to_string()),
        ("message", json::text(&message)),
    ];
    json::object(fields.into_iter())
}

#[cfg(test)]
mod tests {
    use lookaside_core::{Element, JoinedRecord, Record, Rows, columns::OutputBatchBuilder};

    use super::*;

    fn write(shape: &Shape, payload: &'static str, outcome: Outcome, rows: Rows) -> String {
        let joined = JoinedRecord { record: Record::new("k", payload), outcome, rows, attempts: 2 };
        let mut outputs = OutputBatchBuilder::default();
        outputs.push(&Element::Joined(joined));
        let mut out = Vec::new();
        shape.write(&outputs.build().joined().next().unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn shape(target: Target, rows: RowsShape) -> Shape {
        Shape { target, rows, columns: vec!["x".into(), "y".into()] }
    }

    #[test]
    fn rows_nest_in_a_field() {
        let first = shape(Target::Field("t".into()), RowsShape::First);
        let all = shape(Target::Field("t".into()), RowsShape::All);
        let two = || Rows::from_iter([r#"{"x":1.10}"#.into(), "{}".into()]);
        assert_eq!(write(&first, r#"{"a":1}"#, Outcome::Found, two()), r#"{"a":1,"t":{"x":1.10}}"#);
        assert_eq!(write(&all, r#"{ "a": 1 } "#, Outcome::Found, two()), r#"{ "a": 1,"t":[{"x":1.10},{}]}"#);
        assert_eq!(write(&first, "{}", Outcome::Missing, Rows::None), r#"{"t":null}"#);
        assert_eq!(write(&all, "{ }", Outcome::Missing, Rows::None), r#"{"t":[]}"#);
    }

    #[test]
    fn a_rows_fields_merge_behind_a_prefix() {
        let merge = shape(Target::Merge("t_".into()), RowsShape::First);
        assert_eq!(
            write(&merge, r#"{"a":1}"#, Outcome::Found, Rows::from(r#"{"y":"\u00e9"}"#)),
            r#"{"a":1,"t_y":"\u00e9","t_x":null}"#
        );
        assert_eq!(write(&merge, r#"{"a":1}"#, Outcome::Missing, Rows::None), r#"{"a":1,"t_x":null,"t_y":null}"#);
    }

    #[test]
    fn a_failure_is_never_shown_as_a_miss() {
        let first = shape(Target::Field("t".into()), RowsShape::First);
        assert_eq!(
            write(&first, r#"{"a":1}"#, Outcome::TimedOut, Rows::from("no answer within 5 ms")),
            r#"{"a":1,"t":null,"t_error":{"outcome":"timed out","attempts":2,"message":"no answer within 5 ms"}}"#
        );
    }
}
