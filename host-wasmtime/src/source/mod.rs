//! Where records come from: NDJSON, JSON arrays, CSV and TSV, from files and pipes.

mod delimited;
mod guess;
mod input;
mod json;
mod ndjson;

use std::{io::BufRead, path::Path};

pub use guess::guess;
pub use input::{BeforeRead, open};

use crate::delimited::Dialect;

/// The longest record that is read, in bytes.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// How records are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// One JSON object a line.
    Ndjson,
    /// An array of JSON objects, or objects one after another, on any number of lines.
    Json,
    /// Values parted by commas; the first line names the fields.
    Csv,
    /// Values parted by tabs, with the escapes \t, \n and \\; the first line names the fields.
    Tsv,
}

impl Format {
    /// The format that a file's name says, a `.gz` or `.zst` behind it passed over.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "ndjson" | "jsonl" | "jsonlines" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "gz" | "zst" | "zstd" => Self::of_path(Path::new(path.file_stem()?)),
            _ => None,
        }
    }

    /// Whether its values are all texts.
    #[must_use]
    pub fn is_untyped(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// How its values are parted, where they are.
    #[must_use]
    pub fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Ndjson | Self::Json => None,
            Self::Csv => Some(Dialect::CSV),
            Self::Tsv => Some(Dialect::TSV),
        }
    }

    /// Reads records that are written so; `dialect` is how values are parted, where it is not the format's own.
    #[must_use]
    pub fn source(self, input: Box<dyn BufRead + Send>, dialect: Option<Dialect>) -> Box<dyn Source> {
        match self {
            Self::Ndjson => Box::new(ndjson::Ndjson::new(input)),
            Self::Json => Box::new(json::Json::new(input)),
            Self::Csv => Box::new(delimited::Delimited::new(input, dialect.unwrap_or(Dialect::CSV))),
            Self::Tsv => Box::new(delimited::Delimited::new(input, dialect.unwrap_or(Dialect::TSV))),
        }
    }
}

/// One record as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRecord<'a> {
    /// A text that should be a JSON object; it was not looked into.
    pub text: &'a [u8],
    /// The line that it begins on, from 1.
    pub line: u64,
}

/// Reading went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The bytes cannot be had.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A record is not what it should be; the next one may be.
    #[error("line {line}: {reason}")]
    BadRecord {
        /// From 1.
        line: u64,
        /// What was expected and what is there.
        reason: String,
    },
    /// What follows cannot be told apart into records.
    #[error("line {line}: {reason}")]
    Broken {
        /// From 1.
        line: u64,
        /// What was expected and what is there.
        reason: String,
    },
}

/// Gives records, one after another. May block.
pub trait Source: Send {
    /// The fields that each record has, where the format says so before the first.
    ///
    /// # Errors
    ///
    /// [`SourceError`] where that cannot be read.
    fn columns(&mut self) -> Result<Option<&[String]>, SourceError> {
        Ok(None)
    }

    /// The next record; none at the end.
    ///
    /// # Errors
    ///
    /// [`SourceError`]; only after [`SourceError::BadRecord`] does it make sense to go on.
    fn next(&mut self) -> Result<Option<SourceRecord<'_>>, SourceError>;
}

fn too_long(line: u64) -> SourceError {
    let limit = MAX_RECORD_BYTES >> 20;
    SourceError::BadRecord { line, reason: format!("a record of more than {limit} MiB") }
}
