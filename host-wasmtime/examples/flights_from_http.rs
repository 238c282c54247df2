#![doc = "Flights, joined with airports from a service that this example starts itself."]

mod flights;

use std::{collections::HashMap, sync::Arc};

use axum::{Router, extract::Path, http::StatusCode, routing::get};
use lookaside::lookup::Selection;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let row =
        |airport: flights::Airport| (airport.iata, json!({ "name": airport.name, "city": airport.city }).to_string());
    let airports: Arc<HashMap<String, String>> = Arc::new(flights::airports()?.into_iter().map(row).collect());
    let find = move |Path(iata): Path<String>| async move { airports.get(&iata).cloned().ok_or(StatusCode::NOT_FOUND) };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async { axum::serve(listener, Router::new().route("/airports/{iata}", get(find))).await });

    let selection = Selection { key_columns: vec!["iata".into()], ..Selection::default() };
    flights::enrich(&format!("http://{address}/airports/{{key}}"), &selection).await
}
