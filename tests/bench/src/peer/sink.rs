//! Where joined records arrive, and are checked.

use anyhow::ensure;
use lookaside::columns::OutputBatch;

use super::{
    Arguments, Workload,
    source::{Made, SAMPLE},
};
use crate::meter::{Cost, Meter};

/// A run, once the last record has arrived.
pub(super) struct Arrived {
    pub(super) cost: Cost,
    /// From the making of a sampled record to its arrival, in nanoseconds.
    pub(super) latencies: Vec<u64>,
}

/// Counts records, sums their numbers, and looks at what each has.
pub(super) struct Sink {
    is_ordered: bool,
    payload_bytes: usize,
    row_bytes: usize,
    count: u64,
    sum: u64,
    latencies: Vec<u64>,
    meter: Meter,
}

impl Sink {
    pub(super) fn start(arguments: &Arguments, is_ordered: bool, records: u64) -> Self {
        let latencies = Vec::with_capacity((records / SAMPLE + 1) as usize);
        // What Redis has is a text, which as a row of JSON stands in quotes.
        let row_bytes = if arguments.workload == Workload::W4 { 102 } else { 100 };
        Self {
            is_ordered,
            payload_bytes: arguments.payload_bytes as usize,
            row_bytes,
            count: 0,
            sum: 0,
            latencies,
            meter: Meter::start(),
        }
    }

    /// Takes a batch; `made` has when the sampled records were made.
    pub(super) fn take(&mut self, outputs: &OutputBatch, made: &Made) -> anyhow::Result<()> {
        for output in outputs.joined() {
            let mut rows = output.rows();
            ensure!(rows.len() == 1, "record {} has {} rows", output.event_time.0, rows.len());
            let is_whole = output.payload.len() == self.payload_bytes && rows.all(|row| row.len() == self.row_bytes);
            ensure!(is_whole, "record {} lacks bytes", output.event_time.0);
            let number = output.event_time.0 as u64;
            ensure!(!self.is_ordered || number == self.count, "record {number} came as number {}", self.count);
            self.sum += number;
            self.count += 1;
            if number.is_multiple_of(SAMPLE) {
                self.latencies.push(made.since(number));
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, records: u64) -> anyhow::Result<Arrived> {
        let cost = self.meter.stop(records as usize);
        ensure!(self.count == records, "{} of {records} records arrived", self.count);
        ensure!(self.sum == records * records.saturating_sub(1) / 2, "some records came twice");
        Ok(Arrived { cost, latencies: self.latencies })
    }
}
