//! Tables as CSV and TSV.

use std::path::Path;

use super::{Table, TableError, keyed_rows::KeyedRowsBuilder};
use crate::{
    json,
    lookup::{KeyKind, KeyWriter},
};

/// Reads the rows of a file with a header; every cell becomes a JSON text.
pub(super) fn read(table: &mut Table, path: &Path, delimiter: u8) -> Result<(), TableError> {
    let unreadable = |source| TableError::Unreadable { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).buffer_capacity(128 << 10).from_reader(file);
    let header = reader.headers().map_err(|error| bad_line(path, error))?.clone();
    let columns: Vec<String> = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
    let key_positions = positions(path, &columns, &table.key_columns)?;
    let names: Vec<Vec<u8>> = columns.iter().map(|column| json::name(column)).collect();

    let mut rows = KeyedRowsBuilder::default();
    // The cells of all keys: which type they have is known once all were seen.
    let mut cells = String::new();
    let mut cell_ends = Vec::new();
    let mut whole_numbers = vec![true; key_positions.len()];
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| bad_line(path, error))? {
        for (whole, &position) in whole_numbers.iter_mut().zip(&key_positions) {
            let cell = &record[position];
            *whole &= cell.is_empty() || is_whole_number(cell);
            cells.push_str(cell);
            cell_ends.push(cells.len());
        }
        rows.push_row(|row| json::write_texts(&names, record.iter(), row));
    }
    let kinds: Vec<KeyKind> =
        whole_numbers.iter().map(|&whole| if whole { KeyKind::Number } else { KeyKind::Text }).collect();
    let width = key_positions.len();
    for row in 0..rows.len() {
        let key = || {
            (row * width..(row + 1) * width)
                .map(|cell| &cells[if cell == 0 { 0 } else { cell_ends[cell - 1] }..cell_ends[cell]])
        };
        let is_null = key().any(str::is_empty);
        rows.push_key(|out| {
            if !is_null {
                let mut writer = KeyWriter::begin(out);
                for ((cell, kind), seen) in key().zip(&kinds).zip(&mut table.kinds) {
                    seen.insert(*kind);
                    match kind {
                        KeyKind::Number => writer.push_written(cell),
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

/// Whether a text is a whole number written in the one way that gives it back.
fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').filter(|digits| *digits != "0").unwrap_or(text);
    let first = digits.as_bytes().first();
    digits.bytes().all(|byte| byte.is_ascii_digit()) && first.is_some_and(|first| *first != b'0' || digits == "0")
}

fn bad_line(path: &Path, error: csv::Error) -> TableError {
    let line = error.position().map_or(0, csv::Position::line);
    let reason = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => TableError::Unreadable { path: path.to_owned(), source },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => TableError::BadLine {
            path: path.to_owned(),
            line,
            reason: format!("{len} values where the header has {expected_len}"),
        },
        csv::ErrorKind::Utf8 { .. } => {
            TableError::BadLine { path: path.to_owned(), line, reason: "it is no UTF-8".into() }
        }
        _ => TableError::BadLine { path: path.to_owned(), line, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::is_whole_number;

    #[test]
    fn whole_numbers_are_those_that_digits_give_back() {
        for text in ["0", "7", "-7", "120", "9007199254740993"] {
            assert!(is_whole_number(text), "{text}");
        }
        for text in ["", "-", "007", "-0", "+7", "7.0", "7 ", "1e3", "N7"] {
            assert!(!is_whole_number(text), "{text}");
        }
    }
}
