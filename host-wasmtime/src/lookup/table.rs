//! Tables in memory: CSV, TSV, NDJSON and JSON files.

mod csv_file;
mod json_file;
mod keyed_rows;

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use futures::future::BoxFuture;
use lookaside_core::{FailureKind, LookupError, Rows};

use super::{KeyKind, KeyValue, LookupBatch, LookupProvider, read_key, write_key};
use crate::{
    delimited::{Dialect, nearest},
    text::{Packing, Unpacked},
};
use keyed_rows::{Candidate, KeyedRows};

/// How a table file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Values parted by a delimiter, as CSV and TSV.
    Delimited(Dialect),
    /// Objects: one a line, or an array of them.
    Json,
}

/// A table file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It cannot be read.
    #[error("cannot read the table {}", .path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {reason}", .path.display())]
    BadLine {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What was expected and what is there.
        reason: String,
    },
    /// What follows cannot be told apart into rows.
    #[error("{}:{line}: {reason}", .path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What was expected and what is there.
        reason: String,
    },
    /// The file has no such column.
    #[error("{} has no column {column}; {}", .path.display(), columns_there(.column, .columns))]
    NoColumn {
        /// Which file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns that are there.
        columns: Vec<String>,
    },
}

/// The columns that a file has, and which of them may be meant.
pub(crate) fn columns_there(wanted: &str, columns: &[String]) -> String {
    /// What is more helps nobody.
    const SHOWN: usize = 20;
    let shown: Vec<String> = columns.iter().take(SHOWN).map(|column| shown_name(column)).collect();
    let more = if columns.len() > SHOWN { format!(" and {} more", columns.len() - SHOWN) } else { String::new() };
    let meant = nearest(wanted, columns.iter().map(String::as_str))
        .map(|name| format!("; did you mean {}?", shown_name(name)))
        .unwrap_or_default();
    format!("it has {}{more}{meant}", shown.join(", "))
}

/// A name as it has to be written: in quotes where it would not be seen as one.
fn shown_name(name: &str) -> String {
    let is_plain = !name.is_empty() && name.trim() == name && !name.contains([',', '.', '"', '[']);
    if is_plain { name.to_owned() } else { crate::json::text(name) }
}

/// A table in memory, indexed by its key. Rows with a null in the key are never found.
pub struct Table {
    name: String,
    key_columns: Vec<String>,
    columns: Vec<String>,
    /// The types that each key column's values have.
    kinds: Vec<BTreeSet<KeyKind>>,
    rows: KeyedRows,
    /// Whether texts in keys stand for whatever type the column has.
    untyped_keys: AtomicBool,
    /// Whether rows that cannot be read are passed over, and how many were.
    skips: bool,
    skipped: u64,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).field("rows", &self.len()).finish_non_exhaustive()
    }
}

impl Table {
    /// Reads the table in `path`, indexed by `key_columns`.
    ///
    /// In a CSV file a key column whose values are all decimal numbers holds numbers, unless two of them mean the same one
    /// (1.1 and 1.10 are versions then, and not numbers); any other holds texts, and all other columns do.
    /// In a JSON file each value has its own type.
    ///
    /// # Errors
    ///
    /// [`TableError`], with the line that is wrong.
    pub fn read(path: &Path, format: TableFormat, key_columns: &[String]) -> Result<Self, TableError> {
        Self::read_rows(path, format, key_columns, false)
    }

    /// As [`Self::read`], but rows that cannot be read are passed over; [`Self::skipped`] says how many were.
    ///
    /// # Errors
    ///
    /// [`TableError`] where the file cannot be told apart into rows.
    pub fn read_skipping(path: &Path, format: TableFormat, key_columns: &[String]) -> Result<Self, TableError> {
        Self::read_rows(path, format, key_columns, true)
    }

    fn read_rows(path: &Path, format: TableFormat, key_columns: &[String], skips: bool) -> Result<Self, TableError> {
        let mut table = Self {
            name: path.display().to_string(),
            key_columns: key_columns.to_vec(),
            columns: Vec::new(),
            kinds: vec![BTreeSet::new(); key_columns.len()],
            rows: KeyedRows::default(),
            untyped_keys: AtomicBool::new(false),
            skips,
            skipped: 0,
        };
        match format {
            TableFormat::Delimited(dialect) => csv_file::read(&mut table, path, dialect)?,
            TableFormat::Json => json_file::read(&mut table, path)?,
        }
        Ok(table)
    }

    /// How many rows were passed over.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Passes over a bad row, where that is wanted.
    fn skip(&mut self, error: TableError) -> Result<(), TableError> {
        if !self.skips {
            return Err(error);
        }
        tracing::info!("skipped {error}");
        self.skipped += 1;
        Ok(())
    }

    /// Opens a table file, unpacked.
    fn open(path: &Path) -> Result<Unpacked, TableError> {
        let file = std::fs::File::open(path);
        let file = file.map_err(|source| TableError::Unreadable { path: path.to_owned(), source })?;
        Ok(Unpacked::new(Box::new(file), Packing::of_path(path)))
    }

    /// How many rows can be found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none can.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// The rows of a key.
    ///
    /// # Errors
    ///
    /// A rejected lookup where the key has a type that its column never has: it could only miss.
    pub fn find(&self, key: &[u8]) -> Result<Rows, LookupError> {
        self.find_from(key, self.candidate(key))
    }

    fn candidate(&self, key: &[u8]) -> Candidate {
        self.rows.candidates(std::iter::once(key))[0]
    }

    fn find_from(&self, key: &[u8], candidate: Candidate) -> Result<Rows, LookupError> {
        if let Some(rows) = self.rows.find(key, candidate) {
            return Ok(rows);
        }
        if self.is_empty() {
            return Ok(Rows::None);
        }
        let mut values = read_key(key)?;
        if values.len() != self.key_columns.len() {
            return Err(LookupError::new(
                FailureKind::Rejected,
                format!(
                    "the key has {} values and {} is looked up by {}",
                    values.len(),
                    self.name,
                    self.key_columns.len()
                ),
            ));
        }
        if !self.untyped_keys.load(Ordering::Relaxed) {
            let stranger =
                self.kinds.iter().enumerate().find(|&(number, kinds)| !kinds.contains(&values[number].kind()));
            return stranger.map_or(Ok(Rows::None), |(number, _)| Err(self.mismatch(number, &values[number])));
        }
        Ok(self.find_retyped(&mut values, 0))
    }

    /// The rows of the first key that has `values`, each from `from` on as it is or as the value that it spells.
    fn find_retyped(&self, values: &mut [KeyValue], from: usize) -> Rows {
        if from == values.len() {
            let key = write_key(values);
            return self.rows.find(&key, self.candidate(&key)).unwrap_or_default();
        }
        let text = values[from].clone();
        let spelled = spelled(&text).filter(|value| self.kinds[from].contains(&value.kind()));
        for value in self.kinds[from].contains(&text.kind()).then_some(text).into_iter().chain(spelled) {
            values[from] = value;
            let rows = self.find_retyped(values, from + 1);
            if !rows.is_empty() {
                return rows;
            }
        }
        Rows::None
    }

    fn mismatch(&self, number: usize, value: &KeyValue) -> LookupError {
        let kinds: Vec<&str> = self.kinds[number].iter().map(|kind| kind.name()).collect();
        LookupError::new(
            FailureKind::Rejected,
            format!(
                "the key {value} is {}, and column {} of {} has {} in every row",
                value.kind().name(),
                self.key_columns[number],
                self.name,
                kinds.join(" or "),
            ),
        )
    }
}

/// The number or boolean that a text spells.
fn spelled(value: &KeyValue) -> Option<KeyValue> {
    let KeyValue::Text(text) = value else { return None };
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    KeyValue::from_json(text).filter(|value| value.kind() != KeyKind::Text)
}

impl LookupProvider for Table {
    /// Answers at once: the rows are in memory.
    fn lookup(&self, batch: LookupBatch) -> BoxFuture<'static, ()> {
        let mut candidates = self.rows.candidates(batch.rows().map(|asked| asked.key)).into_iter();
        batch.answer_all(|asked| {
            let candidate = candidates.next().unwrap_or_else(|| self.candidate(asked.key));
            self.find_from(asked.key, candidate)
        });
        Box::pin(std::future::ready(()))
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }

    fn answers_at_once(&self) -> bool {
        true
    }

    fn take_untyped_keys(&self) {
        self.untyped_keys.store(true, Ordering::Relaxed);
    }
}
