//! What the operator itself costs: each workload in a process of its own, as a table.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{services::address, stores};

/// What is measured, and how much of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only these: w1, w2, w3, w4.
    only: Vec<String>,
    /// Multiplies the numbers of records.
    #[arg(long, default_value = "1")]
    scale: f64,
    /// Repetitions of each.
    #[arg(long, default_value_t = 3)]
    reps: u32,
    /// Leaves out the package in Node.
    #[arg(long)]
    without_node: bool,
}

/// One row of the table.
struct Case {
    peer: &'static str,
    workload: &'static str,
    mode: &'static str,
    capacity: u32,
    records: u64,
    watermark_every: u32,
    timeout_ms: u32,
}

const fn case(
    peer: &'static str,
    workload: &'static str,
    mode: &'static str,
    capacity: u32,
    records: u64,
    timeout_ms: u32,
) -> Case {
    Case { peer, workload, mode, capacity, records, watermark_every: 100, timeout_ms }
}

const CASES: &[Case] = &[
    case("project", "w1", "ordered", 100, 5_000_000, 0),
    case("project", "w1", "ordered", 100, 5_000_000, 10_000),
    case("project", "w1", "ordered", 10_000, 5_000_000, 0),
    case("project", "w1", "ordered", 1_000_000, 5_000_000, 0),
    case("project", "w1", "unordered", 100, 5_000_000, 0),
    case("project", "w1", "unordered", 100, 5_000_000, 10_000),
    case("project", "w1", "unordered", 10_000, 5_000_000, 0),
    case("project", "w1", "key-ordered", 100, 2_000_000, 0),
    case("project-native", "w1", "ordered", 100, 5_000_000, 0),
    case("project-native", "w1", "ordered", 10_000, 5_000_000, 0),
    case("project-native", "w1", "unordered", 100, 5_000_000, 0),
    case("project-native", "w1", "unordered", 10_000, 5_000_000, 0),
    case("project-native", "w2", "ordered", 1_000, 1_000_000, 0),
    case("project-native", "w3", "ordered", 1_000, 100_000, 0),
    case("project-node", "w1", "ordered", 100, 1_000_000, 0),
    case("project-node", "w1", "ordered", 10_000, 1_000_000, 0),
    case("project-node", "w1", "unordered", 100, 1_000_000, 0),
    case("project", "w2", "ordered", 1_000, 1_000_000, 0),
    case("project", "w2", "unordered", 1_000, 1_000_000, 0),
    case("project", "w2", "ordered", 10_000, 2_000_000, 0),
    case("project", "w2", "unordered", 10_000, 2_000_000, 0),
    case("project", "w3", "ordered", 1_000, 100_000, 0),
    case("project", "w3", "unordered", 1_000, 100_000, 0),
    Case { watermark_every: 0, ..case("project", "w3", "unordered", 1_000, 1_000_000, 0) },
    case("project", "w4", "ordered", 1_000, 1_000_000, 0),
    case("project", "w4", "unordered", 1_000, 1_000_000, 0),
    case("project-node", "w3", "ordered", 1_000, 100_000, 0),
    case("project-node", "w3", "unordered", 1_000, 300_000, 0),
    case("project-node", "w4", "ordered", 1_000, 300_000, 0),
    case("project-node", "w4", "unordered", 1_000, 300_000, 0),
];

/// Measures, and prints a table.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let is_wanted = |case: &&Case| {
        (arguments.only.is_empty() || arguments.only.iter().any(|only| only == case.workload))
            && !(arguments.without_node && case.peer == "project-node")
    };
    let cases: Vec<&Case> = CASES.iter().filter(is_wanted).collect();
    let mut port = String::from("6379");
    if cases.iter().any(|case| case.workload == "w4") {
        let address = address("redis", "REDIS_URL")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(stores::fill_redis(&address, 1_000_000))?;
        port = url::Url::parse(&address)?.port().context("Redis has a port")?.to_string();
    }
    println!(
        "| workload | order | capacity | timeout | watermarks | what | CPU us a record | records a second | p50 us | p99 us |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for case in cases {
        let lines = case.measure(arguments, &port).with_context(|| format!("{} {}", case.peer, case.workload))?;
        case.print(&lines);
    }
    Ok(())
}

impl Case {
    /// A line for each repetition.
    fn measure(&self, arguments: &Arguments, port: &str) -> anyhow::Result<Vec<Value>> {
        let records = ((self.records as f64 * arguments.scale) as u64).max(1_000);
        let mut command = if self.peer == "project-node" {
            let mut node = Command::new("node");
            node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/bench/peer.mjs"));
            node
        } else {
            Command::new(std::env::current_exe()?)
        };
        let flags = [
            ("--peer", self.peer.to_owned()),
            ("--workload", self.workload.to_owned()),
            ("--mode", self.mode.to_owned()),
            ("--capacity", self.capacity.to_string()),
            ("--records", records.to_string()),
            ("--warmup", (records / 5).to_string()),
            ("--reps", arguments.reps.to_string()),
            ("--watermark-every", self.watermark_every.to_string()),
            ("--timeout-ms", self.timeout_ms.to_string()),
            ("--redis-port", port.to_owned()),
        ];
        let output = command.args(flags.iter().flat_map(|(name, value)| [*name, value])).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    fn print(&self, lines: &[Value]) {
        let spread = |name: &str, digits: usize| {
            let mut values: Vec<f64> = lines.iter().filter_map(|line| line[name].as_f64()).collect();
            values.sort_by(f64::total_cmp);
            let (Some(least), Some(most)) = (values.first(), values.last()) else { return String::new() };
            format!("{:.digits$} ({least:.digits$} to {most:.digits$})", values[values.len() / 2])
        };
        let or_none = |number: u32, unit: &str| if number == 0 { "none".into() } else { format!("{number}{unit}") };
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.workload,
            self.mode,
            self.capacity,
            or_none(self.timeout_ms, " ms"),
            or_none(self.watermark_every, ""),
            self.peer,
            spread("cpu_us_per_record", 3),
            spread("records_per_second", 0),
            spread("p50_us", 0),
            spread("p99_us", 0),
        );
    }
}
