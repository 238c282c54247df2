//! Tables as CSV and TSV.

use std::{collections::HashMap, path::Path};

use super::{Table, TableError, keyed_rows::KeyedRowsBuilder};
use crate::{
    delimited::{DelimitedError, DelimitedReader, Dialect},
    json,
    lookup::{KeyKind, KeyValue, KeyWriter},
};

/// Reads the rows of a file; every cell becomes a JSON text.
pub(super) fn read(table: &mut Table, path: &Path, dialect: Dialect) -> Result<(), TableError> {
    let bad = |error: DelimitedError| match error {
        DelimitedError::Io(source) => TableError::Unreadable { path: path.to_owned(), source },
        DelimitedError::BadRow { line, reason } => TableError::BadLine { path: path.to_owned(), line, reason },
        DelimitedError::Broken { line, reason } => TableError::Broken { path: path.to_owned(), line, reason },
    };
    let mut reader = DelimitedReader::new(Box::new(Table::open(path)?), dialect);
    let columns = reader.columns().map_err(bad)?.to_vec();
    let key_positions = positions(path, &columns, &table.key_columns)?;
    let names: Vec<Vec<u8>> = columns.iter().map(|column| json::name(column)).collect();

    let mut rows = KeyedRowsBuilder::default();
    // The cells of all keys: which type they have is known once all were seen.
    let mut cells = Cells { texts: String::new(), ends: Vec::new(), width: key_positions.len() };
    let mut row = csv::StringRecord::new();
    loop {
        match reader.read(&mut row) {
            Ok(None) => break,
            Ok(Some(_)) => {}
            Err(error @ DelimitedError::BadRow { .. }) => {
                table.skip(bad(error))?;
                continue;
            }
            Err(error) => return Err(bad(error)),
        }
        for &position in &key_positions {
            cells.push(&dialect.value(&row[position]));
        }
        rows.push_row(|out| json::write_texts(&names, reader.values(&row), out));
    }
    let kinds: Vec<KeyKind> = (0..cells.width).map(|column| cells.kind(column)).collect();
    for row in 0..rows.len() {
        let is_null = cells.of_row(row).any(str::is_empty);
        rows.push_key(|out| {
            if !is_null {
                let mut writer = KeyWriter::begin(out);
                for ((cell, kind), seen) in cells.of_row(row).zip(&kinds).zip(&mut table.kinds) {
                    seen.insert(*kind);
                    match kind {
                        KeyKind::Number => drop(writer.push_json(cell)),
                        _ => writer.push_text(cell),
                    }
                }
                writer.end();
            }
        });
    }
    table.rows = rows.build();
    table.columns = columns;
    Ok(())
}

/// The cells of all keys, row by row.
struct Cells {
    texts: String,
    ends: Vec<usize>,
    width: usize,
}

impl Cells {
    fn push(&mut self, cell: &str) {
        self.texts.push_str(cell);
        self.ends.push(self.texts.len());
    }

    fn get(&self, cell: usize) -> &str {
        &self.texts[if cell == 0 { 0 } else { self.ends[cell - 1] }..self.ends[cell]]
    }

    fn of_row(&self, row: usize) -> impl Iterator<Item = &str> {
        (row * self.width..(row + 1) * self.width).map(|cell| self.get(cell))
    }

    /// Numbers where all cells are, and no two that differ mean the same one.
    fn kind(&self, column: usize) -> KeyKind {
        let cells =
            || (column..self.ends.len()).step_by(self.width).map(|cell| self.get(cell)).filter(|cell| !cell.is_empty());
        if !cells().all(is_decimal) {
            return KeyKind::Text;
        }
        // Whole numbers are written in one way alone.
        if cells().all(|cell| !cell.contains('.')) {
            return KeyKind::Number;
        }
        let mut spellings: HashMap<KeyValue, &str> = HashMap::new();
        let all_one = cells()
            .all(|cell| KeyValue::from_json(cell).is_some_and(|value| *spellings.entry(value).or_insert(cell) == cell));
        if all_one { KeyKind::Number } else { KeyKind::Text }
    }
}

fn positions(path: &Path, columns: &[String], wanted: &[String]) -> Result<Vec<usize>, TableError> {
    let position = |column: &String| {
        columns.iter().position(|candidate| candidate == column).ok_or_else(|| TableError::NoColumn {
            path: path.to_owned(),
            column: column.clone(),
            columns: columns.to_vec(),
        })
    };
    wanted.iter().map(position).collect()
}

/// Whether a text is a decimal number: digits without a zero before them, and maybe a fraction.
fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(digits) && (digits == "0" || !digits.starts_with('0')) && fraction.is_none_or(all_digits) && text != "-0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_numbers_without_a_zero_before_them() {
        for text in ["0", "7", "-7", "120", "9007199254740993", "7.0", "0.10", "-1.5"] {
            assert!(is_decimal(text), "{text}");
        }
        for text in ["", "-", "007", "-0", "+7", "7 ", "1e3", "N7", "7.", ".5", "1.2.3", "00.5"] {
            assert!(!is_decimal(text), "{text}");
        }
    }

    #[test]
    fn a_column_of_versions_holds_texts() {
        let kind = |column: &[&str]| {
            let mut cells = Cells { texts: String::new(), ends: Vec::new(), width: 1 };
            column.iter().for_each(|cell| cells.push(cell));
            cells.kind(0)
        };
        assert_eq!(kind(&["1.50", "0.1", "", "3"]), KeyKind::Number);
        assert_eq!(kind(&["1.1", "1.1"]), KeyKind::Number);
        assert_eq!(kind(&["1.1", "1.10"]), KeyKind::Text);
        assert_eq!(kind(&["1", "A1"]), KeyKind::Text);
    }
}
