//! Threads and files end with what started them. Alone in its process, so that it can count them.
#![cfg(target_os = "linux")]

use std::time::Duration;

use futures::StreamExt;
use lookaside::{
    Driver, Options, Record,
    lookup::sqlite::{Selection, Sqlite},
};

/// Threads and open files of this process.
fn held() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).map(Iterator::count).unwrap_or(0);
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[tokio::test]
async fn a_hundred_open_and_close_cycles_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("users.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("create table users (id integer, name text)").unwrap();
    let cycle = async || {
        let selection = Selection::Table { table: "users".into(), key_columns: vec!["id".into()] };
        let provider = Sqlite::open(&database, &selection, 1).unwrap();
        let input = futures::stream::iter([Record::new("[1]", "")]);
        let joined = Driver::new(&Options::default(), provider).unwrap().enrich(input).into_stream();
        assert_eq!(joined.count().await, 1);
    };
    for _ in 0..5 {
        cycle().await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = held();
    for _ in 0..100 {
        cycle().await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let after = held();
    assert!(after.0 <= before.0 + 2 && after.1 <= before.1 + 2, "{before:?} before, {after:?} after");
}
