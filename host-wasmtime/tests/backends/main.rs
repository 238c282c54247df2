//! Each backend against its real server: one contract for all of them, and what is each one's own.
//!
//! The servers are those of `tests/services/`; `cargo xtask services start` starts the shared ones.

mod contract;
mod examples;
mod hbase;
mod http;
mod mysql;
mod postgres;
mod redis;
mod servers;
mod sqlite;
