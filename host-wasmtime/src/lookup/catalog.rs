//! What can be looked up in.

use super::{Setting, limits, remote};

/// A kind of backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupKind {
    /// What its addresses may begin with.
    pub schemes: &'static [&'static str],
    /// What an address looks like.
    pub address: &'static str,
    /// What is looked up there.
    pub meaning: &'static str,
    /// What may be set in the address.
    pub settings: &'static [&'static [Setting]],
}

/// What is compiled in, in the order of help texts.
const KINDS: &[LookupKind] = &[
    LookupKind {
        schemes: &["csv", "tsv"],
        address: "csv:FILE",
        meaning: "a table with a line of names, read into memory",
        settings: &[],
    },
    LookupKind {
        schemes: &["json", "ndjson"],
        address: "json:FILE",
        meaning: "a table of objects, one a line or an array of them, read into memory",
        settings: &[],
    },
    #[cfg(feature = "http")]
    LookupKind {
        schemes: &["http", "https"],
        address: "https://HOST/PATH/{key}#SETTING=VALUE&...",
        meaning: "a service; settings stand behind a #, which is not sent",
        settings: &[super::http::SETTINGS, &super::http::CALLS, remote::SHARED],
    },
    #[cfg(feature = "redis")]
    LookupKind {
        schemes: &["redis", "rediss"],
        address: "redis://USER:PASSWORD@HOST:PORT/DATABASE?SETTING=VALUE&...",
        meaning: "strings and hashes in Redis; rediss is encrypted",
        settings: &[super::redis::SETTINGS, &super::redis::CALLS, remote::SHARED],
    },
    #[cfg(feature = "sqlite")]
    LookupKind {
        schemes: &["sqlite"],
        address: "sqlite:FILE?SETTING=VALUE&...",
        meaning: "a SQLite database, with --table or --query",
        settings: &[super::sqlite::SETTINGS, limits::SETTINGS],
    },
    #[cfg(feature = "mysql")]
    LookupKind {
        schemes: &["mysql", "mariadb"],
        address: "mysql://USER:PASSWORD@HOST:PORT/DATABASE?SETTING=VALUE&...",
        meaning: "a MySQL or MariaDB database, with --table or --query",
        settings: &[super::mysql::SETTINGS, super::sql::pool::SETTINGS, &super::mysql::CALLS, remote::SHARED],
    },
    #[cfg(feature = "postgres")]
    LookupKind {
        schemes: &["postgres", "postgresql"],
        address: "postgres://USER:PASSWORD@HOST:PORT/DATABASE?SETTING=VALUE&...",
        meaning: "a PostgreSQL database, with --table or --query",
        settings: &[super::sql::pool::SETTINGS, &super::postgres::CALLS, remote::SHARED],
    },
    #[cfg(feature = "hbase")]
    LookupKind {
        schemes: &["hbase"],
        address: "hbase://USER@HOST:PORT,HOST:PORT/TABLE?SETTING=VALUE&...",
        meaning: "a table in HBase; the hosts are masters or region servers",
        settings: &[super::hbase::SETTINGS, &super::hbase::CALLS, remote::SHARED],
    },
];

/// The kinds of backends that are compiled in.
#[must_use]
pub fn lookups() -> &'static [LookupKind] {
    KINDS
}
