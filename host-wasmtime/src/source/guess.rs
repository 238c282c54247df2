//! How an input is written, by how it begins.

use std::io::{BufRead, Result};

use super::Format;

/// The format of what begins so, where nothing else can.
///
/// An array, or an object that does not end on its line, is JSON; an object on a line of its own is NDJSON; a first line
/// with tabs or commas that is no JSON is the header of TSV or CSV.
///
/// # Errors
///
/// Those of the input. Nothing is consumed.
pub fn guess(input: &mut dyn BufRead) -> Result<Option<Format>> {
    let mut bytes = input.fill_buf()?;
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    let bytes = bytes.trim_ascii_start();
    let line_end = memchr::memchr(b'\n', bytes);
    let line = &bytes[..line_end.unwrap_or(bytes.len())];
    Ok(match bytes.first() {
        // An input without records is one in any format.
        None => Some(Format::Ndjson),
        Some(b'[') => Some(Format::Json),
        // A record that is longer than what was read is on a line of its own more often than not.
        Some(b'{') if line_end.is_none() => Some(if is_many(line) { Format::Json } else { Format::Ndjson }),
        Some(b'{') => Some(if is_open(line) || is_many(line) { Format::Json } else { Format::Ndjson }),
        Some(_) if line.contains(&b'\t') => Some(Format::Tsv),
        Some(_) if line.contains(&b',') && !line.contains(&b'{') => Some(Format::Csv),
        Some(_) => None,
    })
}

/// Whether an object begins here and does not end.
fn is_open(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof())
}

/// Whether one object stands behind another on the line.
fn is_many(line: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(line).into_iter::<serde::de::IgnoredAny>();
    matches!((values.next(), values.next()), (Some(Ok(_)), Some(Ok(_))))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_format_shows_in_how_it_begins() {
        for (text, format) in [
            ("", Some(Format::Ndjson)),
            ("{\"id\":1}\n{\"id\":2}\n", Some(Format::Ndjson)),
            ("{\"id\":1}", Some(Format::Ndjson)),
            ("{\"id\":1", Some(Format::Ndjson)),
            ("{\"id\" 1}\n{}\n", Some(Format::Ndjson)),
            ("\u{feff} [\n", Some(Format::Json)),
            ("{\n  \"id\": 1\n}\n", Some(Format::Json)),
            ("{\"id\":1}{\"id\":2}", Some(Format::Json)),
            ("{\"id\":1} {\"id\":2}\n", Some(Format::Json)),
            ("id,name\n1,a\n", Some(Format::Csv)),
            ("\"last, first\",id\n", Some(Format::Csv)),
            ("id\tname\n", Some(Format::Tsv)),
            ("id\n1\n", None),
            ("id;name\n", None),
        ] {
            assert_eq!(guess(&mut Cursor::new(text)).unwrap(), format, "{text:?}");
        }
    }
}
