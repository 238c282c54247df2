//! Opens the backend that an address names.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;

use crate::delimited::Dialect;

use super::{
    LookupProvider,
    table::{Table, TableError, TableFormat},
};

/// What is looked up, where a backend has more than one place to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// One name a value of the key: the columns that the values are compared with.
    pub key_columns: Vec<String>,
    /// The table to look in, for databases.
    pub table: Option<String>,
    /// The query to run for each key, for databases: its parameters are the key's values.
    pub query: Option<String>,
    /// How a `csv:` or `tsv:` table is parted, where not in the usual way.
    pub dialect: Option<Dialect>,
    /// Whether rows of a table that cannot be read are passed over.
    pub skip_bad_rows: bool,
    /// Records in flight at most, where that is known: a backend that makes fewer calls at once says so.
    pub in_flight: Option<usize>,
}

/// A backend cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address, or one of its settings, makes no sense.
    #[error("the lookup {address} makes no sense: {reason}")]
    BadAddress {
        /// The address, without secrets.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The selection does not fit the backend or the key.
    #[error("the lookup in {address} cannot be made: {reason}")]
    BadSelection {
        /// The address, without secrets.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The backend does not answer, or does not let us in.
    #[error("cannot use {address}: {reason}")]
    Unreachable {
        /// The address, without secrets.
        address: String,
        /// Why.
        reason: String,
    },
    /// A table file cannot be used.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// What an address says before its `:`.
fn scheme(address: &str) -> &str {
    address.split_once(':').map_or("", |(scheme, _)| scheme)
}

/// Opens the backend that `address` names; [`lookups`](super::lookups) lists what there is.
///
/// # Errors
///
/// [`OpenError`] says whether the address, the selection or the backend is at fault.
pub fn open<'a>(
    address: &'a str,
    selection: &'a Selection,
) -> BoxFuture<'a, Result<Arc<dyn LookupProvider>, OpenError>> {
    // In a box, so that what uses it does not compile all backends again.
    Box::pin(open_scheme(address, selection))
}

async fn open_scheme(address: &str, selection: &Selection) -> Result<Arc<dyn LookupProvider>, OpenError> {
    Ok(match scheme(address) {
        "csv" => table(address, TableFormat::Delimited(selection.dialect.unwrap_or(Dialect::CSV)), selection)?,
        "tsv" => table(address, TableFormat::Delimited(selection.dialect.unwrap_or(Dialect::TSV)), selection)?,
        "json" | "ndjson" => table(address, TableFormat::Json, selection)?,
        #[cfg(feature = "sqlite")]
        "sqlite" => Arc::new(super::sqlite::open(address, selection)?),
        #[cfg(feature = "redis")]
        "redis" | "rediss" => Arc::new(super::redis::open(address, selection).await?),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Arc::new(super::postgres::open(address, selection).await?),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Arc::new(super::mysql::open(address, selection).await?),
        #[cfg(feature = "hbase")]
        "hbase" => Arc::new(super::hbase::open(address, selection).await?),
        #[cfg(feature = "http")]
        "http" | "https" => Arc::new(super::http::open(address, selection)?),
        other => {
            let backends: Vec<&str> = super::lookups().iter().map(|kind| kind.schemes[0]).collect();
            let backends = backends.join(", ");
            let reason = match other {
                "" => format!("it says no backend, such as csv:{address}; there are {backends}"),
                other => format!("`{other}` is no backend; there are {backends}"),
            };
            return Err(OpenError::BadAddress { address: without_secrets(address), reason });
        }
    })
}

fn table(address: &str, format: TableFormat, selection: &Selection) -> Result<Arc<dyn LookupProvider>, OpenError> {
    if selection.table.is_some() || selection.query.is_some() {
        return Err(OpenError::BadSelection {
            address: address.to_owned(),
            reason: "a file is looked up by columns, without a table or a query".into(),
        });
    }
    let path = file(address)?;
    let read = if selection.skip_bad_rows { Table::read_skipping } else { Table::read };
    let table = read(&path, format, &selection.key_columns)?;
    tracing::info!("{} rows in {}", table.len(), path.display());
    if table.skipped() > 0 {
        tracing::warn!(
            "{} rows of {} cannot be read and are passed over; -v tells each",
            table.skipped(),
            path.display()
        );
    }
    Ok(Arc::new(table))
}

/// The files that the lookup at `address` reads, as far as its text tells: what must not be written to meanwhile.
#[must_use]
pub fn files(address: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = super::secret::files(address).map(PathBuf::from).collect();
    let (scheme, rest) = address.split_once(':').unwrap_or_default();
    match scheme {
        "csv" | "tsv" | "json" | "ndjson" => files.push(rest.into()),
        "sqlite" => {
            let path = rest.split('?').next().unwrap_or_default();
            // What SQLite keeps beside a database is part of it.
            files.extend(["", "-wal", "-shm", "-journal"].map(|end| PathBuf::from(format!("{path}{end}"))));
        }
        _ => {}
    }
    let settings = rest.split_once(['?', '#']).map_or("", |(_, settings)| settings);
    let certificates = settings.split('&').filter_map(|setting| setting.strip_prefix("tls-ca="));
    files.extend(certificates.map(PathBuf::from));
    files
}

/// The file in `scheme:FILE`.
pub(crate) fn file(address: &str) -> Result<PathBuf, OpenError> {
    let (scheme, path) = address.split_once(':').unwrap_or((address, ""));
    if path.is_empty() {
        let reason = format!("it names no file; write {scheme}:FILE");
        return Err(OpenError::BadAddress { address: address.to_owned(), reason });
    }
    Ok(PathBuf::from(path))
}

/// An address that could not be read, up to where secrets may begin.
pub(crate) fn without_secrets(address: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let shown = &address[..end];
    match (shown.split_once("://"), shown.rfind('@')) {
        (Some((scheme, _)), Some(at)) => format!("{scheme}://{}", &shown[at + 1..]),
        _ => shown.to_owned(),
    }
}

/// Errors that name one address.
#[derive(Debug, Clone)]
pub(crate) struct Errors(String);

impl Errors {
    pub(crate) fn of(address: &str) -> Self {
        Self(without_secrets(address))
    }

    pub(crate) fn address(&self, reason: impl Into<String>) -> OpenError {
        OpenError::BadAddress { address: self.0.clone(), reason: reason.into() }
    }

    pub(crate) fn selection(&self, reason: impl Into<String>) -> OpenError {
        OpenError::BadSelection { address: self.0.clone(), reason: reason.into() }
    }

    pub(crate) fn unreachable(&self, reason: impl Into<String>) -> OpenError {
        OpenError::Unreachable { address: self.0.clone(), reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn messages_show_no_secrets() {
        for (address, shown) in [
            ("postgres://me:pa@ss@host/db?x=secret", "postgres://host/db"),
            ("https://host/{key}?api=secret#header=a", "https://host/{key}"),
            ("csv:users@home.csv", "csv:users@home.csv"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }
}
