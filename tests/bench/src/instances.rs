//! What operators cost before they do anything, and what a record holds while it is in flight.

use std::{num::NonZero, time::Instant};

use anyhow::Context;
use lookaside::{Instant as OperatorInstant, OperatorComponent, Options, Record, columns::RecordBatchBuilder};

/// How much of it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Operators that are open at once.
    #[arg(long, default_value_t = 1_000)]
    operators: usize,
    /// Records in flight at once.
    #[arg(long, default_value_t = 1_000_000)]
    records: u32,
}

/// A record's key and payload.
const RECORD_BYTES: usize = 12 + 100;
/// Records pushed together.
const BATCH: u32 = 1_000;

/// Measures, and prints what came of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let component = OperatorComponent::bundled()?;
    // The first one brings in what all share.
    drop(component.open(&Options::default(), OperatorInstant(0))?);
    let before = resident_bytes()?;
    let mut took = Vec::with_capacity(arguments.operators);
    let mut operators = Vec::with_capacity(arguments.operators);
    for _ in 0..arguments.operators {
        let start = Instant::now();
        operators.push(component.open(&Options::default(), OperatorInstant(0))?);
        took.push(start.elapsed().as_nanos() as f64 / 1e3);
    }
    took.sort_by(f64::total_cmp);
    let held = resident_bytes()?.saturating_sub(before) / arguments.operators.max(1);
    let median = took.get(took.len() / 2).copied().unwrap_or_default();
    println!("opening an operator: {median:.1} us (median of {})", took.len());
    println!("an idle operator: {} KB", held / 1024);
    drop(operators);

    let capacity = NonZero::new(arguments.records).context("--records: at least 1")?;
    let mut operator = component.open(&Options { capacity, ..Options::default() }, OperatorInstant(0))?;
    let before = resident_bytes()?;
    for first in (0..arguments.records).step_by(BATCH as usize) {
        let mut batch = RecordBatchBuilder::default();
        for number in first..(first + BATCH).min(arguments.records) {
            batch.push(&Record::new(format!("{number:012}"), vec![b'v'; 100]));
        }
        operator.push_records(batch, OperatorInstant(0))?;
        drop(operator.take_request_batches());
    }
    let a_record = resident_bytes()?.saturating_sub(before) / arguments.records as usize;
    let more = a_record.saturating_sub(RECORD_BYTES);
    println!("a record in flight: {a_record} bytes, {more} more than its key and its payload");
    Ok(())
}

/// The memory that this process has now.
pub(crate) fn resident_bytes() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: usize = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kilobytes * 1024)
}
