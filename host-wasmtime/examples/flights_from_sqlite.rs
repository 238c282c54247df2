#![doc = "Flights, joined with airports from SQLite: flights_from_sqlite FILE"]

mod flights;

use lookaside::lookup::Selection;
use rusqlite::Connection;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("give the file to write the airports to")?;
    let mut database = Connection::open(&file)?;
    database.execute_batch(
        "drop table if exists airports; create table airports (iata text primary key, name text, city text)",
    )?;
    let transaction = database.transaction()?;
    for airport in flights::airports()? {
        transaction.execute("insert into airports values (?, ?, ?)", [airport.iata, airport.name, airport.city])?;
    }
    transaction.commit()?;

    let selection =
        Selection { key_columns: vec!["iata".into()], table: Some("airports".into()), ..Selection::default() };
    flights::enrich(&format!("sqlite:{file}"), &selection).await
}
