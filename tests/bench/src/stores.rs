//! Fills the stores that are measured: keys of 12 digits, values of 100 bytes.

use anyhow::ensure;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection};

/// A row's value.
pub(crate) fn value() -> String {
    "v".repeat(100)
}

/// The key of row `number`.
pub(crate) fn key(number: usize) -> String {
    format!("{number:012}")
}

pub(crate) async fn fill_redis(address: &str, rows: usize) -> anyhow::Result<()> {
    let mut connection = redis::Client::open(address)?.get_multiplexed_async_connection().await?;
    let value = value();
    for first in (0..rows).step_by(1_000) {
        let mut pipeline = redis::pipe();
        for number in first..(first + 1_000).min(rows) {
            pipeline.set(key(number), &value).ignore();
        }
        pipeline.query_async::<()>(&mut connection).await?;
    }
    Ok(())
}

pub(crate) async fn fill_postgres(address: &str, rows: usize) -> anyhow::Result<()> {
    let mut connection = sqlx::PgConnection::connect(address).await?;
    let sql = format!(
        "drop table if exists bench; create table bench (id bigint primary key, v varchar(100)); \
         insert into bench select s, repeat('v', 100) from generate_series(0, {}) s; analyze bench",
        rows - 1
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    Ok(())
}

pub(crate) async fn fill_mysql(address: &str, rows: usize) -> anyhow::Result<()> {
    let mut connection = sqlx::MySqlConnection::connect(address).await?;
    let sql = format!(
        "drop table if exists bench; create table bench (id bigint primary key, v varchar(100)); \
         insert into bench select seq, repeat('v', 100) from seq_0_to_{}; analyze table bench",
        rows - 1
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    Ok(())
}

pub(crate) fn fill_sqlite(file: &str, rows: usize) -> anyhow::Result<()> {
    let mut database = rusqlite::Connection::open(file)?;
    database.execute_batch("create table bench (id integer primary key, v text)")?;
    let transaction = database.transaction()?;
    {
        let mut insert = transaction.prepare("insert into bench values (?, ?)")?;
        let value = value();
        for number in 0..rows {
            insert.execute((number as i64, &value))?;
        }
    }
    transaction.commit()?;
    Ok(())
}

pub(crate) async fn fill_hbase(rest: &str, rows: usize) -> anyhow::Result<()> {
    let client = reqwest::Client::new();
    let send = async |path: &str, body: serde_json::Value| {
        let request = client.put(format!("{rest}/bench/{path}")).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await?;
        ensure!(response.status().is_success(), "HBase: {}", response.text().await?);
        Ok(())
    };
    send("schema", json!({ "name": "bench", "ColumnSchema": [{ "name": "cf" }] })).await?;
    let cell = json!([{ "column": STANDARD.encode("cf:v"), "$": STANDARD.encode(value()) }]);
    for first in (0..rows).step_by(5_000) {
        let last = (first + 5_000).min(rows);
        let rows: Vec<_> =
            (first..last).map(|number| json!({ "key": STANDARD.encode(key(number)), "Cell": cell })).collect();
        send("many", json!({ "Row": rows })).await?;
    }
    Ok(())
}
