//! Tables in memory: CSV, TSV, NDJSON and JSON files.

mod csv_file;
mod json_file;
mod keyed_rows;

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use futures::future::BoxFuture;
use lookaside_core::{FailureKind, LookupError, Rows};

use super::{KeyKind, KeyValue, LookupBatch, LookupProvider, read_key, write_key};
use keyed_rows::{Candidate, KeyedRows};

/// How a table file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Values parted by a byte, such as `,` or a tab; the first line names the columns.
    Delimited(u8),
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
    /// The file has no such column.
    #[error("{} has no column {column}; it has {}", .path.display(), .columns.join(", "))]
    NoColumn {
        /// Which file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns that are there.
        columns: Vec<String>,
    },
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
    untyped_keys: bool,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).field("rows", &self.len()).finish_non_exhaustive()
    }
}

impl Table {
    /// Reads the table in `path`, indexed by `key_columns`.
    ///
    /// In a CSV file a key column whose values are all whole numbers holds numbers, any other
    /// texts; all other columns are texts. In a JSON file each value has its own type.
    ///
    /// # Errors
    ///
    /// [`TableError`], with the line that is wrong.
    pub fn read(path: &Path, format: TableFormat, key_columns: &[String]) -> Result<Self, TableError> {
        let mut table = Self {
            name: path.display().to_string(),
            key_columns: key_columns.to_vec(),
            columns: Vec::new(),
            kinds: vec![BTreeSet::new(); key_columns.len()],
            rows: KeyedRows::default(),
            untyped_keys: false,
        };
        match format {
            TableFormat::Delimited(delimiter) => csv_file::read(&mut table, path, delimiter)?,
            TableFormat::Json => json_file::read(&mut table, path)?,
        }
        Ok(table)
    }

    /// The same table for a stream without types, such as CSV: a text in a key also finds the
    /// number or boolean that is written like it.
    #[must_use]
    pub fn with_untyped_keys(self) -> Self {
        Self { untyped_keys: true, ..self }
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
        let mut changed = false;
        for (number, kinds) in self.kinds.iter().enumerate() {
            if kinds.contains(&values[number].kind()) {
                continue;
            }
            match self.retyped(&values[number], kinds) {
                Some(value) => values[number] = value,
                None if self.untyped_keys => return Ok(Rows::None),
                None => return Err(self.mismatch(number, &values[number])),
            }
            changed = true;
        }
        if !changed {
            return Ok(Rows::None);
        }
        let key = write_key(&values);
        Ok(self.rows.find(&key, self.candidate(&key)).unwrap_or_default())
    }

    /// A text of an untyped stream as the type that its column has.
    fn retyped(&self, value: &KeyValue, kinds: &BTreeSet<KeyKind>) -> Option<KeyValue> {
        let KeyValue::Text(text) = value else { return None };
        if !self.untyped_keys || serde_json::from_str::<serde_json::Value>(text).is_err() {
            return None;
        }
        KeyValue::from_json(text).filter(|value| kinds.contains(&value.kind()))
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
}
