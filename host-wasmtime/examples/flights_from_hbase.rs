#![doc = "Flights, joined with airports from HBase: flights_from_hbase REGION_SERVER REST_URL"]

mod flights;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lookaside::lookup::Selection;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("give the region server, such as 127.0.0.1:16020")?;
    let rest = arguments.next().ok_or("give the REST gateway, through which the airports are stored")?;
    rustls::crypto::ring::default_provider().install_default().map_err(|_| "another program chose TLS")?;
    let client = reqwest::Client::new();
    let send = async |path: &str, body: serde_json::Value| {
        let request = client.put(format!("{rest}/airports/{path}")).header("content-type", "application/json");
        request.body(body.to_string()).send().await?.error_for_status()
    };
    send("schema", json!({ "name": "airports", "ColumnSchema": [{ "name": "cf" }] })).await?;
    let cell = |name: &str, value: &str| json!({ "column": STANDARD.encode(name), "$": STANDARD.encode(value) });
    let rows: Vec<_> = flights::airports()?
        .iter()
        .map(|airport| json!({ "key": STANDARD.encode(&airport.iata), "Cell": [cell("cf:name", &airport.name), cell("cf:city", &airport.city)] }))
        .collect();
    send("many", json!({ "Row": rows })).await?;

    let selection = Selection { key_columns: vec!["iata".into()], ..Selection::default() };
    flights::enrich(&format!("hbase://{server}/airports?columns=cf:name,cf:city"), &selection).await
}
