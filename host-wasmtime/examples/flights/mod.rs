//! What the examples share: flights and airports, and the loop that joins them.

use std::{error::Error, fs::File};

use futures::StreamExt;
use lookaside::{
    Driver, Element, Options, Order, Outcome, Record,
    lookup::{self, KeyValue, Selection, write_key},
};
use serde_json::Value;

/// An airport of `examples/airports.csv`.
pub(crate) struct Airport {
    pub(crate) iata: String,
    pub(crate) name: String,
    pub(crate) city: String,
}

/// All airports.
pub(crate) fn airports() -> Result<Vec<Airport>, Box<dyn Error>> {
    let mut rows = csv::Reader::from_path(data("airports.csv"))?;
    let airport = |row: csv::StringRecord| Airport { iata: row[0].into(), name: row[1].into(), city: row[2].into() };
    Ok(rows.records().map(|row| row.map(airport)).collect::<Result<_, _>>()?)
}

/// Joins each flight with the airport that it leaves from, which is looked up at `address`.
pub(crate) async fn enrich(address: &str, selection: &Selection) -> Result<(), Box<dyn Error>> {
    let airports = lookup::open(address, selection).await?;
    let flights: Vec<Value> = serde_json::from_reader(File::open(data("flights.json"))?)?;
    let records = flights.into_iter().map(|flight| {
        let origin = flight["origin"].as_str().unwrap_or_default().to_owned();
        Record::new(write_key(&[KeyValue::Text(origin)]), flight.to_string())
    });

    let options = Options { order: Order::Unordered, capacity: 1_000.try_into()?, ..Options::default() };
    let mut joined = Driver::new(&options, airports)?.enrich(futures::stream::iter(records)).into_stream();
    let (mut all, mut found) = (0, 0);
    while let Some(element) = joined.next().await {
        let Element::Joined(flight) = element? else { continue };
        all += 1;
        found += usize::from(flight.outcome == Outcome::Found);
        if all <= 3 {
            let payload = String::from_utf8_lossy(&flight.record.payload);
            let row = flight.rows.as_slice().first().map(|row| String::from_utf8_lossy(row).into_owned());
            println!("{payload} from {}", row.unwrap_or_else(|| "somewhere".into()));
        }
    }
    println!("{all} flights, {found} of them from an airport that was found");
    Ok(())
}

fn data(name: &str) -> String {
    format!("{}/../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}
