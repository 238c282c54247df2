//! The examples run, each against its backend.

use std::process::Command;

use crate::servers::Server;

/// The flights of `examples/flights.json`, all of which leave from an airport that is there.
fn enriches(example: &str, arguments: &[&str]) {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples").join(example);
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let last = "2000 flights, 2000 of them from an airport that was found";
    assert!(
        stdout.lines().count() == 4 && stdout.lines().last() == Some(last) && stdout.contains("city\":"),
        "{stdout}"
    );
}

#[test]
fn flights_from_http() {
    enriches("flights_from_http", &[]);
}

#[test]
fn flights_from_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    enriches("flights_from_sqlite", &[folder.path().join("airports.db").to_str().unwrap()]);
}

#[test]
fn flights_from_redis() {
    enriches("flights_from_redis", &[&Server::shared("redis").address("REDIS_URL")]);
}

#[test]
fn flights_from_mysql() {
    enriches("flights_from_mysql", &[&Server::shared("mysql").address("MYSQL_URL")]);
}

#[test]
fn flights_from_postgres() {
    enriches("flights_from_postgres", &[&Server::shared("postgres").address("POSTGRES_URL")]);
}

#[test]
fn flights_from_hbase() {
    let server = Server::shared("hbase");
    enriches("flights_from_hbase", &[&server.address("HBASE_REGIONSERVER"), &server.address("HBASE_REST")]);
}
