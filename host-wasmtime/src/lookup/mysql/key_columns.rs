//! The columns of a table that keys are compared with.

use lookaside_core::LookupError;
use sqlx::{
    AssertSqlSafe, Column, Row, TypeInfo,
    mysql::{MySqlColumn, MySqlConnection},
};

use crate::lookup::{
    KeyValue,
    sql::{key_types, quoted, quoted_part},
};

/// A column that a value of the key is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyColumn {
    pub(super) name: String,
    kind: KeyColumnKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyColumnKind {
    /// Whole numbers, between the least and the most.
    Whole(i128, i128),
    Decimal,
    Float,
    DateTime,
    /// Texts, compared by this character set and collation.
    Text(String, String),
    Binary,
    /// Others are compared as texts by the database's own rules.
    Other,
}

impl KeyColumn {
    /// What the database says of the columns `names` of `table`, all of whose columns are `described`; the names that it lacks
    /// are left out.
    ///
    /// The information schema would say the same, but in a temporary table with long texts, at whose end MariaDB 10.11 may crash.
    pub(super) async fn of_table(
        connection: &mut MySqlConnection,
        table: &[String],
        described: &[MySqlColumn],
        names: &[String],
    ) -> Result<Vec<Self>, sqlx::Error> {
        let is_named = |wanted: &String, column: &&MySqlColumn| column.name().eq_ignore_ascii_case(wanted);
        let found: Vec<&MySqlColumn> =
            names.iter().filter_map(|wanted| described.iter().find(|column| is_named(wanted, column))).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let column = |column: &&MySqlColumn| {
            let name = quoted_part(column.name(), '`');
            format!("cast(charset(t.{name}) as char), cast(collation(t.{name}) as char)")
        };
        let asked: Vec<String> = found.iter().map(column).collect();
        // One row, whether the table has any or none.
        let sql = format!(
            "select {} from (select 1) as one left join {} as t on 1 = 0",
            asked.join(", "),
            quoted(table, '`')
        );
        let row = sqlx::query(AssertSqlSafe(sql)).fetch_one(connection).await?;
        let mut columns = Vec::with_capacity(found.len());
        for (number, column) in found.into_iter().enumerate() {
            let (set, collation) = (row.try_get_unchecked(2 * number)?, row.try_get_unchecked(2 * number + 1)?);
            let kind = KeyColumnKind::new(column.type_info().name(), set, collation);
            columns.push(Self { name: column.name().to_owned(), kind });
        }
        Ok(columns)
    }

    /// Its type in the table that the keys make.
    ///
    /// Texts are long ones whatever the column's length: a shorter type would cut a key, which then
    /// finds the row of another.
    pub(super) fn sql_type(&self) -> String {
        match &self.kind {
            KeyColumnKind::Whole(least, _) if *least < 0 => "bigint".into(),
            KeyColumnKind::Whole(..) => "bigint unsigned".into(),
            KeyColumnKind::Decimal => "decimal(65,30)".into(),
            KeyColumnKind::Float => "double".into(),
            KeyColumnKind::DateTime => "datetime(6)".into(),
            KeyColumnKind::Text(set, collation) => format!("longtext character set {set} collate {collation}"),
            KeyColumnKind::Binary => "longtext character set utf8mb4 collate utf8mb4_bin".into(),
            KeyColumnKind::Other => "longtext character set utf8mb4".into(),
        }
    }

    /// The value as it is compared; none where no row can have it.
    pub(super) fn value(&self, value: KeyValue) -> Result<Option<KeyValue>, LookupError> {
        Ok(match &self.kind {
            KeyColumnKind::Whole(least, most) => {
                key_types::whole_number(&value, *least, *most, "whole number")?.map(KeyValue::Number)
            }
            KeyColumnKind::Decimal => decimal(&key_types::number(&value, "decimal")?),
            KeyColumnKind::Float => Some(KeyValue::Text(key_types::number(&value, "number")?)),
            KeyColumnKind::DateTime => {
                let time = date_time(&value.plain()).ok_or_else(|| key_types::mismatch(&value, "date or time"))?;
                Some(KeyValue::Text(time))
            }
            KeyColumnKind::Text(..) | KeyColumnKind::Binary | KeyColumnKind::Other => {
                Some(KeyValue::Text(value.plain()))
            }
        })
    }
}

impl KeyColumnKind {
    /// As the protocol names a type, and with the character set and the collation that its values are compared by.
    fn new(type_name: &str, set: Option<String>, collation: Option<String>) -> Self {
        let (name, is_unsigned) = match type_name.strip_suffix(" UNSIGNED") {
            Some(name) => (name, true),
            None => (type_name, false),
        };
        let whole = |bits: u32| match is_unsigned {
            true => Self::Whole(0, (1 << bits) - 1),
            false => Self::Whole(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        };
        match (name, set, collation) {
            ("BOOLEAN" | "TINYINT", ..) => whole(8),
            ("SMALLINT", ..) => whole(16),
            ("MEDIUMINT", ..) => whole(24),
            ("INT", ..) => whole(32),
            ("BIGINT", ..) => whole(64),
            ("YEAR", ..) => Self::Whole(0, 9999),
            ("DECIMAL", ..) => Self::Decimal,
            ("FLOAT" | "DOUBLE", ..) => Self::Float,
            ("DATE" | "DATETIME" | "TIMESTAMP", ..) => Self::DateTime,
            ("TIME" | "BIT" | "JSON" | "GEOMETRY" | "NULL", ..) => Self::Other,
            (_, Some(set), Some(collation)) if set != "binary" => Self::Text(set, collation),
            ("BINARY" | "VARBINARY" | "TINYBLOB" | "BLOB" | "MEDIUMBLOB" | "LONGBLOB", ..) => Self::Binary,
            _ => Self::Other,
        }
    }
}

/// A decimal that the comparison does not round; none where no column holds as many digits.
fn decimal(text: &str) -> Option<KeyValue> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches(['-', '+']).trim_start_matches('0');
    let fits = exponent.is_empty() && whole.len() <= 35 && fraction.trim_end_matches('0').len() <= 30;
    fits.then(|| KeyValue::Text(text.to_owned()))
}

/// A date, a date and time, or an instant, which becomes UTC, as the database writes it.
fn date_time(text: &str) -> Option<String> {
    let written = |time: jiff::civil::DateTime| time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string();
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(written(jiff::tz::TimeZone::UTC.to_datetime(instant)));
    }
    text.parse::<jiff::civil::DateTime>().map(written).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_what_the_database_compares() {
        for (text, expected) in [
            ("2024-02-29", Some("2024-02-29 00:00:00.000000")),
            ("2024-02-29T12:30:00", Some("2024-02-29 12:30:00.000000")),
            ("2024-02-29 12:30:00.25", Some("2024-02-29 12:30:00.250000")),
            ("2024-02-29T12:30:00+02:00", Some("2024-02-29 10:30:00.000000")),
            ("2023-02-29", None),
            ("soon", None),
        ] {
            assert_eq!(date_time(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn decimals_are_never_rounded_into_another() {
        assert!(decimal("1.50").is_some());
        assert!(decimal(&format!("1.{}1", "0".repeat(30))).is_none());
        assert!(decimal(&format!("1.5{}", "0".repeat(40))).is_some());
        assert!(decimal(&"9".repeat(36)).is_none());
    }
}
