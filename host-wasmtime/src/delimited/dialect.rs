//! How values are parted and written.

use std::borrow::Cow;

/// How the values of a file are parted and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between two values.
    pub delimiter: u8,
    /// The byte that begins and ends a value with delimiters or line breaks in it, and stands twice for itself; none
    /// where values are written without quotes.
    pub quote: Option<u8>,
    /// The byte that begins a line to pass over.
    pub comment: Option<u8>,
    /// Whether the first line names the columns; without it they are called 1, 2, 3.
    pub header: bool,
    /// Whether a backslash begins an escape: `\t`, `\n`, `\r` and `\\`.
    pub escapes: bool,
}

impl Dialect {
    /// Values parted by commas, in double quotes where need be (RFC 4180).
    pub const CSV: Self = Self { delimiter: b',', quote: Some(b'"'), comment: None, header: true, escapes: false };
    /// Values parted by tabs. A quote is a plain character; a tab, a line break and a backslash are escaped.
    pub const TSV: Self = Self { delimiter: b'\t', quote: None, comment: None, header: true, escapes: true };

    /// The value that a cell writes.
    pub(crate) fn value(self, cell: &str) -> Cow<'_, str> {
        if self.escapes && memchr::memchr(b'\\', cell.as_bytes()).is_some() {
            Cow::Owned(unescaped(cell))
        } else {
            Cow::Borrowed(cell)
        }
    }
}

/// A cell without its escapes. A backslash before any other character is itself.
fn unescaped(cell: &str) -> String {
    let mut value = String::with_capacity(cell.len());
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        let ahead = characters.clone().next();
        let meant = match ahead {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('\\') => '\\',
            _ => {
                value.push('\\');
                continue;
            }
        };
        characters.next();
        value.push(meant);
    }
    value
}

/// Appends a value as a cell of TSV.
pub(crate) fn write_tsv_cell(value: &str, out: &mut Vec<u8>) {
    for byte in value.bytes() {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tsv_cell_reads_as_it_was_written() {
        for value in ["", "plain", "a\tb\nc\rd\\e", "\"quoted\"", "\\t", "é\\"] {
            let mut cell = Vec::new();
            write_tsv_cell(value, &mut cell);
            assert_eq!(Dialect::TSV.value(std::str::from_utf8(&cell).unwrap()), value);
        }
        assert_eq!(Dialect::TSV.value("C:\\dir\\x \\"), "C:\\dir\\x \\", "what is no escape is itself");
        assert_eq!(Dialect::CSV.value("a\\tb"), "a\\tb");
    }
}
