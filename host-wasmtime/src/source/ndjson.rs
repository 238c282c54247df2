//! One JSON object a line.

use std::io::{BufRead, Read};

use super::{MAX_RECORD_BYTES, Source, SourceError, SourceRecord, too_long};

pub(super) struct Ndjson {
    input: Box<dyn BufRead + Send>,
    line: u64,
    text: Vec<u8>,
}

impl Ndjson {
    pub(super) fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self { input, line: 0, text: Vec::new() }
    }

    /// Reads a line; false at the end.
    fn read_line(&mut self) -> Result<bool, SourceError> {
        self.text.clear();
        let limit = MAX_RECORD_BYTES as u64 + 1;
        if self.input.by_ref().take(limit).read_until(b'\n', &mut self.text)? == 0 {
            return Ok(false);
        }
        self.line += 1;
        if self.text.len() > MAX_RECORD_BYTES {
            self.input.skip_until(b'\n')?;
            return Err(too_long(self.line));
        }
        Ok(true)
    }
}

impl Source for Ndjson {
    /// Blank lines are passed over, and so is a byte order mark before the first.
    fn next(&mut self) -> Result<Option<SourceRecord<'_>>, SourceError> {
        while self.read_line()? {
            if self.line == 1 && self.text.starts_with(b"\xef\xbb\xbf") {
                self.text.drain(..3);
            }
            if !self.text.trim_ascii().is_empty() {
                return Ok(Some(SourceRecord { text: self.text.trim_ascii(), line: self.line }));
            }
        }
        Ok(None)
    }
}
