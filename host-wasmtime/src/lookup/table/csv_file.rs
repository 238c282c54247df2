//! Tables as CSV and TSV.

use std::path::Path;

use bytes::Bytes;

use super::{Row, Table, TableError};
use crate::{json, lookup::KeyValue};

/// Reads the rows of a file with a header; every cell becomes a JSON text.
pub(super) fn read(table: &mut Table, path: &Path, delimiter: u8) -> Result<(), TableError> {
    let unreadable = |source| TableError::Unreadable { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(file);
    let bad = |error: csv::Error| bad_line(path, error);
    let header = reader.headers().map_err(bad)?.clone();
    let columns: Vec<String> = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
    let key_positions = positions(path, &columns, &table.key_columns)?;

    let mut rows = Vec::new();
    let mut whole_numbers = vec![true; key_positions.len()];
    for record in reader.records() {
        let record = record.map_err(|error| bad_line(path, error))?;
        let key: Vec<String> = key_positions.iter().map(|&position| record[position].to_owned()).collect();
        for (whole, cell) in whole_numbers.iter_mut().zip(&key) {
            *whole &= cell.is_empty() || is_whole_number(cell);
        }
        rows.push((key, to_json(&columns, &record)));
    }
    for (key, json) in rows {
        let key = (key.into_iter().zip(&whole_numbers))
            .map(|(cell, &whole)| match (cell.is_empty(), whole) {
                (true, _) => None,
                (false, true) => Some(KeyValue::Number(cell)),
                (false, false) => Some(KeyValue::Text(cell)),
            })
            .collect();
        table.insert(Row { key, json });
    }
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

fn to_json(columns: &[String], record: &csv::StringRecord) -> Bytes {
    let cells = columns.iter().map(String::as_str).zip(record.iter().map(json::text));
    Bytes::from(json::object(cells))
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
