//! Rows of a file, one after another, with what a plain parser does not notice: quotes that are never closed.

use std::io::{Error, ErrorKind, Read, Result as IoResult};

use csv::{ErrorKind as CsvErrorKind, Reader, ReaderBuilder, StringRecord};

use super::{Dialect, unique_names};
use crate::text::NOT_UTF8;

/// Bytes of one row at most.
const MAX_ROW_BYTES: u64 = 64 << 20;
/// A value of more lines than these is likely one whose quote was never closed.
const MANY_LINES: u64 = 64;
const BUFFER: usize = 128 << 10;

/// A row cannot be had.
#[derive(Debug)]
pub(crate) enum DelimitedError {
    Io(Error),
    /// This row is not what it should be; the next one may be.
    BadRow {
        line: u64,
        reason: String,
    },
    /// What follows cannot be told apart into rows.
    Broken {
        line: u64,
        reason: String,
    },
}

/// Reads rows.
pub(crate) struct DelimitedReader {
    reader: Reader<Bounded>,
    dialect: Dialect,
    /// None before the header is read.
    columns: Option<Vec<String>>,
    /// Without a header: the first row, which says how many columns there are.
    first: Option<StringRecord>,
    warned: bool,
    /// Of the last row.
    line: u64,
}

impl DelimitedReader {
    pub(crate) fn new(input: Box<dyn Read + Send>, dialect: Dialect) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(dialect.delimiter).comment(dialect.comment).flexible(true).has_headers(false);
        builder.quoting(dialect.quote.is_some()).quote(dialect.quote.unwrap_or(b'"')).buffer_capacity(BUFFER);
        let bounded = Bounded { input, given: 0, most: 0, end: None, after_end: 0, last: Vec::new() };
        Self { reader: builder.from_reader(bounded), dialect, columns: None, first: None, warned: false, line: 1 }
    }

    /// The names of the columns, no two of them equal.
    pub(crate) fn columns(&mut self) -> Result<&[String], DelimitedError> {
        let columns = match self.columns.take() {
            Some(columns) => columns,
            None => self.read_columns()?,
        };
        Ok(self.columns.insert(columns))
    }

    fn read_columns(&mut self) -> Result<Vec<String>, DelimitedError> {
        let mut first = StringRecord::new();
        if !self.read_any(&mut first)? {
            return Ok(Vec::new());
        }
        if !self.dialect.header {
            let columns = (1..=first.len()).map(|number| number.to_string()).collect();
            self.first = Some(first);
            return Ok(columns);
        }
        let line = self.line;
        let (columns, renamed) = unique_names(first.iter().map(|name| self.dialect.value(name).into_owned()).collect());
        for renamed in renamed {
            tracing::warn!("line {line}: {renamed}");
        }
        Ok(columns)
    }

    /// Reads the next row into `row`, and gives its line; none at the end. It has as many values as there are columns.
    pub(crate) fn read(&mut self, row: &mut StringRecord) -> Result<Option<u64>, DelimitedError> {
        let expected = self.columns()?.len();
        match self.first.take() {
            Some(first) => *row = first,
            None if !self.read_any(row)? => return Ok(None),
            None => {}
        }
        let line = self.line;
        if row.len() == expected {
            return Ok(Some(line));
        }
        let what = if self.dialect.header { "the header" } else { "the first line" };
        let mut reason = format!("{} values where {what} has {expected}", row.len());
        if row.len() == 1 || expected == 1 {
            reason.push_str(", so the file may have another delimiter");
        }
        Err(DelimitedError::BadRow { line, reason })
    }

    /// The values of a row.
    pub(crate) fn values<'r>(
        &self,
        row: &'r StringRecord,
    ) -> impl Iterator<Item = std::borrow::Cow<'r, str>> + use<'r> {
        let dialect = self.dialect;
        row.iter().map(move |cell| dialect.value(cell))
    }

    /// The line that the row begins on that was just read, blank lines and comments before it passed over.
    fn line_of(&self, row: &StringRecord, begun: &csv::Position, is_open: bool) -> u64 {
        let after = self.reader.position();
        let ended_its_line = self.reader.get_ref().byte(after.byte().saturating_sub(1)) == Some(b'\n') && !is_open;
        let last = after.line() - u64::from(ended_its_line);
        let within: u64 = if last == begun.line() { 0 } else { row.iter().map(lines_in).sum() };
        last.saturating_sub(within)
    }

    /// Whether the row that was just read ended inside of quotes: it needed both of the line breaks behind the end.
    fn is_open(&self) -> bool {
        self.reader.get_ref().end.is_some_and(|end| self.reader.position().byte() > end + 1)
    }

    /// Reads a row of any length.
    fn read_any(&mut self, row: &mut StringRecord) -> Result<bool, DelimitedError> {
        let begun = self.reader.position().clone();
        self.reader.get_mut().most = begun.byte().saturating_add(MAX_ROW_BYTES);
        let read = self.reader.read_record(row);
        let is_open = self.is_open();
        let line = if read.is_ok() { self.line_of(row, &begun, is_open) } else { begun.line() };
        self.line = line;
        let has_row = match read {
            Ok(has_row) => has_row,
            Err(error) => return Err(failure(error, line)),
        };
        if has_row && is_open {
            let opened = line + row.iter().rev().skip(1).map(lines_in).sum::<u64>();
            return Err(DelimitedError::Broken {
                line: opened,
                reason: "the quote that opens here is never closed; if quotes are plain characters in this file, say \
                    --quote none (for a table --table-quote none)"
                    .into(),
            });
        }
        if has_row
            && !self.warned
            && self.reader.position().line() > line + MANY_LINES
            && let Some(lines) = row.iter().map(lines_in).max().filter(|&lines| lines > MANY_LINES)
        {
            self.warned = true;
            tracing::warn!("line {line}: a value of {lines} lines begins in this row; is a quote not closed?");
        }
        Ok(has_row)
    }
}

fn lines_in(value: &str) -> u64 {
    memchr::memchr_iter(b'\n', value.as_bytes()).count() as u64
}

fn failure(error: csv::Error, line: u64) -> DelimitedError {
    let reason = error.to_string();
    match error.into_kind() {
        CsvErrorKind::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<TooLong>()) => {
            DelimitedError::Broken { line, reason: error.to_string() }
        }
        CsvErrorKind::Io(error) => DelimitedError::Io(error),
        CsvErrorKind::Utf8 { pos, .. } => {
            DelimitedError::BadRow { line: pos.map_or(line, |pos| pos.line()), reason: NOT_UTF8.into() }
        }
        _ => DelimitedError::Broken { line, reason },
    }
}

/// A row is longer than any should be.
#[derive(Debug, thiserror::Error)]
#[error("a row of more than {} MiB begins here; is a quote not closed?", MAX_ROW_BYTES >> 20)]
struct TooLong;

/// Bytes up to a bound, and two line breaks behind their end.
struct Bounded {
    input: Box<dyn Read + Send>,
    /// Bytes that were given so far.
    given: u64,
    /// The byte at which a row that goes on is too long.
    most: u64,
    /// How many bytes there are, once that is known.
    end: Option<u64>,
    after_end: usize,
    /// What was given last, and the byte before it.
    last: Vec<u8>,
}

impl Bounded {
    /// A byte that was given not long ago.
    fn byte(&self, place: u64) -> Option<u8> {
        match self.end {
            Some(end) if place >= end => Some(b'\n'),
            _ => self.last.get(usize::try_from(place.checked_sub(self.given - self.last.len() as u64)?).ok()?).copied(),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        if self.end.is_some() {
            let more = buffer.len().min(2 - self.after_end);
            buffer[..more].fill(b'\n');
            self.after_end += more;
            return Ok(more);
        }
        // What is in the buffer before this row counts, too: the bound is near enough.
        if self.given > self.most + BUFFER as u64 {
            return Err(Error::new(ErrorKind::InvalidData, TooLong));
        }
        let read = self.input.read(buffer)?;
        self.given += read as u64;
        if read > 0 {
            let before = self.last.last().copied();
            self.last.clear();
            self.last.extend(before);
            self.last.extend_from_slice(&buffer[..read]);
        }
        if read == 0 {
            self.end = Some(self.given);
            return self.read(buffer);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A row's line and values, or the line and the reason of what is wrong.
    type Read = Result<(u64, Vec<String>), (u64, String)>;

    fn read(dialect: Dialect, text: &str) -> Vec<Read> {
        let mut reader = DelimitedReader::new(Box::new(Cursor::new(text.to_owned())), dialect);
        let mut row = StringRecord::new();
        let mut rows = Vec::new();
        loop {
            match reader.read(&mut row) {
                Ok(None) => return rows,
                Ok(Some(line)) => rows.push(Ok((line, reader.values(&row).map(|value| value.into_owned()).collect()))),
                Err(DelimitedError::BadRow { line, reason }) => rows.push(Err((line, reason))),
                Err(DelimitedError::Broken { line, reason }) => {
                    rows.push(Err((line, reason)));
                    return rows;
                }
                Err(DelimitedError::Io(error)) => panic!("{error}"),
            }
        }
    }

    fn row(line: u64, values: &[&str]) -> Read {
        Ok((line, values.iter().map(|value| (*value).to_owned()).collect()))
    }

    #[test]
    fn a_quote_that_is_closed_is_one_at_any_end_of_file() {
        for end in ["", "\n", "\r\n", "\n\n\n"] {
            for (cell, value) in [("1", "1"), ("\"1\"", "1"), ("\"a\n\"", "a\n"), ("\"a\"\"\"", "a\""), ("5\"", "5\"")]
            {
                let rows = read(Dialect::CSV, &format!("id\n{cell}{end}"));
                assert_eq!(rows, [row(2, &[value])], "{cell:?}{end:?}");
            }
        }
        assert_eq!(read(Dialect::CSV, "id,x\n"), []);
        assert_eq!(read(Dialect::CSV, ""), []);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_told_with_its_line() {
        for (text, line) in [
            ("id,x\n1,a\n2,\"b\n3,c\n", 3),
            ("id,x\n1,\"a\n\nb\",\n2,\"b", 5),
            ("id,x\n\"1\n2\",\"b\n", 3),
            ("id,\"x\n1,2\n", 1),
            ("id\n\"", 2),
            ("id\n\"a\"\"\n", 2),
        ] {
            let rows = read(Dialect::CSV, text);
            match rows.last() {
                Some(Err((told, reason))) if reason.contains("never closed") => assert_eq!(*told, line, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn in_tsv_a_quote_is_a_plain_character() {
        let text = "id\tx\n1\t\"Alpha\n2\tBe\\tta \"x\"\n";
        assert_eq!(read(Dialect::TSV, text), [row(2, &["1", "\"Alpha"]), row(3, &["2", "Be\tta \"x\""])]);
    }

    #[test]
    fn files_that_differ_are_read() {
        let other = Dialect { delimiter: b';', quote: Some(b'\''), comment: Some(b'#'), header: false, escapes: false };
        assert_eq!(read(other, "# comment\n1;'a;b'\n#x\n2;c\n"), [row(2, &["1", "a;b"]), row(4, &["2", "c"])]);
    }

    #[test]
    fn lines_are_those_of_an_editor() {
        for (text, lines) in [
            ("id,x\n1,a\n\n\n2,b\n3,\"c\nd\"\n4,e", &[2, 5, 6, 8][..]),
            ("id,x\r\n1,a\r\n\r\n2,b\r\n3,\"c\r\nd\"\r\n4,e", &[2, 4, 5, 7]),
        ] {
            let rows = read(Dialect::CSV, text);
            assert_eq!(rows.iter().map(|row| row.as_ref().unwrap().0).collect::<Vec<_>>(), lines, "{text:?}");
        }
    }

    #[test]
    fn rows_of_another_length_are_bad() {
        let rows = read(Dialect::CSV, "id,x\n1\n2,b,c\n3,d\n");
        assert_eq!(rows[0], Err((2, "1 values where the header has 2, so the file may have another delimiter".into())));
        assert_eq!(rows[1], Err((3, "3 values where the header has 2".into())));
        assert_eq!(rows[2], row(4, &["3", "d"]));
    }
}
