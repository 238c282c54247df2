//! Lookups in each backend, beside what the backend itself can do.

use std::{process::Command, sync::Arc};

use anyhow::{Context, ensure};
use axum::{Router, body::Bytes, routing::post};
use lookaside::{
    LookupProvider,
    lookup::{self, Selection},
};

use crate::{
    meter::{Cost, Meter},
    run::enrich,
    services::address,
    stores,
};

/// What is measured, and how much of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these: redis, mysql, postgres, sqlite, hbase, http.
    only: Vec<String>,
    /// Multiplies the numbers of records.
    #[arg(long, default_value = "1")]
    scale: f64,
}

/// Records in flight.
const IN_FLIGHT: u32 = 1_000;

/// Rows in databases.
const ROWS: usize = 100_000;

/// Keys in Redis, as many as its own benchmark asks for.
const REDIS_KEYS: usize = 1_000_000;

/// A step that shares no factor with the numbers of rows, so that all of them are visited.
const STRIDE: usize = 7_919;

/// Measures, and prints a table.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Where this fails, another part of the program chose before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!("| backend | how | records a second | CPU us a record | beside |");
    println!("|---|---|---|---|---|");
    runtime.block_on(async {
        let is_wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
        let bench = Bench { scale: arguments.scale };
        if is_wanted("redis") {
            bench.redis().await.context("redis")?;
        }
        if is_wanted("mysql") {
            bench.mysql().await.context("mysql")?;
        }
        if is_wanted("postgres") {
            bench.postgres().await.context("postgres")?;
        }
        if is_wanted("sqlite") {
            bench.sqlite().await.context("sqlite")?;
        }
        if is_wanted("hbase") {
            bench.hbase().await.context("hbase")?;
        }
        if is_wanted("http") {
            bench.http().await.context("http")?;
        }
        Ok(())
    })
}

struct Bench {
    scale: f64,
}

impl Bench {
    fn records(&self, records: usize) -> usize {
        ((records as f64 * self.scale) as usize).max(1_000)
    }

    async fn redis(&self) -> anyhow::Result<()> {
        let address = address("redis", "REDIS_URL")?;
        stores::fill_redis(&address, REDIS_KEYS).await?;
        let records = self.records(2_000_000);
        let ceiling = redis_benchmark(&address, records)?;
        println!("| redis | redis-benchmark -P 100, one connection | {ceiling:.0} | | |");
        let key = |number: usize| format!("[\"{}\"]", stores::key(number * STRIDE % REDIS_KEYS));
        for (how, settings) in
            [("MGET, one connection", "?value=text"), ("GET, one connection", "?value=text&batch=1&concurrency=1000")]
        {
            let provider = open(&format!("{address}{settings}"), &by_address()).await?;
            let cost = measure(provider, records, key).await?;
            row("redis", how, &cost, Some(("redis-benchmark", ceiling)));
        }
        Ok(())
    }

    async fn mysql(&self) -> anyhow::Result<()> {
        let address = address("mysql", "MYSQL_URL")?;
        stores::fill_mysql(&address, ROWS).await?;
        self.database("mysql", &address).await
    }

    async fn postgres(&self) -> anyhow::Result<()> {
        let address = address("postgres", "POSTGRES_URL")?;
        stores::fill_postgres(&address, ROWS).await?;
        self.database("postgres", &address).await
    }

    /// One statement a key, then batches, with as many connections.
    async fn database(&self, name: &str, address: &str) -> anyhow::Result<()> {
        let single = open(&format!("{address}?batch=1"), &by_table()).await?;
        let one_by_one = measure(single, self.records(50_000), number_key).await?;
        row(name, "one statement a key", &one_by_one, None);
        let batching = open(address, &by_table()).await?;
        let cost = measure(batching, self.records(1_000_000), number_key).await?;
        row(name, "a statement for a batch of keys", &cost, Some(("one statement a key", one_by_one.rate())));
        Ok(())
    }

    async fn sqlite(&self) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("bench.db").display().to_string();
        stores::fill_sqlite(&file, ROWS)?;
        let records = self.records(1_000_000);
        let plain = plain_loop(&file, records)?;
        row("sqlite", "a plain loop over one prepared statement", &plain, None);
        let cost = measure(open(&format!("sqlite:{file}"), &by_table()).await?, records, number_key).await?;
        row("sqlite", "lookups", &cost, Some(("the plain loop", plain.rate())));
        Ok(())
    }

    async fn hbase(&self) -> anyhow::Result<()> {
        stores::fill_hbase(&address("hbase", "HBASE_REST")?, ROWS).await?;
        let address = format!("hbase://{}/bench?columns=cf:v:text", address("hbase", "HBASE_REGIONSERVER")?);
        let key = |number: usize| format!("[\"{}\"]", stores::key(number * STRIDE % ROWS));
        let single = measure(
            open(&format!("{address}&batch=1&concurrency=100"), &by_address()).await?,
            self.records(50_000),
            key,
        )
        .await?;
        row("hbase", "one call a key, 100 in flight", &single, None);
        let cost = measure(open(&address, &by_address()).await?, self.records(200_000), key).await?;
        row("hbase", "a call for a batch of keys", &cost, Some(("one call a key", single.rate())));
        Ok(())
    }

    async fn http(&self) -> anyhow::Result<()> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let service = format!("http://{}/rows", listener.local_addr()?);
        tokio::spawn(async { axum::serve(listener, Router::new().route("/rows", post(serve))).await });
        let single = open(&format!("{service}#body=[{{key}}]&rows=/0"), &by_address()).await?;
        let single = measure(single, self.records(50_000), number_key).await?;
        row("http", "a request a key (the service's CPU counts, too)", &single, None);
        let batching = open(&format!("{service}#body={{keys}}&in-order=true"), &by_address()).await?;
        let cost = measure(batching, self.records(500_000), number_key).await?;
        row("http", "a request for a batch of keys", &cost, Some(("a request a key", single.rate())));
        Ok(())
    }
}

/// A row for each key that is asked for.
async fn serve(body: Bytes) -> String {
    let keys: Vec<u64> = serde_json::from_slice(&body).unwrap_or_default();
    let row = format!("{{\"v\":\"{}\"}}", stores::value());
    format!("[{}]", vec![row.as_str(); keys.len()].join(","))
}

/// Warms up, and measures.
async fn measure(
    provider: Arc<dyn LookupProvider>,
    records: usize,
    key: impl Fn(usize) -> String + Copy + Send + 'static,
) -> anyhow::Result<Cost> {
    enrich(Arc::clone(&provider), records / 10, IN_FLIGHT, key).await?;
    enrich(provider, records, IN_FLIGHT, key).await
}

fn number_key(number: usize) -> String {
    format!("[{}]", number * STRIDE % ROWS)
}

async fn open(address: &str, selection: &Selection) -> anyhow::Result<Arc<dyn LookupProvider>> {
    Ok(lookup::open(address, selection).await?)
}

fn by_address() -> Selection {
    Selection { key_columns: vec!["id".into()], ..Selection::default() }
}

fn by_table() -> Selection {
    Selection { table: Some("bench".into()), ..by_address() }
}

/// The rate of Redis's own benchmark, with one connection and 100 commands on their way.
fn redis_benchmark(address: &str, records: usize) -> anyhow::Result<f64> {
    let port = address.rsplit_once(':').context("no port")?.1;
    let output = Command::new("redis-benchmark")
        .args(["-p", port, "-c", "1", "-P", "100", "--csv", "-n", &records.to_string()])
        .args(["-r", &REDIS_KEYS.to_string(), "GET", "__rand_int__"])
        .output()
        .context("redis-benchmark; `cargo xtask services start` installs it")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "redis-benchmark: {text}");
    let rate = text.lines().last().and_then(|line| line.split("\",\"").nth(1)?.parse().ok());
    rate.with_context(|| format!("no rate in {text}"))
}

/// What SQLite does by itself: the same rows as the same JSON.
fn plain_loop(file: &str, records: usize) -> anyhow::Result<Cost> {
    let database = rusqlite::Connection::open(file)?;
    let mut statement = database.prepare("select * from bench where id = ?")?;
    let mut bytes = 0;
    let meter = Meter::start();
    for number in 0..records {
        let row: String = statement.query_row([(number * STRIDE % ROWS) as i64], |row| {
            let text = serde_json::Value::from(row.get_ref(1)?.as_str()?);
            Ok(format!("{{\"id\":{},\"v\":{text}}}", row.get::<_, i64>(0)?))
        })?;
        bytes += row.len();
    }
    let cost = meter.stop(records);
    ensure!(bytes > records * 100, "rows are missing");
    Ok(cost)
}

fn row(backend: &str, how: &str, cost: &Cost, beside: Option<(&str, f64)>) {
    let beside = beside.map_or_else(String::new, |(what, rate)| format!("{:.2} of {what}", cost.rate() / rate));
    println!("| {backend} | {how} | {:.0} | {:.2} | {beside} |", cost.rate(), cost.cpu_us());
}
