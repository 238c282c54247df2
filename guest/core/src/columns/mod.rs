//! Batches as columns: how elements, requests and answers cross the contract.
//!
//! Each batch holds flat lists that go over a component's boundary with one copy a list. What
//! comes from the other side is hostile until [`checked`](Malformed): lengths that disagree, ends that go back.

mod byte_strings;
mod completions;
mod outputs;
mod records;
mod requests;

pub use byte_strings::{ByteStrings, ByteStringsBuilder};
pub(crate) use completions::AttemptEnd;
pub use completions::{CompletionBatch, CompletionBatchBuilder};
pub use outputs::{JoinedRow, OutputBatch, OutputBatchBuilder};
pub use records::{RecordBatch, RecordBatchBuilder};
pub use requests::{RequestBatch, RequestBatchBuilder, RequestRow};

use alloc::{format, string::String};

/// Columns that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

/// Checks that a column has a row for each of the batch.
fn same_length(column: &str, rows: usize, expected: usize) -> Result<(), Malformed> {
    if rows == expected {
        return Ok(());
    }
    Err(Malformed(format!("column {column} has {rows} rows where the batch has {expected}")))
}

/// Checks that the counts of a column of lists add up to its rows.
fn counts_add_up(counts: &[u32], rows: usize) -> Result<(), Malformed> {
    let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if sum == rows as u64 {
        return Ok(());
    }
    Err(Malformed(format!("the row counts add up to {sum} where column rows has {rows}")))
}

/// Checks that the column `keyless` names rows of the batch, each once and in order.
fn rising_rows(keyless: &[u32], rows: usize) -> Result<(), Malformed> {
    if let Some(pair) = keyless.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(Malformed(format!("column keyless: {} does not rise after {}", pair[1], pair[0])));
    }
    match keyless.last() {
        Some(&row) if row as usize >= rows => {
            Err(Malformed(format!("column keyless names row {row} where the batch has {rows}")))
        }
        _ => Ok(()),
    }
}
