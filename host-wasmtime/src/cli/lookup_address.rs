//! Where to look up, from what the command line says.

use std::sync::Arc;

use super::{
    arguments::{LookupArguments, OnBadRecord},
    dialect::DialectArguments,
    exit::CliError,
};
use crate::{
    LookupProvider,
    delimited::Dialect,
    lookup::{self, OpenError, Selection, WithLatency, table::TableError},
};

/// Opens the backend that the arguments name.
pub(super) async fn open(arguments: &LookupArguments, capacity: usize) -> Result<Arc<dyn LookupProvider>, CliError> {
    let (key, named) = (arguments.key(), arguments.lookup_key());
    let scheme = arguments.lookup.split(':').next().unwrap_or_default();
    if !named.is_empty() && !compares_columns(scheme) {
        return Err(CliError::usage(
            format!("--lookup-key names columns, and {scheme} has none to compare a key with"),
            "leave it out: the address says where the key goes, as {key}",
        ));
    }
    let dialect = DialectArguments::from(&arguments.dialect);
    let usual = match scheme {
        "csv" => Some(Dialect::CSV),
        "tsv" => Some(Dialect::TSV),
        _ => None,
    };
    let dialect = dialect.of(usual).map_err(|reason| {
        CliError::usage(format!("the lookup is no CSV or TSV table, or {reason}"), "leave the --table options out")
    })?;
    let skip_bad_rows = arguments.table_on_bad_record == OnBadRecord::Skip;
    if skip_bad_rows && !matches!(scheme, "csv" | "tsv" | "json" | "ndjson") {
        return Err(CliError::usage(
            "--table-on-bad-record is for tables in files, and this lookup is none",
            "leave it out, or look up in csv:, tsv: or json:",
        ));
    }
    let key_columns: Vec<String> =
        if named.is_empty() { key.iter().map(|path| path.last_name().to_owned()).collect() } else { named };
    if key_columns.len() != key.len() {
        return Err(CliError::usage(
            format!("--key names {} fields and --lookup-key {} columns", key.len(), key_columns.len()),
            "name one column for each field, in the same order, parted by commas",
        ));
    }
    let selection = Selection {
        key_columns,
        table: arguments.table.clone(),
        query: arguments.query.clone(),
        dialect,
        skip_bad_rows,
        in_flight: Some(capacity),
    };
    let provider = lookup::open(&arguments.lookup, &selection).await.map_err(open_error)?;
    Ok(match arguments.lookup_latency {
        Some(latency) => Arc::new(WithLatency::new(provider, latency)),
        None => provider,
    })
}

/// Whether a lookup of that scheme is made by columns.
fn compares_columns(scheme: &str) -> bool {
    !matches!(scheme, "http" | "https" | "redis" | "rediss" | "hbase")
}

fn open_error(error: OpenError) -> CliError {
    match &error {
        OpenError::BadAddress { .. } => {
            CliError::usage(error.to_string(), "see `lookaside lookups` for the addresses and their settings")
        }
        OpenError::BadSelection { .. } => CliError::usage(
            error.to_string(),
            "check --table, --lookup-key and --query against the backend: a database needs --table NAME, or --query 'select ... where id = ?' (PostgreSQL: $1)",
        ),
        OpenError::Unreachable { .. } => CliError::environment(
            error.to_string(),
            "check the address after --lookup, that the backend runs, and the user and password",
        ),
        OpenError::Table(TableError::Unreadable { source, .. }) => {
            CliError::environment(format!("{error}: {source}"), "check the path after --lookup and your permissions")
        }
        OpenError::Table(TableError::BadLine { .. }) => CliError::environment(
            error.to_string(),
            "correct this row, or pass over such rows with --table-on-bad-record skip",
        ),
        OpenError::Table(TableError::Broken { .. }) => {
            CliError::environment(error.to_string(), "correct the table; what follows cannot be told apart into rows")
        }
        OpenError::Table(TableError::NoColumn { .. }) => {
            CliError::usage(error.to_string(), "name the table's own columns with --lookup-key")
        }
    }
}
