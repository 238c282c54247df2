//! Connections to a database server.

use std::time::Duration;

use lookaside_core::{FailureKind, LookupError};
use sqlx::{Connection, Database, Pool, pool::PoolOptions};

use crate::lookup::{OpenError, Setting, Settings, open::Errors};

/// What may be set for a database server.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "connect-timeout",
        value: "DURATION",
        default: "5s",
        meaning: "how long a call waits for a connection",
    },
    Setting {
        name: "statement-timeout",
        value: "DURATION",
        default: "30s",
        meaning: "after which the server gives a statement up",
    },
    Setting {
        name: "tls",
        value: "prefer|disable|require|verify-ca|verify-full",
        default: "prefer",
        meaning: "whether the connection is encrypted, and what is checked",
    },
    Setting { name: "tls-ca", value: "FILE", default: "the system's", meaning: "certificates to trust, in PEM" },
];

/// A connection that has rested so long is asked whether it still lives before it is used.
const TRUSTED: Duration = Duration::from_secs(5);

/// How long a statement may take at the server.
pub(crate) fn statement_timeout(settings: &Settings) -> Result<Duration, String> {
    settings.duration("statement-timeout", Duration::from_secs(30))
}

/// Connects, so that a wrong address or password shows now.
pub(crate) async fn connect<DB: Database>(
    options: <DB::Connection as Connection>::Options,
    settings: &Settings,
    connections: usize,
    session: Vec<String>,
    errors: &Errors,
) -> Result<Pool<DB>, OpenError>
where
    for<'c> &'c mut DB::Connection: sqlx::Executor<'c, Database = DB>,
{
    let timeout =
        settings.duration("connect-timeout", Duration::from_secs(5)).map_err(|reason| errors.address(reason))?;
    // A pool waits for a server that is not there; one connection tells at once.
    match tokio::time::timeout(timeout, DB::Connection::connect_with(&options)).await {
        Ok(Ok(connection)) => drop(connection.close().await),
        Ok(Err(error)) => return Err(errors.unreachable(error.to_string())),
        Err(_) => {
            let within = humantime::format_duration(timeout);
            return Err(errors.unreachable(format!("no connection within {within}")));
        }
    }
    let session: std::sync::Arc<[String]> = session.into();
    PoolOptions::<DB>::new()
        .max_connections(u32::try_from(connections).unwrap_or(u32::MAX))
        .acquire_timeout(timeout)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(move |connection, _| {
            let session = std::sync::Arc::clone(&session);
            Box::pin(async move {
                for statement in session.iter() {
                    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.clone())).execute(&mut *connection).await?;
                }
                Ok(())
            })
        })
        .connect_with(options)
        .await
        .map_err(|error| match error {
            sqlx::Error::PoolTimedOut => {
                errors.unreachable(format!("no connection within {}", humantime::format_duration(timeout)))
            }
            error => errors.unreachable(error.to_string()),
        })
}

/// What an error that the database did not send means for a lookup.
pub(crate) fn failure(error: &sqlx::Error) -> LookupError {
    let kind = match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => FailureKind::Unavailable,
        sqlx::Error::Protocol(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => FailureKind::Malformed,
        _ => FailureKind::Rejected,
    };
    LookupError::new(kind, error.to_string())
}
