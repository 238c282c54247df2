//! Where to look up, from what the command line says.

use std::sync::Arc;

use super::{arguments::LookupArguments, exit::CliError};
use crate::{
    LookupProvider,
    lookup::{self, OpenError, Selection, WithLatency, table::TableError},
};

/// Opens the backend that the arguments name.
pub(super) async fn open(arguments: &LookupArguments, untyped_keys: bool) -> Result<Arc<dyn LookupProvider>, CliError> {
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
    let selection =
        Selection { key_columns, table: arguments.table.clone(), query: arguments.query.clone(), untyped_keys };
    let provider = lookup::open(&arguments.lookup, &selection).await.map_err(open_error)?;
    Ok(match arguments.lookup_latency {
        Some(latency) => Arc::new(WithLatency::new(provider, latency)),
        None => provider,
    })
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
        OpenError::Table(TableError::BadLine { .. }) => {
            CliError::environment(error.to_string(), "mend the table; it is read as a whole")
        }
        OpenError::Table(TableError::NoColumn { .. }) => {
            CliError::usage(error.to_string(), "name the table's own columns with --lookup-key")
        }
    }
}
