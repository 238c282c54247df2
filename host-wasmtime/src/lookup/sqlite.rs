//! Lookups in a SQLite database.
//!
//! One thread owns the connection, opened for reading only, and answers one batch after another.
//! Types stay: integers and reals are numbers, texts are texts, blobs are base64 texts. Keys match
//! by SQLite's own rules, so a column's affinity decides whether `7` and `'7'` are equal.

use std::{
    io::Write as _,
    path::Path,
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures::future::BoxFuture;
use lookaside_core::{FailureKind, LookupError, Rows};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Statement, ToSql, params_from_iter, types::ValueRef};

use super::{
    KeyValue, Limits, LookupBatch, LookupProvider, OpenError, Selection, Setting, Settings, limits,
    open::{Errors, file},
    read_key, remote,
    sql::{Find, check_columns, check_parameters, quoted, quoted_part},
};
use crate::json;

/// What may be set in the address.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "busy-timeout",
        value: "DURATION",
        default: "5s",
        meaning: "how long a lookup waits for another program that writes",
    },
    Setting { name: "cache", value: "SIZE", default: "64M", meaning: "memory for pages of the file at most" },
];

/// A database that answers lookups.
#[derive(Debug)]
pub(crate) struct Sqlite {
    batches: Sender<LookupBatch>,
    columns: Vec<String>,
}

/// Opens the database at `address`.
pub(crate) fn open(address: &str, selection: &Selection) -> Result<Sqlite, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    let path = file(address)?;
    let name = path.to_str().ok_or_else(|| errors.address("the path is no UTF-8 text"))?;
    let (path, settings) = name.split_once('?').unwrap_or((name, ""));
    let settings = Settings::parse(settings, &[SETTINGS, limits::SETTINGS]).map_err(bad)?;
    let limits = Limits::new(&settings).map_err(bad)?;
    let busy = settings.duration("busy-timeout", Duration::from_secs(5)).map_err(bad)?;
    let cache = settings.bytes("cache", 64 << 20).map_err(bad)?;
    let sql = sql(&Find::new(selection, &errors)?);

    let unreachable = |error: rusqlite::Error| errors.unreachable(error.to_string());
    let refused = |error: rusqlite::Error| errors.selection(error.to_string());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(Path::new(path), flags).map_err(unreachable)?;
    connection.busy_timeout(busy).map_err(unreachable)?;
    // Less than 0 means KiB, and not pages.
    connection
        .pragma_update(None, "cache_size", -i64::try_from(cache >> 10).unwrap_or(i64::MAX))
        .map_err(unreachable)?;
    // A file that is no database shows only when it is first read.
    connection.query_row("select count(*) from sqlite_schema", [], |_| Ok(())).map_err(unreachable)?;
    let columns = {
        let statement = connection.prepare(&sql).map_err(refused)?;
        if !statement.readonly() {
            return Err(errors.selection("the query changes the database"));
        }
        check_parameters(statement.parameter_count(), selection.key_columns.len(), &errors)?;
        statement.column_names().map(str::to_owned).collect::<Vec<String>>()
    };
    check_columns(&columns, &errors)?;
    let (batches, waiting) = channel::<LookupBatch>();
    let names = columns.iter().map(|name| json::text(name)).collect();
    let backend = Backend { connection, sql, names, limits, name: address_without_settings(address) };
    std::thread::Builder::new()
        .name("lookaside-sqlite".into())
        .spawn(move || {
            for batch in waiting {
                backend.answer(batch);
            }
        })
        .map_err(|error| errors.unreachable(format!("no thread for it: {error}")))?;
    Ok(Sqlite { batches, columns })
}

fn address_without_settings(address: &str) -> String {
    address.split('?').next().unwrap_or_default().to_owned()
}

fn sql(find: &Find) -> String {
    match find {
        Find::Query(sql) => sql.clone(),
        Find::Table { name, key_columns } => {
            let conditions: Vec<String> =
                key_columns.iter().map(|column| format!("k.{} = ?", quoted_part(column, '"'))).collect();
            format!("select * from {} as k where {}", quoted(name, '"'), conditions.join(" and "))
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

/// What the thread that answers owns.
struct Backend {
    connection: Connection,
    sql: String,
    /// The columns' names as JSON.
    names: Vec<String>,
    limits: Limits,
    name: String,
}

impl Backend {
    /// Answers a batch with one prepared statement, run for each key.
    fn answer(&self, batch: LookupBatch) {
        // One transaction locks the file once, and not once a key. It begins with the first key that
        // is looked up, so that one that cannot begin shows there.
        let _transaction = self.connection.unchecked_transaction();
        let named = |error: LookupError, key: &[u8]| remote::named(&self.name, error, key);
        match self.connection.prepare_cached(&self.sql) {
            Ok(mut statement) => {
                batch.answer_all(|asked| self.find(&mut statement, asked.key).map_err(|error| named(error, asked.key)))
            }
            Err(error) => batch.answer_all(|asked| Err(named(failure(&error), asked.key))),
        }
    }

    fn find(&self, statement: &mut Statement<'_>, key: &[u8]) -> Result<Rows, LookupError> {
        let values = read_key(key)?;
        let parameters = values.iter().map(parameter);
        let rows = statement
            .query_map(params_from_iter(parameters), |row| to_json(row, &self.names))
            .map_err(|error| failure(&error))?;
        // One more than the limit tells that there are more.
        let rows = rows.take(self.limits.rows.saturating_add(1)).collect::<Result<Rows, rusqlite::Error>>();
        self.limits.apply(rows.map_err(|error| failure(&error))?)
    }
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

/// The row as a JSON object; `names` are the columns' names as JSON.
fn to_json(row: &Row<'_>, names: &[String]) -> rusqlite::Result<Bytes> {
    let mut json = Vec::with_capacity(128);
    for (number, name) in names.iter().enumerate() {
        json.push(if number == 0 { b'{' } else { b',' });
        json.extend_from_slice(name.as_bytes());
        json.push(b':');
        // Writing to memory does not fail.
        let _ = match row.get_ref(number)? {
            ValueRef::Null => json.write_all(b"null"),
            ValueRef::Integer(integer) => write!(json, "{integer}"),
            // JSON has no infinite numbers.
            ValueRef::Real(real) if !real.is_finite() => json.write_all(b"null"),
            ValueRef::Real(real) => serde_json::to_writer(&mut json, &real).map_err(Into::into),
            ValueRef::Text(text) => {
                serde_json::to_writer(&mut json, &String::from_utf8_lossy(text)).map_err(Into::into)
            }
            ValueRef::Blob(blob) => write!(json, "\"{}\"", STANDARD.encode(blob)),
        };
    }
    json.push(b'}');
    Ok(json.into())
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
