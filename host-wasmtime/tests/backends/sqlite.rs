//! SQLite.

use lookaside::lookup::OpenError;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::contract::{self, Contract, find, open, query, refused, table};

fn contract(folder: &TempDir) -> Contract {
    let file = folder.path().join("contract.db");
    let mut database = Connection::open(&file).unwrap();
    database.execute_batch("create table contract (k text primary key, v text)").unwrap();
    let transaction = database.transaction().unwrap();
    for (key, value) in contract::rows() {
        transaction.execute("insert into contract values (?, ?)", [key, value]).unwrap();
    }
    transaction.commit().unwrap();
    Contract {
        address: format!("sqlite:{}", file.display()),
        selection: table("contract", &["k"]),
        field: "v",
        holds: |_| true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_queries_keep_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(&folder);
    contract.holds().await;
    let by_query = Contract { selection: query("select v from contract where k = ?;", 1), ..contract };
    by_query.holds().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_locked_times_out() {
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(&folder);
    let locking = Connection::open(folder.path().join("contract.db")).unwrap();
    contract
        .is_slow(async { locking.execute_batch("begin exclusive").unwrap() }, async {
            locking.execute_batch("rollback").unwrap();
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_hold() {
    let folder = tempfile::tempdir().unwrap();
    let contract = contract(&folder);
    let many = query("select v from contract where k > ? limit 9", 1);
    let key = [lookaside::lookup::KeyValue::Text("k".into())];
    let error = find(&open(&format!("{}?max-rows=5", contract.address), &many).await, &key).await.unwrap_err();
    assert!(error.contains("over max-rows=5") && error.starts_with("sqlite:"), "{error}");
    let cut = open(&format!("{}?max-rows=5&over-limit=cut", contract.address), &many).await;
    assert_eq!(find(&cut, &key).await.unwrap().len(), 5);

    let locking = Connection::open(folder.path().join("contract.db")).unwrap();
    let impatient = open(&format!("{}?busy-timeout=1ms", contract.address), &contract.selection).await;
    locking.execute_batch("begin exclusive").unwrap();
    let error = find(&impatient, &key).await.unwrap_err();
    assert!(error.contains("database is locked"), "{error}");
    let error = refused(&format!("{}?busy=1", contract.address), &contract.selection).await;
    assert!(matches!(error, OpenError::BadAddress { .. }), "{error}");
}
