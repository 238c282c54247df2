#![doc = "Joins two flights with the city that they leave from."]

use futures::StreamExt;
use lookaside::{Driver, Element, Options, Order, Record, Rows, lookup};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let airports =
        lookup::from_fn(|code| async move { Ok(if code == "LAX" { Rows::from("Los Angeles") } else { Rows::None }) });
    let options = Options { order: Order::Unordered, ..Options::default() };
    let flights = futures::stream::iter([Record::new("LAX", "AA 1"), Record::new("XXX", "BB 2")]);

    let mut joined = Driver::new(&options, airports)?.enrich(flights).into_stream();
    while let Some(element) = joined.next().await {
        if let Element::Joined(joined) = element? {
            println!("{:?} {:?}: {:?}", joined.record.payload, joined.outcome, joined.rows);
        }
    }
    Ok(())
}
