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

    /// Reads up to the `,` or `]` that ends the element, which is left in the input.
    fn element(&mut self) -> Result<SourceRecord<'_>, SourceError> {
        let line = self.line;
        self.text.clear();
        let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
        let mut length = 0;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return self.broken("the end of the element that begins here", None);
            }
            let end = buffer.iter().position(|&byte| {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    _ if in_text => {}
                    b'{' | b'[' => depth += 1,
                    b',' | b']' if depth == 0 => return true,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                false
            });
            let part = &buffer[..end.unwrap_or(buffer.len())];
            self.line += memchr::memchr_iter(b'\n', part).count() as u64;
            length += part.len();
            if length <= MAX_RECORD_BYTES {
                self.text.extend_from_slice(part);
            }
            let used = part.len();
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        self.place = Place::After;
        if length > MAX_RECORD_BYTES {
            return Err(too_long(line));
        }
        Ok(SourceRecord { text: self.text.trim_ascii_end(), line })
    }
}

impl Json {
    /// Reads a value up to its own end: a bracket's other half, or white space.
    fn one_of_many(&mut self) -> Result<SourceRecord<'_>, SourceError> {
        let line = self.line;
        self.text.clear();
        let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
        let (mut length, mut begun) = (0, false);
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                if depth > 0 || in_text {
                    return self.broken("the end of the object that begins here", None);
                }
                break;
            }
            let mut is_last = false;
            let end = buffer.iter().position(|&byte| {
                if is_last {
                    return true;
                }
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    _ if in_text => {}
                    b'{' | b'[' if depth == 0 && begun => return true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth = depth.saturating_sub(1);
                        is_last = depth == 0;
                    }
                    _ => return depth == 0 && byte.is_ascii_whitespace(),
                }
                begun = true;
                false
            });
            let part = &buffer[..end.unwrap_or(buffer.len())];
            self.line += memchr::memchr_iter(b'\n', part).count() as u64;
            length += part.len();
            if length <= MAX_RECORD_BYTES {
                self.text.extend_from_slice(part);
            }
            let used = part.len();
            self.input.consume(used);
            if end.is_some() || is_last {
                break;
            }
        }
        if length > MAX_RECORD_BYTES {
            return Err(too_long(line));
        }
        Ok(SourceRecord { text: self.text.trim_ascii_end(), line })
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
                Some(_) => self.one_of_many().map(Some),
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
                    Some(byte) if byte != b',' && byte != b']' => self.element().map(Some),
                    got => self.broken("an element after the comma", got),
                }
            }
            (Some(byte), Place::First) if byte != b',' => self.element().map(Some),
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
