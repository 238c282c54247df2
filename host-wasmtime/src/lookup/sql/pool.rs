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
        default: "prefer; verify-full with tls-ca",
        meaning: "whether the connection is encrypted, and what is checked",
    },
    Setting {
        name: "tls-ca",
        value: "FILE",
        default: "the system's",
        meaning: "certificates to trust, in PEM; the server has to prove itself by them",
    },
];

/// A connection that has rested so long is asked whether it still lives before it is used.
const TRUSTED: Duration = Duration::from_secs(5);

/// Whether a connection is encrypted, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    Prefer,
    Disable,
    Require,
    VerifyCa,
    VerifyFull,
}

/// What the settings say of encryption, and the file with the certificates to trust.
///
/// Who names certificates wants the server to prove itself: nothing weaker stands beside them.
pub(crate) fn tls(settings: &Settings) -> Result<(Tls, Option<&str>), String> {
    let modes = [
        ("prefer", Tls::Prefer),
        ("disable", Tls::Disable),
        ("require", Tls::Require),
        ("verify-ca", Tls::VerifyCa),
        ("verify-full", Tls::VerifyFull),
    ];
    let mode = settings.choice("tls", &modes)?;
    let Some(file) = settings.text("tls-ca") else { return Ok((mode, None)) };
    let pem = std::fs::read_to_string(file).map_err(|error| format!("tls-ca={file}: {error}"))?;
    if !pem.contains("-----BEGIN CERTIFICATE-----") {
        return Err(format!("tls-ca={file}: it has no certificate in PEM"));
    }
    match (settings.text("tls"), mode) {
        (None, _) => Ok((Tls::VerifyFull, Some(file))),
        (Some(_), Tls::VerifyCa | Tls::VerifyFull) => Ok((mode, Some(file))),
        (Some(weaker), _) => Err(format!(
            "tls-ca= has the server prove itself, and tls={weaker} does not; leave tls= out, or say tls=verify-full"
        )),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_to_trust_imply_that_the_server_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\n").unwrap();
        let of = |text: &str| {
            let settings = Settings::parse(&text.replace("FILE", file.to_str().unwrap()), &[SETTINGS]).unwrap();
            tls(&settings).map(|(mode, _)| mode)
        };
        assert_eq!(of(""), Ok(Tls::Prefer));
        assert_eq!(of("tls=require"), Ok(Tls::Require));
        assert_eq!(of("tls-ca=FILE"), Ok(Tls::VerifyFull));
        assert_eq!(of("tls-ca=FILE&tls=verify-ca"), Ok(Tls::VerifyCa));
        for weaker in ["prefer", "disable", "require"] {
            let error = of(&format!("tls-ca=FILE&tls={weaker}")).unwrap_err();
            assert!(error.contains("tls-ca= has the server prove itself"), "{error}");
        }
        assert!(of("tls-ca=/not/there").unwrap_err().contains("/not/there"));
        std::fs::write(&file, "no certificate").unwrap();
        assert!(of("tls-ca=FILE").unwrap_err().contains("it has no certificate"));
    }
}
