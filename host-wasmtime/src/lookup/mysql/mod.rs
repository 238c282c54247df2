//! Lookups in MySQL and MariaDB.
//!
//! A batch of keys is one prepared statement. In a table, the keys go as one JSON text that
//! `json_table` makes a table of, with the columns' own types and collations, and a join finds the
//! rows of each; so the database's own equality decides. A query is asked for all keys of a batch
//! with `union all`.

mod columns;
mod key_columns;
mod statement;

use bytes::Bytes;
use futures::{TryStreamExt, future::BoxFuture};
use lookaside_core::{FailureKind, LookupError, Rows};
use sqlx::{
    AssertSqlSafe, MySqlPool, Row,
    mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlSslMode},
};

use self::statement::{Lookups, Statement};
use crate::budget::Reservation;

use super::{
    Address, KeyValue, OpenError, Selection, Setting,
    open::Errors,
    read_key,
    remote::{self, Asked, Backend, Calls, Found, Remote},
    sql::{
        Find,
        pool::{self, Tls},
    },
};

/// What may be set in the address, besides what all database servers have.
pub(crate) const SETTINGS: &[Setting] = &[Setting {
    name: "json",
    value: "COLUMN,...",
    default: "those of type JSON",
    meaning: "columns whose texts are JSON: MariaDB keeps JSON in texts",
}];

/// How many keys a call has, and how many calls there are at once.
pub(crate) const CALLS: [Setting; 2] = remote::settings("500", "8");

const PORT: u16 = 3306;

/// Opens the database at `address`.
pub(crate) async fn open(address: &str, selection: &Selection) -> Result<Remote<MySql>, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    let find = Find::new(selection, &errors)?;
    let parsed = Address::parse(address, PORT, &[SETTINGS, pool::SETTINGS, &CALLS, remote::SHARED]).map_err(bad)?;
    let settings = &parsed.settings;
    let calls = Calls::new(&parsed.to_string(), settings, &CALLS).map_err(bad)?;
    let timeout = pool::statement_timeout(settings).map_err(bad)?;
    // What stands in the comments is for MariaDB alone, and for MySQL alone.
    let session = vec![
        "set session transaction read only".to_owned(),
        format!(
            "set @lookaside = 1 /*M!100101 , session max_statement_time = {} */ /*!50708 , session max_execution_time = {} */",
            timeout.as_secs_f64(),
            timeout.as_millis(),
        ),
    ];
    let options = options(&parsed).map_err(bad)?;
    let pool: MySqlPool = pool::connect(options, settings, calls.concurrency(), session, &errors).await?;
    let mut connection = pool.acquire().await.map_err(|error| errors.unreachable(error.to_string()))?;
    let statement =
        Statement::prepare(&mut connection, &find, selection.key_columns.len(), &settings.list("json"), &errors)
            .await?;
    drop(connection);
    let max_rows = calls.limits().rows;
    Ok(Remote::new(MySql { pool, statement, max_rows }, parsed.to_string(), calls))
}

fn options(address: &Address) -> Result<MySqlConnectOptions, String> {
    let [host] = address.hosts.as_slice() else { return Err("it names more than one host".into()) };
    let (tls, certificates) = pool::tls(&address.settings)?;
    let mode = match tls {
        Tls::Prefer => MySqlSslMode::Preferred,
        Tls::Disable => MySqlSslMode::Disabled,
        Tls::Require => MySqlSslMode::Required,
        Tls::VerifyCa => MySqlSslMode::VerifyCa,
        Tls::VerifyFull => MySqlSslMode::VerifyIdentity,
    };
    let mut options = MySqlConnectOptions::new().host(&host.name).port(host.port).ssl_mode(mode);
    if let Some(user) = &address.user {
        options = options.username(user);
    }
    if let Some(password) = &address.password {
        options = options.password(password);
    }
    if !address.path.is_empty() {
        options = options.database(&address.path);
    }
    if let Some(file) = certificates {
        options = options.ssl_ca(file);
    }
    Ok(options)
}

/// A database that answers lookups.
pub(crate) struct MySql {
    pool: MySqlPool,
    statement: Statement,
    max_rows: usize,
}

impl MySql {
    /// The rows of each of `keys`.
    async fn ask(&self, keys: &[Vec<KeyValue>]) -> Result<Vec<Rows>, sqlx::Error> {
        let mut found: Vec<Vec<Bytes>> = vec![Vec::new(); keys.len()];
        match &self.statement.lookups {
            Lookups::Joined { sql, .. } => {
                let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(statement::keys_as_json(keys));
                self.take(query, &mut found).await?;
            }
            Lookups::United { .. } => {
                for (keys, found) in keys.chunks(statement::UNITED).zip(found.chunks_mut(statement::UNITED)) {
                    let (sql, branches) = self.statement.united(keys.len());
                    let mut query = sqlx::query(AssertSqlSafe(sql));
                    // The last key fills the statement up; what it finds again is passed over.
                    for branch in 0..branches {
                        for value in &keys[branch.min(keys.len() - 1)] {
                            query = statement::bind(query, value);
                        }
                    }
                    self.take(query, found).await?;
                }
            }
        }
        Ok(found.into_iter().map(|rows| rows.into_iter().collect()).collect())
    }

    /// Runs `query`, each of whose rows begins with the number of the key that it is for.
    async fn take(&self, query: statement::Query<'_>, found: &mut [Vec<Bytes>]) -> Result<(), sqlx::Error> {
        let mut rows = query.fetch(&self.pool);
        while let Some(row) = rows.try_next().await? {
            let number: i64 = row.try_get_unchecked(0)?;
            if let Some(rows) = usize::try_from(number).ok().and_then(|number| found.get_mut(number)) {
                // One more than may be found tells that there are too many.
                if rows.len() <= self.max_rows {
                    rows.push(self.statement.row(&row)?);
                }
            }
        }
        Ok(())
    }
}

impl Backend for MySql {
    fn find<'a>(&'a self, keys: Vec<Bytes>, _room: &'a Reservation) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let asked = Asked::new(&keys, |key| self.statement.values(read_key(key)?));
            let found = if asked.keys.is_empty() {
                Vec::new()
            } else {
                self.ask(&asked.keys).await.map_err(|error| failure(&error))?
            };
            asked.spread(found.into_iter().map(Ok))
        })
    }

    fn columns(&self) -> Option<&[String]> {
        Some(self.statement.columns())
    }
}

fn failure(error: &sqlx::Error) -> LookupError {
    let Some(database) = error.as_database_error() else { return pool::failure(error) };
    let number = database.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number);
    let kind = match number {
        // Too many connections, of all users or of this one.
        1040 | 1203 | 1226 => FailureKind::Throttled,
        // Shutting down, killed, locked, out of time or of memory.
        1037 | 1038 | 1041 | 1053 | 1152..=1161 | 1205 | 1213 | 1317 | 1927 | 1969 | 3024 => FailureKind::Unavailable,
        _ => FailureKind::Rejected,
    };
    LookupError::new(kind, format!("{} ({number})", database.message()))
}
