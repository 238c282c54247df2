//! Lookups in PostgreSQL.
//!
//! A batch of keys is one prepared statement: the keys go as arrays, and a lateral join finds the
//! rows of each, so that the database's own equality decides, with its own types. Rows come as JSON
//! that the database writes: decimals as exact texts, times in ISO 8601, binary data in base64.

use std::ops::Range;

use bytes::Bytes;
use futures::{TryStreamExt, future::BoxFuture};
use lookaside_core::{FailureKind, LookupError, Rows};
use sqlx::{
    AssertSqlSafe, Column, Executor, PgPool, Row, Statement, TypeInfo,
    postgres::{PgConnectOptions, PgSslMode},
};

use crate::budget::Reservation;

use super::{
    Address, OpenError, Selection, Setting,
    open::Errors,
    read_key,
    remote::{self, Asked, Backend, Calls, Found, Remote},
    sql::{
        self, Find, key_types, placeholders,
        pool::{self, Tls},
    },
};

/// How many keys a call has, and how many calls there are at once.
pub(crate) const CALLS: [Setting; 2] = remote::settings("500", "8");

const PORT: u16 = 5432;

/// What the keys are called in statements: no name that a query has for a table of its own.
const KEYS: &str = "lookaside_keys";

/// What each connection is told first.
const SESSION: &[&str] =
    &["set intervalstyle = 'iso_8601'", "set timezone = 'UTC'", "set default_transaction_read_only = on"];

/// Opens the database at `address`.
pub(crate) async fn open(address: &str, selection: &Selection) -> Result<Remote<Postgres>, OpenError> {
    let errors = Errors::of(address);
    let bad = |reason: String| errors.address(reason);
    let find = Find::new(selection, &errors)?;
    let parsed = Address::parse(address, PORT, &[pool::SETTINGS, &CALLS, remote::SHARED]).map_err(bad)?;
    let calls = Calls::new(&parsed.to_string(), &parsed.settings, &CALLS).map_err(bad)?;
    let options = options(&parsed).map_err(bad)?;
    let pool: PgPool = pool::connect(
        options,
        &parsed.settings,
        calls.concurrency(),
        SESSION.iter().map(|statement| (*statement).to_owned()).collect(),
        &errors,
    )
    .await?;
    let backend = Postgres::prepare(pool, &find, selection.key_columns.len(), calls.limits().rows, &errors).await?;
    Ok(Remote::new(backend, parsed.to_string(), calls))
}

fn options(address: &Address) -> Result<PgConnectOptions, String> {
    let settings = &address.settings;
    let [host] = address.hosts.as_slice() else { return Err("it names more than one host".into()) };
    let (tls, certificates) = pool::tls(settings)?;
    let mode = match tls {
        Tls::Prefer => PgSslMode::Prefer,
        Tls::Disable => PgSslMode::Disable,
        Tls::Require => PgSslMode::Require,
        Tls::VerifyCa => PgSslMode::VerifyCa,
        Tls::VerifyFull => PgSslMode::VerifyFull,
    };
    let timeout = pool::statement_timeout(settings)?.as_millis().to_string();
    let mut options = PgConnectOptions::new()
        .host(&host.name)
        .port(host.port)
        .ssl_mode(mode)
        .application_name("lookaside")
        .options([("statement_timeout", timeout)]);
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
        options = options.ssl_root_cert(file);
    }
    Ok(options)
}

/// A database that answers lookups.
pub(crate) struct Postgres {
    pool: PgPool,
    /// Takes one array of texts for each value of the key; gives the number of a key and a row.
    statement: String,
    /// The types of the key's values.
    types: Vec<String>,
    columns: Vec<String>,
    max_rows: usize,
}

impl Postgres {
    async fn prepare(
        pool: PgPool,
        find: &Find,
        key_values: usize,
        max_rows: usize,
        errors: &Errors,
    ) -> Result<Self, OpenError> {
        let sql = match find {
            Find::Query(sql) => sql.clone(),
            Find::Table { name, key_columns } => {
                let conditions: Vec<String> = (key_columns.iter().enumerate())
                    .map(|(number, column)| format!("t.{} = ${}", sql::quoted_part(column, '"'), number + 1))
                    .collect();
                format!("select * from {} as t where {}", sql::quoted(name, '"'), conditions.join(" and "))
            }
        };
        let selection = |error: sqlx::Error| match error {
            sqlx::Error::Database(error) => errors.selection(error.to_string()),
            error => errors.unreachable(error.to_string()),
        };
        let mut connection = pool.acquire().await.map_err(selection)?;
        let described =
            connection.prepare(sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(sql.clone()))).await.map_err(selection)?;
        let columns: Vec<String> = described.columns().iter().map(|column| column.name().to_owned()).collect();
        sql::check_columns(&columns, errors)?;
        let types = parameter_types(&mut connection, &sql).await.map_err(selection)?;
        sql::check_parameters(types.len(), key_values, errors)?;

        let shown: Vec<String> = (described.columns().iter())
            .map(|column| {
                let name = sql::quoted_part(column.name(), '"');
                match column.type_info().name() {
                    "NUMERIC" | "MONEY" => format!("q.{name}::text as {name}"),
                    "BYTEA" => format!("translate(encode(q.{name}, 'base64'), E'\\n', '') as {name}"),
                    _ => format!("q.{name}"),
                }
            })
            .collect();
        let arrays: Vec<String> = (1..=key_values).map(|number| format!("${number}::text[]")).collect();
        let names: Vec<String> = (1..=key_values).map(|number| format!("p{number}")).collect();
        let lookup = placeholders::replaced(&sql, |number| match types.get(number.wrapping_sub(1)) {
            Some(name) => format!("{KEYS}.p{number}::{name}"),
            None => format!("${number}"),
        });
        let statement = format!(
            "select {KEYS}.n, row_to_json(r.*)::text from unnest({}) with ordinality as {KEYS}({}, n) \
             cross join lateral (select {} from ({lookup}\n) as q) as r",
            arrays.join(", "),
            names.join(", "),
            shown.join(", "),
        );
        connection
            .prepare(sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(statement.clone())))
            .await
            .map_err(selection)?;
        drop(connection);
        Ok(Self { pool, statement, types, columns, max_rows })
    }

    /// The rows of `keys`, which are valid for their types.
    async fn ask(&self, keys: &[Vec<String>]) -> Result<Vec<Rows>, sqlx::Error> {
        let mut query = sqlx::query(AssertSqlSafe(self.statement.clone()));
        for value in 0..self.types.len() {
            query = query.bind(keys.iter().map(|key| key[value].clone()).collect::<Vec<String>>());
        }
        let mut found: Vec<Vec<Bytes>> = vec![Vec::new(); keys.len()];
        let mut rows = query.fetch(&self.pool);
        while let Some(row) = rows.try_next().await? {
            let number: i64 = row.try_get(0)?;
            let json: &str = row.try_get(1)?;
            let place = usize::try_from(number - 1).ok().and_then(|number| found.get_mut(number));
            let place = place.ok_or_else(|| sqlx::Error::Protocol(format!("there is no key {number}")))?;
            // One more than may be found tells that there are too many.
            if place.len() <= self.max_rows {
                place.push(Bytes::from(crate::json::on_one_line(json).into_owned()));
            }
        }
        Ok(found.into_iter().map(|rows| rows.into_iter().collect()).collect())
    }

    /// As [`ask`](Self::ask). Where the database cannot take a key, the batch is halved until that
    /// key stands alone, so that it fails alone.
    fn ask_apart<'a>(&'a self, keys: &'a [Vec<String>]) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            match self.ask(keys).await {
                Ok(rows) => Ok(rows.into_iter().map(Ok).collect()),
                Err(error) if is_bad_value(&error) && keys.len() > 1 => {
                    let halves: [Range<usize>; 2] = [0..keys.len() / 2, keys.len() / 2..keys.len()];
                    let mut results = Vec::with_capacity(keys.len());
                    for half in halves {
                        results.extend(self.ask_apart(&keys[half]).await?);
                    }
                    Ok(results)
                }
                Err(error) if is_bad_value(&error) => Ok(vec![Err(failure(&error))]),
                Err(error) => Err(failure(&error)),
            }
        })
    }

    /// The key's values as texts of their types; none where no row can have them.
    fn values(&self, key: &[u8]) -> Result<Option<Vec<String>>, LookupError> {
        let mut texts = Vec::with_capacity(self.types.len());
        for (value, name) in read_key(key)?.iter().zip(&self.types) {
            let bits = match name.as_str() {
                "smallint" => 15,
                "integer" => 31,
                "bigint" => 63,
                _ => 0,
            };
            let text = match bits {
                // Texts have no NUL here, so none equals it.
                0 if value.plain().contains('\0') => return Ok(None),
                0 => value.plain(),
                bits => match key_types::whole_number(value, -(1 << bits), (1 << bits) - 1, name)? {
                    Some(digits) => digits,
                    None => return Ok(None),
                },
            };
            texts.push(text);
        }
        Ok(Some(texts))
    }
}

/// The types that the database takes a query's parameters for.
async fn parameter_types(connection: &mut sqlx::PgConnection, sql: &str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(format!("prepare lookaside_types as {sql}"))).execute(&mut *connection).await?;
    // The name by itself, such as `character`, would stand for a length of 1.
    let types = "select format_type(type, -1) from pg_prepared_statements, \
        unnest(parameter_types) with ordinality as p(type, n) where name = 'lookaside_types' order by n";
    let types: Vec<String> = sqlx::query_scalar(types).fetch_all(&mut *connection).await?;
    sqlx::raw_sql("deallocate lookaside_types").execute(connection).await?;
    Ok(types)
}

impl Backend for Postgres {
    fn find<'a>(&'a self, keys: Vec<Bytes>, _room: &'a Reservation) -> BoxFuture<'a, Found> {
        Box::pin(async move {
            let asked = Asked::new(&keys, |key| self.values(key));
            let found = if asked.keys.is_empty() { Vec::new() } else { self.ask_apart(&asked.keys).await? };
            asked.spread(found)
        })
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }
}

/// Whether a value was at fault: no valid text of its type.
fn is_bad_value(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code.starts_with("22"))
}

fn failure(error: &sqlx::Error) -> LookupError {
    let Some(database) = error.as_database_error() else { return pool::failure(error) };
    let code = database.code().unwrap_or_default();
    let kind = match &code[..code.len().min(2)] {
        _ if code == "53300" => FailureKind::Throttled,
        // Shutting down or given up, out of resources, rolled back, connection trouble.
        "57" | "53" | "40" | "08" | "58" => FailureKind::Unavailable,
        _ => FailureKind::Rejected,
    };
    LookupError::new(kind, format!("{} ({code})", database.message()))
}
