//! `cargo xtask demo`: real flights, real airports, and what waiting side by side brings.

use serde_json::Value;

use crate::{
    setup,
    shell::{Failure, output_of, project, run},
    web,
};

/// What every run of the demo says.
const FLIGHTS: &[&str] = &[
    "enrich",
    "examples/flights.json",
    "--key",
    "origin",
    "--lookup",
    "csv:examples/airports.csv",
    "--lookup-key",
    "iata",
    "--as",
    "origin_airport",
    "--event-time",
    "date",
    "--event-time-format",
    "%Y/%m/%d %H:%M",
    "--stats",
    "json",
];

/// Builds what is needed and shows it.
pub(crate) fn run_demo() -> Result<(), Failure> {
    setup::targets()?;
    eprintln!("building the component and the command line (the first time takes some minutes)");
    run("cargo", &["build", "--release", "--package", "lookaside"])?;
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("joined.ndjson").display().to_string();

    println!("\n2,000 US flights, each joined with the airport that it leaves from:\n");
    println!(
        "  lookaside {}\n",
        FLIGHTS[..FLIGHTS.len() - 2].iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    );
    let stats = lookaside(&["--order", "unordered", "-o", &output])?;
    for line in std::fs::read_to_string(&output)?.lines().take(3) {
        println!("  {}", joined(line)?);
    }
    println!("  ...\n");
    for outcome in ["found", "missing", "failed", "timed-out"] {
        println!("  {outcome:>10} {:>6}", count(&stats, outcome));
    }
    println!("  {:>10} {:>6} records a second", "rate", count(&stats, "records-per-second"));

    println!("\nWhy asynchrony pays: the same lookups, each with a latency of 5 ms\n");
    println!("  {:<28} {:>8} {:>12} {:>8}", "", "seconds", "records/s", "times");
    let mut one_by_one = None;
    for (name, order, capacity) in [
        ("one by one", "ordered", "1"),
        ("100 in flight, ordered", "ordered", "100"),
        ("100 in flight, unordered", "unordered", "100"),
    ] {
        let stats = lookaside(&["--order", order, "--capacity", capacity, "--lookup-latency", "5ms", "-o", &output])?;
        let seconds = stats["seconds"].as_f64().unwrap_or_default();
        let times = one_by_one.get_or_insert(seconds) as &f64 / seconds;
        println!("  {name:<28} {seconds:>8.2} {:>12} {times:>8.1}", count(&stats, "records-per-second"));
    }
    println!("\nNext: target/release/lookaside enrich --help");
    println!("To watch the operator at work: cargo xtask web, which serves http://127.0.0.1:{}/", web::PORT);
    Ok(())
}

/// Runs the command line; gives its final counters.
fn lookaside(more: &[&str]) -> Result<Value, Failure> {
    let program = project().join("target").join("release").join("lookaside").display().to_string();
    let (_, stderr) = output_of(&program, &[FLIGHTS, more].concat())?;
    let line = stderr.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|error| Failure::Unexpected(format!("the counters {line}: {error}")))
}

/// A joined flight for people.
fn joined(line: &str) -> Result<String, Failure> {
    let record: Value =
        serde_json::from_str(line).map_err(|error| Failure::Unexpected(format!("the record {line}: {error}")))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let airport = &record["origin_airport"];
    Ok(format!(
        "{}  {} to {}: from {}, {} {}",
        text(&record["date"]),
        text(&record["origin"]),
        text(&record["destination"]),
        text(&airport["name"]),
        text(&airport["city"]),
        text(&airport["state"]),
    ))
}

fn count(stats: &Value, name: &str) -> u64 {
    stats[name].as_u64().unwrap_or_default()
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '%']) { format!("'{word}'") } else { word.to_owned() }
}
