//! Lookups in a SQLite database.
//!
//! One thread owns the connection, opened for reading only, and answers one batch after another.
//! Types stay: integers and reals are numbers, texts are texts, blobs are base64 texts. Keys match
//! by SQLite's own rules, so a column's affinity decides whether `7` and `'7'` are equal.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{Sender, channel},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures::future::BoxFuture;
use lookaside_core::{FailureKind, LookupError, Rows};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Statement, ToSql, params_from_iter, types::ValueRef};

use super::{KeyValue, LookupBatch, LookupProvider, read_key};
use crate::json;

/// Which rows a key finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The rows of a table whose columns have the key's values.
    Table {
        /// The table's or view's name.
        table: String,
        /// One column a value of the key.
        key_columns: Vec<String>,
    },
    /// The rows of a query with one parameter, `?`, a value of the key.
    Query(String),
}

/// A database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// It cannot be opened.
    #[error("cannot open the database {}: {reason}", .path.display())]
    Unreachable {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The selection does not fit the database or the key.
    #[error("the lookup in {} cannot be made: {reason}", .path.display())]
    BadSelection {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A database that answers lookups.
#[derive(Debug)]
pub struct Sqlite {
    batches: Sender<LookupBatch>,
    columns: Vec<String>,
}

impl Sqlite {
    /// Opens the database in `path`, for keys of `key_values` values.
    ///
    /// # Errors
    ///
    /// [`SqliteError`] where it cannot be opened, or the selection names what is not there.
    pub fn open(path: &Path, selection: &Selection, key_values: usize) -> Result<Self, SqliteError> {
        let unreachable =
            |error: rusqlite::Error| SqliteError::Unreachable { path: path.to_owned(), reason: error.to_string() };
        let bad = |reason: String| SqliteError::BadSelection { path: path.to_owned(), reason };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(unreachable)?;
        // A file that is no database shows only when it is first read.
        connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(())).map_err(unreachable)?;
        let sql = selection.sql();
        let columns = {
            let statement = connection.prepare(&sql).map_err(|error| bad(error.to_string()))?;
            if !statement.readonly() {
                return Err(bad("the query changes the database".into()));
            }
            if statement.parameter_count() != key_values {
                let parameters = statement.parameter_count();
                return Err(bad(format!("the query has {parameters} parameters and the key has {key_values} values")));
            }
            statement.column_names().map(str::to_owned).collect::<Vec<String>>()
        };
        let (batches, waiting) = channel::<LookupBatch>();
        let rows_columns = columns.clone();
        std::thread::Builder::new()
            .name("lookaside-sqlite".into())
            .spawn(move || {
                for batch in waiting {
                    answer(&connection, &sql, &rows_columns, batch);
                }
            })
            .map_err(|error| bad(format!("no thread for it: {error}")))?;
        Ok(Self { batches, columns })
    }
}

impl Selection {
    fn sql(&self) -> String {
        match self {
            Self::Query(sql) => sql.clone(),
            Self::Table { table, key_columns } => {
                let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
                let conditions: Vec<String> =
                    key_columns.iter().map(|column| format!("k.{} = ?", quoted(column))).collect();
                format!("select * from {} as k where {}", quoted(table), conditions.join(" and "))
            }
        }
    }
}

impl LookupProvider for Sqlite {
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        // Where the thread is gone, the batch comes back and its lookups answer that they failed.
        drop(self.batches.send(batch));
        Box::pin(std::future::ready(()))
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }
}

/// Answers a batch with one prepared statement, run for each key.
fn answer(connection: &Connection, sql: &str, columns: &[String], batch: LookupBatch) {
    match connection.prepare_cached(sql) {
        Ok(mut statement) => batch.answer_all(|lookup| find(&mut statement, columns, lookup.key())),
        Err(error) => batch.answer_all(|_| Err(failure(&error))),
    }
}

fn find(statement: &mut Statement<'_>, columns: &[String], key: &[u8]) -> Result<Rows, LookupError> {
    let values = read_key(key)?;
    let parameters = values.iter().map(parameter);
    let rows = statement
        .query_map(params_from_iter(parameters), |row| to_json(row, columns))
        .map_err(|error| failure(&error))?;
    rows.collect::<Result<Rows, rusqlite::Error>>().map_err(|error| failure(&error))
}

/// A value of the key as SQLite compares it: whole numbers as integers where they fit.
fn parameter(value: &KeyValue) -> Box<dyn ToSql> {
    match value {
        KeyValue::Boolean(value) => Box::new(*value),
        KeyValue::Text(text) => Box::new(text.clone()),
        KeyValue::Number(digits) => match (digits.parse::<i64>(), digits.parse::<f64>()) {
            (Ok(integer), _) => Box::new(integer),
            (Err(_), Ok(real)) if digits.contains(['.', 'e', 'E']) => Box::new(real),
            // Too long for any number here: as a text it still equals the same digits.
            _ => Box::new(digits.clone()),
        },
    }
}

fn to_json(row: &Row<'_>, columns: &[String]) -> rusqlite::Result<Bytes> {
    let mut fields = Vec::with_capacity(columns.len());
    for (number, name) in columns.iter().enumerate() {
        let value = match row.get_ref(number)? {
            ValueRef::Null => "null".to_owned(),
            ValueRef::Integer(integer) => integer.to_string(),
            // JSON has no infinite numbers.
            ValueRef::Real(real) => {
                serde_json::Number::from_f64(real).map_or("null".to_owned(), |real| real.to_string())
            }
            ValueRef::Text(text) => json::text(&String::from_utf8_lossy(text)),
            ValueRef::Blob(blob) => json::text(&STANDARD.encode(blob)),
        };
        fields.push((name.as_str(), value));
    }
    Ok(json::object(fields.into_iter()).into())
}

fn failure(error: &rusqlite::Error) -> LookupError {
    let kind = match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen,
        ) => FailureKind::Unavailable,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FailureKind::Malformed,
        _ => FailureKind::Rejected,
    };
    LookupError::new(kind, error.to_string())
}
