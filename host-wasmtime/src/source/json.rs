//! JSON objects: the elements of one array, or one object after another on any number of lines.
//!
//! They are told apart by their brackets and texts alone, so one that is no JSON inside is a
//! bad record and the next one can still be read.

use std::io::BufRead;

use super::{MAX_RECORD_BYTES, Source, SourceError, SourceRecord, too_long};

pub(super) struct Json {
    input: Box<dyn BufRead + Send>,
    line: u64,
    place: Place,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the array.
    Before,
    /// After `[`: an element or `]`.
    First,
    /// After an element: `,` or `]`.
    After,
    /// Without an array: before an object or the end.
    Stream,
    /// After the array, or after an error.
    Done,
}

impl Json {
    pub(super) fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self { input, line: 1, place: Place::Before, text: Vec::new() }
    }

    /// The next byte that is no white space, left in the input.
    fn peek(&mut self) -> Result<Option<u8>, SourceError> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let blank = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.line += memchr::memchr_iter(b'\n', &buffer[..blank]).count() as u64;
            let next = buffer.get(blank).copied();
            self.input.consume(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    fn broken<T>(&mut self, expected: &str, got: Option<u8>) -> Result<T, SourceError> {
        self.place = Place::Done;
        let got = match got {
            None => "the end of the file".into(),
            Some(byte) => format!("`{}`", char::from(byte).escape_default()),
        };
        Err(SourceError::Broken { line: self.line, reason: format!("{expected} was expected and there is {got}") })
    }

    /// Reads a value: in an array up to the `,` or `]` behind it, which is left in the input, and otherwise up to its own
    /// end.
    fn value(&mut self, is_in_array: bool) -> Result<SourceRecord<'_>, SourceError> {
        let line = self.line;
        self.text.clear();
        let mut scan = Scan { is_in_array, ..Scan::default() };
        let mut length = 0;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                if scan.is_open() {
                    return self.broken("the end of the value that begins here", None);
                }
                break;
            }
            let end = buffer.iter().position(|&byte| !scan.takes(byte));
            let part = &buffer[..end.unwrap_or(buffer.len())];
            self.line += memchr::memchr_iter(b'\n', part).count() as u64;
            length += part.len();
            if length <= MAX_RECORD_BYTES {
                self.text.extend_from_slice(part);
            }
            let used = part.len();
            self.input.consume(used);
            if end.is_some() || scan.is_closed {
                break;
            }
        }
        if is_in_array {
            self.place = Place::After;
        }
        if length > MAX_RECORD_BYTES {
            return Err(too_long(line));
        }
        Ok(SourceRecord { text: self.text.trim_ascii_end(), line })
    }
}

/// How far into a value's brackets and texts the bytes so far have led.
#[derive(Default)]
struct Scan {
    is_in_array: bool,
    depth: u32,
    in_text: bool,
    escaped: bool,
    has_begun: bool,
    /// Its own bracket has ended it.
    is_closed: bool,
}

impl Scan {
    /// Whether a byte is still a part of the value.
    fn takes(&mut self, byte: u8) -> bool {
        if self.is_closed {
            return false;
        }
        let is_alone = !self.is_in_array && self.depth == 0;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_text => self.escaped = true,
            b'"' => self.in_text = !self.in_text,
            _ if self.in_text => {}
            b',' | b']' if self.is_in_array && self.depth == 0 => return false,
            b'{' | b'[' if is_alone && self.has_begun => return false,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_closed = !self.is_in_array && self.depth == 0;
            }
            _ if is_alone && byte.is_ascii_whitespace() => return false,
            _ => {}
        }
        self.has_begun = true;
        true
    }

    /// Whether the end of the file may not come now.
    fn is_open(&self) -> bool {
        self.is_in_array || self.depth > 0 || self.in_text
    }
}

impl Source for Json {
    fn next(&mut self) -> Result<Option<SourceRecord<'_>>, SourceError> {
        if self.place == Place::Done {
            return Ok(None);
        }
        if self.place == Place::Before {
            if self.input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
                self.input.consume(3);
            }
            match self.peek()? {
                Some(b'[') => {
                    self.input.consume(1);
                    self.place = Place::First;
                }
                Some(b'{') => self.place = Place::Stream,
                got => return self.broken("`[` or `{`, which begin an array of records or one,", got),
            }
        }
        if self.place == Place::Stream {
            return match self.peek()? {
                None => Ok(None),
                Some(_) => self.value(false).map(Some),
            };
        }
        match (self.peek()?, self.place) {
            (Some(b']'), _) => {
                self.input.consume(1);
                if let Some(byte) = self.peek()? {
                    return self.broken("nothing after the array", Some(byte));
                }
                self.place = Place::Done;
                Ok(None)
            }
            (Some(b','), Place::After) => {
                self.input.consume(1);
                match self.peek()? {
                    Some(byte) if byte != b',' && byte != b']' => self.value(true).map(Some),
                    got => self.broken("an element after the comma", got),
                }
            }
            (Some(byte), Place::First) if byte != b',' => self.value(true).map(Some),
            (got, Place::First) => self.broken("an element or `]`", got),
            (got, _) => self.broken("`,` or `]`", got),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use super::*;

    /// Reads with a small buffer, so that elements lie across its borders.
    fn read(json: &str) -> Result<Vec<(String, u64)>, String> {
        let mut source = Json::new(Box::new(BufReader::with_capacity(3, Cursor::new(json.to_owned()))));
        let mut elements = Vec::new();
        while let Some(record) = source.next().map_err(|error| error.to_string())? {
            elements.push((String::from_utf8(record.text.to_vec()).unwrap(), record.line));
        }
        Ok(elements)
    }

    #[test]
    fn elements_come_with_their_lines() {
        let json = "[\n {\"a\": [1, \"],{\\\"\"]} ,\n\n7,{\"b\":\n{}}\n]\n";
        let expected = [("{\"a\": [1, \"],{\\\"\"]}", 2), ("7", 4), ("{\"b\":\n{}}", 4)];
        assert_eq!(read(json).unwrap(), expected.map(|(text, line)| (text.to_owned(), line)));
        assert_eq!(read(" [ ] ").unwrap(), []);
    }

    #[test]
    fn objects_come_one_after_another_without_an_array() {
        let json = "{\n \"a\": {\"b\": [1]}\n}\n{\"c\":\"}{\\\"\"}{}\n 7 \"x y\" {}";
        let expected = [
            ("{\n \"a\": {\"b\": [1]}\n}", 1),
            ("{\"c\":\"}{\\\"\"}", 4),
            ("{}", 4),
            ("7", 5),
            ("\"x y\"", 5),
            ("{}", 5),
        ];
        assert_eq!(read(json).unwrap(), expected.map(|(text, line)| (text.to_owned(), line)));
    }

    #[test]
    fn what_is_no_array_says_where_it_breaks() {
        for (json, line) in [
            ("", 1),
            ("x", 1),
            ("{}\n{", 2),
            ("[\n1", 2),
            ("[1\n,\n]", 3),
            ("[,1]", 1),
            ("[1]\n2", 2),
            ("[\"a", 1),
            ("[1,,2]", 1),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.starts_with(&format!("line {line}: ")), "{json}: {error}");
        }
    }
}
