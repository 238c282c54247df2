//! Real data: flights with the airports that they leave from, against an independent join.

use std::{fs, path::Path};

use rusqlite::Connection;
use serde_json::Value;

use crate::run::Folder;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    path.canonicalize().expect("the examples are shipped").display().to_string()
}

/// The join as SQLite makes it.
fn joined_by_sqlite() -> Vec<(String, String, String, i64, String)> {
    let database = Connection::open_in_memory().unwrap();
    database
        .execute_batch(
            "create table flights (place integer, date text, origin text, destination text, delay integer);
             create table airports (iata text, name text);",
        )
        .unwrap();
    let flights: Vec<Value> = serde_json::from_str(&fs::read_to_string(example("flights.json")).unwrap()).unwrap();
    for (place, flight) in flights.iter().enumerate() {
        let text = |name: &str| flight[name].as_str().unwrap().to_owned();
        let row = (place as i64, text("date"), text("origin"), text("destination"), flight["delay"].as_i64().unwrap());
        database.execute("insert into flights values (?, ?, ?, ?, ?)", row).unwrap();
    }
    for line in fs::read_to_string(example("airports.csv")).unwrap().lines().skip(1) {
        // Codes have no commas; of the name only its start is compared, since it may have quotes.
        let (iata, rest) = line.split_once(',').unwrap();
        let name = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap(),
            None => rest.split(',').next().unwrap(),
        };
        database.execute("insert into airports values (?, ?)", (iata, name)).unwrap();
    }
    let sql =
        "select date, origin, destination, delay, name from flights join airports on origin = iata order by place";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

fn joined_by_lookaside(order: &str) -> Vec<(String, String, String, i64, String)> {
    let folder = Folder::with(&[]);
    let output = folder
        .command()
        .args(["enrich", &example("flights.json"), "--key", "origin", "--lookup-key", "iata", "--as", "origin_airport"])
        .args(["--lookup", &format!("csv:{}", example("airports.csv"))])
        .args(["--event-time", "date", "--event-time-format", "%Y/%m/%d %H:%M"])
        .args(["--order", order, "--capacity", "100", "--timeout", "2s", "-o", "joined.ndjson"])
        .args(["--lookup-latency", "1ms..3ms"])
        .output()
        .unwrap();
    assert!(output_is_silent(&output), "{output:?}");
    let parse = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (
            text(&record["date"]),
            text(&record["origin"]),
            text(&record["destination"]),
            record["delay"].as_i64().unwrap(),
            text(&record["origin_airport"]["name"]),
        )
    };
    folder.read("joined.ndjson").lines().map(parse).collect()
}

fn output_is_silent(output: &std::process::Output) -> bool {
    output.status.success() && output.stdout.is_empty() && output.stderr.is_empty()
}

#[test]
fn ordered_flights_equal_an_independent_join() {
    let expected = joined_by_sqlite();
    assert_eq!(expected.len(), 2_000);
    assert_eq!(joined_by_lookaside("ordered"), expected);
}

#[test]
fn unordered_flights_are_the_same_records_in_another_order() {
    let mut expected = joined_by_sqlite();
    let mut joined = joined_by_lookaside("unordered");
    assert_ne!(joined, expected, "with different latencies some record overtakes another");
    expected.sort();
    joined.sort();
    assert_eq!(joined, expected);
}
