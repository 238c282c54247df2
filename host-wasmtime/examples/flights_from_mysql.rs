#![doc = "Flights, joined with airports from MySQL or MariaDB: flights_from_mysql mysql://user:password@127.0.0.1/database"]

mod flights;

use lookaside::lookup::Selection;
use sqlx::{Connection, MySqlConnection};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address =
        std::env::args().nth(1).ok_or("give the address, such as mysql://user:password@127.0.0.1/database")?;
    let mut connection = MySqlConnection::connect(&address).await?;
    sqlx::raw_sql(
        "drop table if exists airports; create table airports (iata varchar(5) primary key, name text, city text)",
    )
    .execute(&mut connection)
    .await?;
    let mut transaction = connection.begin().await?;
    for airport in flights::airports()? {
        sqlx::query("insert into airports values (?, ?, ?)")
            .bind(airport.iata)
            .bind(airport.name)
            .bind(airport.city)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;

    let query = "select name, city from airports where iata = ?";
    let selection = Selection { key_columns: vec!["iata".into()], query: Some(query.into()), ..Selection::default() };
    flights::enrich(&address, &selection).await
}
