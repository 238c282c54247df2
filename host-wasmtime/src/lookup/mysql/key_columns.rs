//! The columns of a table that keys are compared with.

use lookaside_core::LookupError;
use sqlx::{AssertSqlSafe, Row, mysql::MySqlConnection};

use crate::lookup::{KeyValue, sql::key_types};

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
    /// What the database says of the columns `names` of `table`; the names that it lacks are left out.
    pub(super) async fn of_table(
        connection: &mut MySqlConnection,
        table: &[String],
        names: &[String],
    ) -> Result<Vec<Self>, sqlx::Error> {
        const SQL: &str = "select cast(column_name as char), cast(column_type as char), cast(data_type as char), \
            cast(character_set_name as char), cast(collation_name as char) \
            from information_schema.columns where table_name = ? and table_schema = ifnull(?, database())";
        let (name, schema) = match table {
            [schema, name] => (name, Some(schema)),
            [.., name] => (name, None),
            [] => return Ok(Vec::new()),
        };
        let rows = sqlx::query(AssertSqlSafe(SQL)).bind(name).bind(schema).fetch_all(connection).await?;
        let mut columns = Vec::new();
        for wanted in names {
            for row in &rows {
                let name: String = row.try_get_unchecked(0)?;
                if name.eq_ignore_ascii_case(wanted) {
                    let kind = KeyColumnKind::new(
                        &row.try_get_unchecked::<String, _>(1)?.to_ascii_lowercase(),
                        &row.try_get_unchecked::<String, _>(2)?.to_ascii_lowercase(),
                        row.try_get_unchecked(3)?,
                        row.try_get_unchecked(4)?,
                    );
                    columns.push(Self { name, kind });
                }
            }
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
    fn new(column_type: &str, data_type: &str, set: Option<String>, collation: Option<String>) -> Self {
        let whole = |bits: u32| match column_type.contains("unsigned") {
            true => Self::Whole(0, (1 << bits) - 1),
            false => Self::Whole(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        };
        match (data_type, set, collation) {
            ("tinyint", ..) => whole(8),
            ("smallint", ..) => whole(16),
            ("mediumint", ..) => whole(24),
            ("int", ..) => whole(32),
            ("bigint", ..) => whole(64),
            ("year", ..) => Self::Whole(0, 9999),
            ("decimal", ..) => Self::Decimal,
            ("float" | "double", ..) => Self::Float,
            ("date" | "datetime" | "timestamp", ..) => Self::DateTime,
            (_, Some(set), Some(collation)) => Self::Text(set, collation),
            ("binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob", ..) => Self::Binary,
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
