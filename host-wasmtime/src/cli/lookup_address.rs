//! Where to look up, as one word.

use std::{path::PathBuf, str::FromStr, sync::Arc};

use super::{arguments::LookupArguments, exit::CliError};
use crate::{
    LookupProvider,
    lookup::{
        WithLatency,
        sqlite::{Selection, Sqlite, SqliteError},
        table::{Table, TableError, TableFormat},
    },
};

/// A backend and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookupAddress {
    /// A file that is read into memory.
    Table(TableFormat, PathBuf),
    /// A database in a file.
    Sqlite(PathBuf),
}

impl FromStr for LookupAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        if rest.is_empty() {
            return Err(format!("`{text}` names no file; write {scheme}:FILE"));
        }
        let path = PathBuf::from(rest);
        match scheme {
            "csv" => Ok(Self::Table(TableFormat::Delimited(b','), path)),
            "tsv" => Ok(Self::Table(TableFormat::Delimited(b'\t'), path)),
            "json" | "ndjson" => Ok(Self::Table(TableFormat::Json, path)),
            "sqlite" => Ok(Self::Sqlite(path)),
            "" => Err(format!("`{text}` says no backend; write csv:{text}, tsv:, json: or sqlite:")),
            _ => Err(format!("`{scheme}` is no backend; there are csv:FILE, tsv:FILE, json:FILE and sqlite:FILE")),
        }
    }
}

/// Opens the backend that the arguments name.
pub(super) fn open(arguments: &LookupArguments, untyped_keys: bool) -> Result<Arc<dyn LookupProvider>, CliError> {
    let key_columns: Vec<String> = if arguments.lookup_key.is_empty() {
        arguments.key.iter().map(|path| path.last_name().to_owned()).collect()
    } else {
        arguments.lookup_key.clone()
    };
    if key_columns.len() != arguments.key.len() {
        return Err(CliError::usage(
            format!("--key names {} fields and --lookup-key {} columns", arguments.key.len(), key_columns.len()),
            "name one column for each field, in the same order, parted by commas",
        ));
    }
    let provider: Arc<dyn LookupProvider> = match &arguments.lookup {
        LookupAddress::Table(format, path) => {
            if arguments.table.is_some() || arguments.query.is_some() {
                return Err(CliError::usage(
                    "--table and --query are for databases, and the lookup is a file",
                    "leave them out, or look up in sqlite:FILE",
                ));
            }
            let table = Table::read(path, *format, &key_columns).map_err(table_error)?;
            tracing::info!("{} rows in {}", table.len(), path.display());
            Arc::new(if untyped_keys { table.with_untyped_keys() } else { table })
        }
        LookupAddress::Sqlite(path) => {
            let selection = match (&arguments.table, &arguments.query) {
                (Some(table), None) => Selection::Table { table: table.clone(), key_columns },
                (None, Some(query)) => Selection::Query(query.clone()),
                _ => {
                    return Err(CliError::usage(
                        "a lookup in sqlite needs --table or --query",
                        "write --table NAME, or --query 'select ... where id = ?'",
                    ));
                }
            };
            Arc::new(Sqlite::open(path, &selection, arguments.key.len()).map_err(sqlite_error)?)
        }
    };
    Ok(match arguments.lookup_latency {
        Some(latency) => Arc::new(WithLatency::new(provider, latency)),
        None => provider,
    })
}

fn table_error(error: TableError) -> CliError {
    match &error {
        TableError::Unreadable { source, .. } => {
            CliError::environment(format!("{error}: {source}"), "check the path after --lookup and your permissions")
        }
        TableError::BadLine { .. } => CliError::environment(error.to_string(), "mend the table; it is read as a whole"),
        TableError::NoColumn { .. } => {
            CliError::usage(error.to_string(), "name the table's own columns with --lookup-key")
        }
    }
}

fn sqlite_error(error: SqliteError) -> CliError {
    match &error {
        SqliteError::Unreachable { .. } => CliError::environment(
            error.to_string(),
            "check the path after --lookup; the file must be a SQLite database",
        ),
        SqliteError::BadSelection { .. } => {
            CliError::usage(error.to_string(), "check --table, --lookup-key and --query against the database")
        }
    }
}
