//! Where joined records go: NDJSON, JSON arrays, CSV and TSV.

mod delimited;
mod json_lines;

use std::io::{self, Write};

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
    pub fn sink(self, output: Box<dyn Write + Send>) -> Box<dyn Sink> {
        match self {
            Self::Ndjson => Box::new(json_lines::JsonLines::new(output, false)),
            Self::Json => Box::new(json_lines::JsonLines::new(output, true)),
            Self::Csv => Box::new(delimited::Delimited::new(output, b',')),
            Self::Tsv => Box::new(delimited::Delimited::new(output, b'\t')),
        }
    }
}
