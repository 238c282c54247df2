//! Tables as JSON: an array of objects, or one object after another.

use std::{collections::BTreeMap, io::BufReader, path::Path};

use serde_json::value::RawValue;

use super::{Table, TableError, keyed_rows::KeyedRowsBuilder};
use crate::{json, lookup::KeyWriter};

/// Reads the rows of a file; they stay as they are written.
pub(super) fn read(table: &mut Table, path: &Path) -> Result<(), TableError> {
    let unreadable = |source| TableError::Unreadable { path: path.to_owned(), source };
    let text =
        std::io::read_to_string(BufReader::new(std::fs::File::open(path).map_err(unreadable)?)).map_err(unreadable)?;
    let text = text.trim_start_matches('\u{feff}');
    let bad = |error: serde_json::Error| TableError::BadLine {
        path: path.to_owned(),
        line: error.line() as u64,
        reason: error.to_string(),
    };
    let rows: Vec<&RawValue> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(bad)?
    } else {
        serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().map_err(bad)?
    };
    let line_of = |row: &RawValue| {
        let offset = row.get().as_ptr() as usize - text.as_ptr() as usize;
        memchr::memchr_iter(b'\n', &text.as_bytes()[..offset]).count() as u64 + 1
    };
    let mut seen = vec![false; table.key_columns.len()];
    let mut keyed = KeyedRowsBuilder::default();
    for row in rows {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(row.get()).map_err(|_| TableError::BadLine {
            path: path.to_owned(),
            line: line_of(row),
            reason: "an object was expected".into(),
        })?;
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
