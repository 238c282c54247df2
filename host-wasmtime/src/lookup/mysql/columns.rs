//! The columns of a row, as JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sqlx::{
    Column, Row, Type, TypeInfo,
    mysql::{MySqlColumn, MySqlRow},
};

use crate::{json, lookup::sql::quoted_part};

/// A column that is asked for.
#[derive(Debug)]
pub(super) struct RowColumn {
    pub(super) name: String,
    kind: ColumnKind,
}

/// How a column's values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    /// A signed whole number, as its digits.
    Signed,
    /// An unsigned one.
    Unsigned,
    /// `tinyint(1)`, which is what `boolean` makes: 0 is false, 1 is true, and others are numbers.
    Boolean,
    Float,
    Double,
    Text,
    /// A text that the database made of a decimal or a time.
    Exact,
    /// A text with date and time, which becomes ISO 8601.
    DateTime,
    /// As [`DateTime`](Self::DateTime), in UTC, which connections are set to.
    Timestamp,
    /// A text that is JSON.
    Json,
    Binary,
}

impl RowColumn {
    /// `json` names the columns of texts that are JSON.
    pub(super) fn new(column: &MySqlColumn, json: &[&str]) -> Self {
        let info = column.type_info();
        let is_text = <str as Type<sqlx::MySql>>::compatible(info);
        let kind = match info.name() {
            "BOOLEAN" => ColumnKind::Boolean,
            "BIT" | "YEAR" => ColumnKind::Unsigned,
            "FLOAT" => ColumnKind::Float,
            "DOUBLE" => ColumnKind::Double,
            "DECIMAL" | "DATE" | "TIME" => ColumnKind::Exact,
            "DATETIME" => ColumnKind::DateTime,
            "TIMESTAMP" => ColumnKind::Timestamp,
            "JSON" => ColumnKind::Json,
            name if name.ends_with(" UNSIGNED") => ColumnKind::Unsigned,
            "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => ColumnKind::Signed,
            _ if is_text && json.contains(&column.name()) => ColumnKind::Json,
            "ENUM" | "SET" | "NULL" => ColumnKind::Text,
            _ if is_text => ColumnKind::Text,
            _ => ColumnKind::Binary,
        };
        Self { name: column.name().to_owned(), kind }
    }

    /// What stands in the statement for it, where its rows are called `q`.
    pub(super) fn sql(&self) -> String {
        let name = quoted_part(&self.name, '`');
        match self.kind {
            ColumnKind::Exact | ColumnKind::DateTime | ColumnKind::Timestamp | ColumnKind::Json => {
                format!("cast(q.{name} as char) as {name}")
            }
            ColumnKind::Unsigned => format!("cast(q.{name} as unsigned) as {name}"),
            _ => format!("q.{name}"),
        }
    }

    /// Its value in `row`, as JSON.
    pub(super) fn json(&self, row: &MySqlRow, place: usize) -> Result<String, sqlx::Error> {
        Ok(match self.kind {
            ColumnKind::Signed => number(row.try_get_unchecked::<Option<i64>, _>(place)?),
            ColumnKind::Unsigned => number(row.try_get_unchecked::<Option<u64>, _>(place)?),
            ColumnKind::Float => number(row.try_get_unchecked::<Option<f32>, _>(place)?),
            ColumnKind::Double => number(row.try_get_unchecked::<Option<f64>, _>(place)?),
            ColumnKind::Boolean => match row.try_get_unchecked::<Option<i64>, _>(place)? {
                Some(0) => "false".into(),
                Some(1) => "true".into(),
                other => number(other),
            },
            ColumnKind::Text | ColumnKind::Exact => text(row.try_get_unchecked(place)?, json::text),
            ColumnKind::DateTime => text(row.try_get_unchecked(place)?, |time| json::text(&time.replacen(' ', "T", 1))),
            ColumnKind::Timestamp => {
                text(row.try_get_unchecked(place)?, |time| json::text(&(time.replacen(' ', "T", 1) + "Z")))
            }
            ColumnKind::Json => text(row.try_get_unchecked(place)?, |value| {
                match serde_json::from_str::<serde::de::IgnoredAny>(value) {
                    Ok(_) => json::on_one_line(value).into_owned(),
                    // The database did not check it: what is no JSON stays a text.
                    Err(_) => json::text(value),
                }
            }),
            ColumnKind::Binary => {
                let bytes: Option<&[u8]> = row.try_get_unchecked(place)?;
                bytes.map_or_else(|| "null".into(), |bytes| json::text(&STANDARD.encode(bytes)))
            }
        })
    }
}

fn number<T: ToString>(number: Option<T>) -> String {
    number.map_or_else(|| "null".into(), |number| number.to_string())
}

fn text(text: Option<&str>, write: impl Fn(&str) -> String) -> String {
    text.map_or_else(|| "null".into(), write)
}
