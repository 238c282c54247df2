//! What is told of one repetition.

use clap::ValueEnum;
use serde_json::json;

use super::{Arguments, sink::Arrived};

/// Prints a repetition as one line of JSON.
pub(super) fn print_line(arguments: &Arguments, repetition: u32, arrived: Arrived) -> anyhow::Result<()> {
    let Arrived { cost, mut latencies } = arrived;
    latencies.sort_unstable();
    let quantile = |part: f64| {
        let place = ((part * latencies.len() as f64) as usize).min(latencies.len().saturating_sub(1));
        latencies.get(place).copied().unwrap_or_default() as f64 / 1e3
    };
    let line = json!({
        "peer": arguments.peer.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned()),
        "version": env!("CARGO_PKG_VERSION"),
        "workload": arguments.workload.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned()),
        "mode": arguments.mode,
        "capacity": arguments.capacity,
        "watermark_every": arguments.watermark_every,
        "timeout_ms": arguments.timeout_ms,
        "payload": arguments.payload.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned()),
        "rep": repetition,
        "records": cost.records,
        "seconds": round(cost.seconds, 3),
        "records_per_second": cost.rate().round(),
        "cpu_us_per_record": round(cost.cpu_us(), 4),
        "p50_us": round(quantile(0.50), 1),
        "p99_us": round(quantile(0.99), 1),
        "max_rss_mb": peak_memory()?.round(),
    });
    println!("{line}");
    Ok(())
}

fn round(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// The most memory that this process has held, in MB.
fn peak_memory() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok());
    Ok(kilobytes.unwrap_or_default() / 1024.0)
}
