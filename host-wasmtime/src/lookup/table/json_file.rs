//! Tables as JSON: an array of objects, or one object after another.

use std::{collections::BTreeMap, io::Read, path::Path};

use serde_json::value::RawValue;

use super::{Table, TableError, keyed_rows::KeyedRowsBuilder};
use crate::{json, lookup::KeyWriter, text};

/// Reads the rows of a file; they stay as they are written.
pub(super) fn read(table: &mut Table, path: &Path) -> Result<(), TableError> {
    let unreadable = |source: std::io::Error| TableError::Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    Table::open(path)?.read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable(text::not_utf8()))?;
    let text = text.trim_start_matches('\u{feff}');
    let line_of = |part: &str| {
        let offset = part.as_ptr() as usize - text.as_ptr() as usize;
        memchr::memchr_iter(b'\n', &text.as_bytes()[..offset]).count() as u64 + 1
    };
    let bad = |line: u64, reason: String| TableError::BadLine { path: path.to_owned(), line, reason };
    let rows =
        values(text, &mut |rest, error| table.skip(bad(line_of(rest) + error.line() as u64 - 1, error.to_string())))?;

    let mut seen = vec![false; table.key_columns.len()];
    let mut keyed = KeyedRowsBuilder::default();
    for row in rows {
        let Ok(fields) = serde_json::from_str::<BTreeMap<String, &RawValue>>(row.get()) else {
            table.skip(bad(line_of(row.get()), "an object was expected".into()))?;
            continue;
        };
        let mut key = Vec::new();
        let mut writer = KeyWriter::begin(&mut key);
        let mut kinds = Vec::with_capacity(table.key_columns.len());
        for (seen, column) in seen.iter_mut().zip(&table.key_columns) {
            let field = fields.get(column);
            *seen |= field.is_some();
            kinds.extend(field.and_then(|field| writer.push_json(field.get())));
        }
        writer.end();
        // A null, or what is no scalar, is never found.
        let is_whole = kinds.len() == table.key_columns.len();
        if is_whole {
            for (seen, kind) in table.kinds.iter_mut().zip(kinds) {
                seen.insert(kind);
            }
        }
        keyed.push_key(|out| out.extend_from_slice(if is_whole { &key } else { &[] }));
        let new_columns: Vec<String> = fields.into_keys().filter(|name| !table.columns.contains(name)).collect();
        table.columns.extend(new_columns);
        keyed.push_row(|out| out.extend_from_slice(json::on_one_line(row.get()).as_bytes()));
    }
    table.rows = keyed.build();
    match seen.iter().position(|seen| !seen) {
        Some(missing) if !table.columns.is_empty() => Err(TableError::NoColumn {
            path: path.to_owned(),
            column: table.key_columns[missing].clone(),
            columns: table.columns.clone(),
        }),
        _ => Ok(()),
    }
}

/// Told of what is no JSON from a place on; where it lets it pass, the next line is tried.
type OnBad<'a> = dyn FnMut(&str, &serde_json::Error) -> Result<(), TableError> + 'a;

/// The elements of an array, or values one after another.
fn values<'t>(text: &'t str, on_bad: &mut OnBad<'_>) -> Result<Vec<&'t RawValue>, TableError> {
    if text.trim_start().starts_with('[') {
        return match serde_json::from_str(text) {
            Ok(rows) => Ok(rows),
            // Where one element is broken, nobody knows where the next one begins.
            Err(error) => on_bad(text, &error).map(|()| Vec::new()),
        };
    }
    let mut rows = Vec::new();
    let mut rest = text;
    loop {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let error = loop {
            match stream.next() {
                None => return Ok(rows),
                Some(Ok(row)) => rows.push(row),
                Some(Err(error)) => break error,
            }
        };
        on_bad(rest, &error)?;
        let wrong = &rest[stream.byte_offset()..];
        let wrong = wrong.trim_start();
        match wrong.split_once('\n') {
            Some((_, next)) => rest = next,
            None => return Ok(rows),
        }
    }
}
