#![doc = "Flights, joined with airports from Redis: flights_from_redis redis://127.0.0.1:6379"]

mod flights;

use lookaside::lookup::Selection;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("give the address, such as redis://127.0.0.1:6379")?;
    let mut connection = redis::Client::open(address.as_str())?.get_multiplexed_async_connection().await?;
    let mut pipeline = redis::pipe();
    for airport in flights::airports()? {
        let key = format!("airport:{}", airport.iata);
        pipeline.hset_multiple(key, &[("name", airport.name), ("city", airport.city)]).ignore();
    }
    pipeline.query_async::<()>(&mut connection).await?;

    let selection = Selection { key_columns: vec!["iata".into()], ..Selection::default() };
    flights::enrich(&format!("{address}?type=hash&key=airport:{{key}}&fields=name,city"), &selection).await
}
