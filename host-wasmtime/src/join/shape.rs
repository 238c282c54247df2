//! From a joined record back to texts.

use std::collections::BTreeSet;

use lookaside_core::{Outcome, columns::JoinedRow};

use super::{
    FieldPath,
    fields::{Field, all_fields},
    object::Object,
};
use crate::json;

/// Which of the rows that were found are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum RowsShape {
    /// The first one; null where there is none.
    First,
    /// All of them, as an array.
    All,
    /// One record for each of them; one with null where there is none.
    Each,
}

/// Where the rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Into one field.
    Field(FieldPath),
    /// Each of the row's fields into one of the record, its name behind this prefix.
    Merge(String),
}

/// What a joined record is to look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeSettings {
    /// Where the rows go.
    pub target: Target,
    /// Which of them.
    pub rows: RowsShape,
    /// The fields that rows have, where they are known.
    pub columns: Option<Vec<String>>,
    /// Whether only the fields in `columns` are taken from a row.
    pub selects: bool,
    /// Whether what was found may take the place of a field that the record has.
    pub overwrites: bool,
    /// Whether records go on whose lookup failed or timed out, with a field that says why.
    pub tells_errors: bool,
}

/// Writes joined records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    settings: ShapeSettings,
    /// Where the rows go, where they go into one field.
    field: FieldNames,
    /// Where it says why a record has none.
    error: FieldNames,
}

/// A record cannot be written as it was joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRow {
    /// A row that a provider gave is no JSON object.
    #[error("a row for the key {key} is no JSON object: {reason}")]
    NoObject {
        /// Whose row it is.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// The record has a field of a row's name.
    #[error(
        "a row for the key {key} has the field `{field}`, which the record has, too; rename with --merge PREFIX, or say --overwrite"
    )]
    Collides {
        /// Whose row it is.
        key: String,
        /// Which field.
        field: String,
    },
}

impl Shape {
    /// A shape as the settings have it.
    #[must_use]
    pub fn new(settings: ShapeSettings) -> Self {
        let (field, error) = match &settings.target {
            Target::Field(path) => {
                let names = path.names().unwrap_or_else(|| vec![path.last_name()]);
                let field: FieldNames = names.into_iter().map(str::to_owned).collect();
                let mut error = field.clone();
                if let Some(last) = error.last_mut() {
                    last.push_str("_error");
                }
                (field, error)
            }
            Target::Merge(prefix) => (Vec::new(), vec![format!("{prefix}error")]),
        };
        Self { settings, field, error }
    }

    /// The fields of the record itself that it sets, as far as they are known before a row is.
    #[must_use]
    pub fn fields(&self) -> Vec<FieldNames> {
        let mut fields = match &self.settings.target {
            Target::Field(_) => vec![self.field.clone()],
            Target::Merge(prefix) => {
                self.settings.columns.iter().flatten().map(|column| vec![format!("{prefix}{column}")]).collect()
            }
        };
        if self.settings.tells_errors {
            fields.push(self.error.clone());
        }
        fields
    }

    /// The columns of an output whose records have these fields before they are joined; none where they are not known.
    #[must_use]
    pub fn header(&self, own: &[String]) -> Option<Vec<String>> {
        if matches!(self.settings.target, Target::Merge(_)) {
            self.settings.columns.as_ref()?;
        }
        let mut header = own.to_vec();
        for mut names in self.fields() {
            let name = names.swap_remove(0);
            if !header.contains(&name) {
                header.push(name);
            }
        }
        Some(header)
    }

    /// The columns of an output whose records have these when they are joined and did not fail.
    #[must_use]
    pub fn header_of_errors(&self, mut joined: Vec<String>) -> Vec<String> {
        if self.settings.tells_errors && !joined.contains(&self.error[0]) {
            joined.push(self.error[0].clone());
        }
        joined
    }

    /// Two fields that it sets and that have one name.
    #[must_use]
    pub fn twice(&self) -> Option<String> {
        let fields = self.fields();
        let twice = (1..fields.len()).find(|&place| fields[..place].contains(&fields[place]))?;
        fields[twice].last().cloned()
    }

    /// How many lines a joined record is written as.
    #[must_use]
    pub fn lines(&self, joined: &JoinedRow<'_>) -> usize {
        match self.settings.rows {
            RowsShape::Each if !failed(joined) => joined.rows().len().max(1),
            _ => 1,
        }
    }

    /// Whether all of its fields are known from this record on.
    #[must_use]
    pub fn shows_columns(&self, joined: &JoinedRow<'_>) -> bool {
        !matches!(self.settings.target, Target::Merge(_))
            || self.settings.columns.is_some()
            || joined.outcome == Outcome::Found
    }

    /// Appends line `line` of a joined record to `out`, without a line break.
    ///
    /// A record whose lookup failed or timed out has no rows, like a miss, and one more field that
    /// says why: the target's name with `_error`, or the prefix with `error`. What the record has of its own stays where
    /// nothing was found.
    ///
    /// # Errors
    ///
    /// [`BadRow`] where a row is to be taken apart and is no JSON object, or has a field that the record has.
    pub fn write(&self, joined: &JoinedRow<'_>, line: usize, out: &mut Vec<u8>) -> Result<(), BadRow> {
        let failed = failed(joined);
        let mut rows = joined.rows().filter(|_| !failed);
        let mut object = Object::begin(joined.payload, self.settings.overwrites, out);
        match (&self.settings.target, self.settings.rows) {
            (Target::Field(_), RowsShape::All) => {
                let rows = rows.map(|row| self.selected(row, joined)).collect::<Result<Vec<_>, _>>()?;
                let rows = [b"[", rows.join(&b","[..]).as_slice(), b"]"].concat();
                self.set(&mut object, &self.field, joined.outcome == Outcome::Found, &rows);
            }
            (Target::Field(_), _) => {
                let row = rows.nth(line).map(|row| self.selected(row, joined)).transpose()?;
                self.set(&mut object, &self.field, row.is_some(), row.as_deref().unwrap_or(b"null"));
            }
            (Target::Merge(prefix), _) => self.merge(prefix, rows.nth(line), joined, &mut object)?,
        }
        if failed {
            object.set(&self.error, error(joined).as_bytes());
        }
        object.end();
        Ok(())
    }

    /// Sets a field; where nothing was found, the record's own stays.
    fn set(&self, object: &mut Object<'_>, names: &[String], is_found: bool, value: &[u8]) {
        if is_found || !(self.settings.overwrites && object.has(names)) {
            object.set(names, value);
        }
    }

    /// A row with the wanted fields alone, where only some are wanted.
    fn selected<'r>(&self, row: &'r [u8], joined: &JoinedRow<'_>) -> Result<std::borrow::Cow<'r, [u8]>, BadRow> {
        let Some(columns) = self.settings.columns.as_ref().filter(|_| self.settings.selects) else {
            return Ok(row.into());
        };
        let fields = fields_of(row, joined)?;
        let value = |column: &String| {
            let field = fields.iter().rev().find(|(name, _)| name == column);
            field.map_or_else(|| "null".to_owned(), |(_, value)| value.get().to_owned())
        };
        let object = json::object(columns.iter().map(|column| (column.as_str(), value(column))));
        Ok(object.into_bytes().into())
    }

    fn merge(
        &self,
        prefix: &str,
        row: Option<&[u8]>,
        joined: &JoinedRow<'_>,
        object: &mut Object<'_>,
    ) -> Result<(), BadRow> {
        let fields = fields_of(row.unwrap_or(b"{}"), joined)?;
        let wanted =
            |name: &str| !self.settings.selects || self.settings.columns.iter().flatten().any(|column| column == name);
        let mut set = BTreeSet::new();
        for (place, (name, value)) in fields.iter().enumerate().filter(|(_, (name, _))| wanted(name)) {
            set.insert(name.as_ref());
            // Of equal names the last counts.
            if fields[place + 1..].iter().any(|(later, _)| later == name) {
                continue;
            }
            let name = [format!("{prefix}{name}")];
            // Columns that are known were looked for when the record was read.
            if !self.settings.overwrites && self.settings.columns.is_none() && object.has(&name) {
                let [field] = name;
                return Err(BadRow::Collides { key: key_of(joined), field });
            }
            object.set(&name, value.get().as_bytes());
        }
        for column in self.settings.columns.iter().flatten().filter(|column| !set.contains(column.as_str())) {
            self.set(object, &[format!("{prefix}{column}")], false, b"null");
        }
        Ok(())
    }
}

/// The names that lead to a field, from the record's own on; at least one.
pub type FieldNames = Vec<String>;

fn failed(joined: &JoinedRow<'_>) -> bool {
    matches!(joined.outcome, Outcome::Failed | Outcome::TimedOut)
}

fn key_of(joined: &JoinedRow<'_>) -> String {
    joined.key.map_or_else(String::new, |key| String::from_utf8_lossy(key).into_owned())
}

fn fields_of<'r>(row: &'r [u8], joined: &JoinedRow<'_>) -> Result<Vec<Field<'r>>, BadRow> {
    let bad = |reason: String| BadRow::NoObject { key: key_of(joined), reason };
    let row = std::str::from_utf8(row).map_err(|error| bad(error.to_string()))?;
    all_fields(row).map_err(|error| bad(error.to_string()))
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

    fn lines(settings: &ShapeSettings, payload: &'static str, outcome: Outcome, rows: Rows) -> Vec<String> {
        let shape = Shape::new(settings.clone());
        let joined = JoinedRecord { record: Record::new("k", payload), outcome, rows, attempts: 2 };
        let mut outputs = OutputBatchBuilder::default();
        outputs.push(&Element::Joined(joined));
        let outputs = outputs.build();
        let joined = outputs.joined().next().unwrap();
        let line = |line| {
            let mut out = Vec::new();
            match shape.write(&joined, line, &mut out) {
                Ok(()) => String::from_utf8(out).unwrap(),
                Err(error) => error.to_string(),
            }
        };
        (0..shape.lines(&joined)).map(line).collect()
    }

    fn write(shape: &ShapeSettings, payload: &'static str, outcome: Outcome, rows: Rows) -> String {
        lines(shape, payload, outcome, rows).remove(0)
    }

    fn shape(target: Target, rows: RowsShape) -> ShapeSettings {
        let columns = Some(vec!["x".into(), "y".into()]);
        ShapeSettings { target, rows, columns, selects: false, overwrites: false, tells_errors: true }
    }

    fn field(path: &str) -> Target {
        Target::Field(path.parse().unwrap())
    }

    fn two() -> Rows {
        Rows::from_iter([r#"{"x":1.10}"#.into(), "{}".into()])
    }

    #[test]
    fn rows_nest_in_a_field() {
        let first = shape(field("t"), RowsShape::First);
        let all = shape(field("t"), RowsShape::All);
        assert_eq!(write(&first, r#"{"a":1}"#, Outcome::Found, two()), r#"{"a":1,"t":{"x":1.10}}"#);
        assert_eq!(write(&all, r#"{ "a": 1 } "#, Outcome::Found, two()), r#"{ "a": 1,"t":[{"x":1.10},{}]}"#);
        assert_eq!(write(&first, "{}", Outcome::Missing, Rows::None), r#"{"t":null}"#);
        assert_eq!(write(&all, "{ }", Outcome::Missing, Rows::None), r#"{"t":[]}"#);
    }

    #[test]
    fn each_row_may_be_a_record() {
        let each = shape(field("t"), RowsShape::Each);
        assert_eq!(
            lines(&each, r#"{"a":1}"#, Outcome::Found, two()),
            [r#"{"a":1,"t":{"x":1.10}}"#, r#"{"a":1,"t":{}}"#]
        );
        assert_eq!(lines(&each, r#"{"a":1}"#, Outcome::Missing, Rows::None), [r#"{"a":1,"t":null}"#]);
        let merge = shape(Target::Merge("t_".into()), RowsShape::Each);
        assert_eq!(
            lines(&merge, r#"{"a":1}"#, Outcome::Found, two()),
            [r#"{"a":1,"t_x":1.10,"t_y":null}"#, r#"{"a":1,"t_x":null,"t_y":null}"#]
        );
    }

    #[test]
    fn a_path_leads_into_the_records_own_objects() {
        let nested = shape(field("u.t"), RowsShape::First);
        let row = || Rows::from(r#"{"x":1}"#);
        assert_eq!(write(&nested, r#"{"a":1}"#, Outcome::Found, row()), r#"{"a":1,"u":{"t":{"x":1}}}"#);
        assert_eq!(
            write(&nested, r#"{"u": {"n": 1.10 }, "a":1}"#, Outcome::Found, row()),
            r#"{"u": {"n": 1.10,"t":{"x":1}}, "a":1}"#
        );
        assert_eq!(write(&nested, r#"{"u":{}}"#, Outcome::Found, row()), r#"{"u":{"t":{"x":1}}}"#);
        let literal = shape(field("\"u.t\""), RowsShape::First);
        assert_eq!(write(&literal, r#"{"u":{}}"#, Outcome::Found, row()), r#"{"u":{},"u.t":{"x":1}}"#);
    }

    #[test]
    fn a_rows_fields_merge_behind_a_prefix() {
        let merge = shape(Target::Merge("t_".into()), RowsShape::First);
        assert_eq!(
            write(&merge, r#"{"a":1}"#, Outcome::Found, Rows::from(r#"{"y":"\u00e9"}"#)),
            r#"{"a":1,"t_y":"\u00e9","t_x":null}"#
        );
        assert_eq!(write(&merge, r#"{"a":1}"#, Outcome::Missing, Rows::None), r#"{"a":1,"t_x":null,"t_y":null}"#);
        assert_eq!(
            write(&merge, "{}", Outcome::Found, Rows::from(r#"{"y":1,"y":2,"x":3}"#)),
            r#"{"t_y":2,"t_x":3}"#,
            "of equal names the last counts"
        );
    }

    #[test]
    fn the_records_own_fields_stay_where_nothing_was_found() {
        let merge = ShapeSettings { overwrites: true, ..shape(Target::Merge(String::new()), RowsShape::First) };
        let record = r#"{"x":"mine","a":1}"#;
        assert_eq!(write(&merge, record, Outcome::Missing, Rows::None), r#"{"x":"mine","a":1,"y":null}"#);
        assert_eq!(
            write(&merge, record, Outcome::Found, Rows::from(r#"{"x":"theirs"}"#)),
            r#"{"a":1,"x":"theirs","y":null}"#
        );
        let first = ShapeSettings { overwrites: true, ..shape(field("x"), RowsShape::First) };
        assert_eq!(write(&first, record, Outcome::Missing, Rows::None), record);
        assert_eq!(write(&first, record, Outcome::Found, Rows::from("{}")), r#"{"a":1,"x":{}}"#);
        let unknown = ShapeSettings { columns: None, ..shape(Target::Merge(String::new()), RowsShape::First) };
        let error = write(&unknown, record, Outcome::Found, Rows::from(r#"{"x":1}"#));
        assert!(error.contains("has the field `x`, which the record has, too"), "{error}");
    }

    #[test]
    fn only_the_wanted_fields_are_taken() {
        let some =
            |target, rows| ShapeSettings { selects: true, columns: Some(vec!["x".into()]), ..shape(target, rows) };
        let row = || Rows::from(r#"{"z":0,"x":1.10}"#);
        assert_eq!(write(&some(field("t"), RowsShape::First), "{}", Outcome::Found, row()), r#"{"t":{"x":1.10}}"#);
        assert_eq!(write(&some(field("t"), RowsShape::All), "{}", Outcome::Found, row()), r#"{"t":[{"x":1.10}]}"#);
        assert_eq!(
            write(&some(Target::Merge("t_".into()), RowsShape::First), "{}", Outcome::Found, row()),
            r#"{"t_x":1.10}"#
        );
        assert_eq!(
            write(&some(field("t"), RowsShape::First), "{}", Outcome::Found, Rows::from("{}")),
            r#"{"t":{"x":null}}"#
        );
    }

    #[test]
    fn a_failure_is_never_shown_as_a_miss() {
        let first = shape(field("t"), RowsShape::First);
        assert_eq!(
            write(&first, r#"{"a":1}"#, Outcome::TimedOut, Rows::from("no answer within 5 ms")),
            r#"{"a":1,"t":null,"t_error":{"outcome":"timed out","attempts":2,"message":"no answer within 5 ms"}}"#
        );
    }

    #[test]
    fn what_it_sets_is_known_before() {
        let merge = shape(Target::Merge("t_".into()), RowsShape::First);
        assert_eq!(Shape::new(merge.clone()).header(&["a".into()]).unwrap(), ["a", "t_x", "t_y", "t_error"]);
        assert_eq!(Shape::new(merge.clone()).twice(), None);
        let error = ShapeSettings { columns: Some(vec!["error".into()]), ..merge.clone() };
        assert_eq!(Shape::new(error.clone()).twice().as_deref(), Some("t_error"));
        assert_eq!(Shape::new(ShapeSettings { tells_errors: false, ..error }).twice(), None);
        assert_eq!(Shape::new(ShapeSettings { columns: None, ..merge }).header(&[]), None);
    }
}
