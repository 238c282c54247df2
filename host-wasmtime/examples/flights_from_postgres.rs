#![doc = "Flights, joined with airports from PostgreSQL: flights_from_postgres postgres://user:password@127.0.0.1/database"]

mod flights;

use lookaside::lookup::Selection;
use sqlx::{Connection, PgConnection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address =
        std::env::args().nth(1).ok_or("give the address, such as postgres://user:password@127.0.0.1/database")?;
    let mut connection = PgConnection::connect(&address).await?;
    sqlx::raw_sql("drop table if exists airports; create table airports (iata text primary key, name text, city text)")
        .execute(&mut connection)
        .await?;
    let (mut codes, mut names, mut cities) = (Vec::new(), Vec::new(), Vec::new());
    for airport in flights::airports()? {
        codes.push(airport.iata);
        names.push(airport.name);
        cities.push(airport.city);
    }
    sqlx::query("insert into airports select * from unnest($1::text[], $2::text[], $3::text[])")
        .bind(codes)
        .bind(names)
        .bind(cities)
        .execute(&mut connection)
        .await?;

    let selection =
        Selection { key_columns: vec!["iata".into()], table: Some("airports".into()), ..Selection::default() };
    flights::enrich(&address, &selection).await
}
