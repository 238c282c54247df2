//! What no operator in a component can go below: a copy of the bytes, and a call.

use std::hint::black_box;

use lookaside::{Instant, OperatorComponent, Options};

use crate::meter::Meter;

/// Bytes that are copied in a measurement.
const COPIED: usize = 1 << 30;
/// Calls in a measurement.
const CALLS: usize = 200_000;
/// Records whose bytes lie in a row, as in a batch.
const BATCH: usize = 100;

/// CPU microseconds of one copy of the bytes of a record, in batches of a hundred.
pub(crate) fn copy_us(record_bytes: usize) -> f64 {
    let from = vec![1_u8; record_bytes * BATCH];
    let mut to = vec![0_u8; record_bytes * BATCH];
    let batches = (COPIED / from.len()).max(1);
    let meter = Meter::start();
    for _ in 0..batches {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
    meter.stop(batches * BATCH).cpu_us()
}

/// CPU microseconds of a call into the component that finds nothing to do: the poll of an operator without records, which
/// asks the host for answers, and gives columns without rows.
pub(crate) fn call_us() -> anyhow::Result<f64> {
    let mut operator = OperatorComponent::bundled()?.open(&Options::default(), Instant(0))?;
    let meter = Meter::start();
    for now in 0..CALLS as u64 {
        black_box(operator.poll(0, 0, Instant(now))?);
    }
    Ok(meter.stop(CALLS).cpu_us())
}
