//! Where joined records go: NDJSON, JSON arrays, CSV and TSV.

mod delimited;
mod json_lines;
mod output;

use std::io;

pub use output::{Growth, Output};

use crate::source::Format;

/// Writing went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The bytes cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The record does not fit the format.
    #[error("record {record} does not fit: {reason}")]
    DoesNotFit {
        /// From 1, in the order of output.
        record: u64,
        /// Why, and what to do.
        reason: String,
    },
}

impl SinkError {
    /// Whether nobody reads the output any more.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Takes joined records, one after another. May block.
pub trait Sink: Send {
    /// Says which fields records have, before the first one is written. A format that has no columns need not know.
    fn set_columns(&mut self, _columns: Vec<String>) {}

    /// Whether nobody has to say which fields records have.
    fn has_columns(&self) -> bool {
        true
    }

    /// Writes one record, a JSON object on one line.
    ///
    /// # Errors
    ///
    /// [`SinkError`]; the record is not written then.
    fn write(&mut self, json: &str) -> Result<(), SinkError>;

    /// Has everything so far reach its destination.
    ///
    /// # Errors
    ///
    /// [`SinkError::Io`].
    fn flush(&mut self) -> Result<(), SinkError>;

    /// Ends the output.
    ///
    /// # Errors
    ///
    /// [`SinkError::Io`].
    fn finish(&mut self) -> Result<(), SinkError>;
}

impl Format {
    /// Writes records so into `output`.
    #[must_use]
    pub fn sink(self, output: Output) -> Box<dyn Sink> {
        match self {
            Self::Ndjson => Box::new(json_lines::JsonLines::new(output, false)),
            Self::Json => Box::new(json_lines::JsonLines::new(output, true)),
            Self::Csv => Box::new(delimited::Delimited::csv(output)),
            Self::Tsv => Box::new(delimited::Delimited::tsv(output)),
        }
    }
}
