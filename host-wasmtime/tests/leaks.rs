//! Threads and files end with what started them. Alone in its process, so that it can count them.
#![cfg(target_os = "linux")]

use std::time::Duration;

use futures::StreamExt;
use lookaside::{
    Driver, Options, Policy, Record,
    lookup::{self, Selection},
};

/// Threads and open files of this process.
fn held() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).map(Iterator::count).unwrap_or(0);
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// The address of a server that `cargo xtask services start` started.
fn service(name: &str, variable: &str) -> String {
    let file = format!("{}/../target/services/{name}/env", env!("CARGO_MANIFEST_DIR"));
    let environment = std::fs::read_to_string(file).expect("start the servers with `cargo xtask services start`");
    let value = environment.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {variable} in {environment}")).to_owned()
}

/// Opens the backend, looks one key up, and closes it.
async fn cycle(address: &str, query: Option<&str>) {
    let selection =
        Selection { key_columns: vec!["id".into()], query: query.map(str::to_owned), ..Selection::default() };
    let provider = lookup::open(address, &selection).await.unwrap_or_else(|error| panic!("{error}"));
    let input = futures::stream::iter([Record::new("[1]", "")]);
    let options = Options { on_failure: Policy::Emit, ..Options::default() };
    let joined = Driver::new(&options, provider).unwrap().enrich(input).into_stream();
    assert_eq!(joined.count().await, 1);
}

#[tokio::test]
async fn a_hundred_open_and_close_cycles_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("users.db");
    rusqlite::Connection::open(&database).unwrap();
    let sqlite = format!("sqlite:{}", database.display());
    let hbase = format!("hbase://{}/leaks", service("hbase", "HBASE_REGIONSERVER"));
    let script = format!("{}/../tests/services/hbase.sh", env!("CARGO_MANIFEST_DIR"));
    let thrift = service("hbase", "HBASE_THRIFT");
    let port = thrift.rsplit_once(':').unwrap().1;
    let created = std::process::Command::new(script).args(["create-table", port, "leaks", "cf"]).status().unwrap();
    assert!(created.success());
    // The connections that it takes are counted, too: nobody listens, so each call fails.
    let http = "http://127.0.0.1:1/{key}".to_owned();
    let backends = [
        (sqlite, Some("select ? as id")),
        (service("redis", "REDIS_URL"), None),
        (service("postgres", "POSTGRES_URL"), Some("select $1::int as id")),
        (service("mysql", "MYSQL_URL"), Some("select ? as id")),
        (hbase, None),
        (http, None),
    ];
    for (address, query) in &backends {
        for _ in 0..5 {
            cycle(address, *query).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = (held(), tasks());
        for _ in 0..100 {
            cycle(address, *query).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let after = (held(), tasks());
        let (threads, files) = (after.0.0.saturating_sub(before.0.0), after.0.1.saturating_sub(before.0.1));
        let more = (threads, files, after.1.saturating_sub(before.1));
        assert!(more.0 <= 2 && more.1 <= 2 && more.2 <= 2, "{address}: {before:?} before, {after:?} after");
    }
}
