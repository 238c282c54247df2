//! One JSON object a line.

use std::io::{BufRead, Read};

use super::{MAX_RECORD_BYTES, Source, SourceError, SourceRecord, too_long};

pub(super) struct Ndjson {
    input: Box<dyn BufRead + Send>,
    line: u64,
}

impl Ndjson {
    pub(super) fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self { input, line: 0 }
    }
}

impl Source for Ndjson {
    /// Blank lines are passed over, and so is a byte order mark before the first.
    fn next(&mut self) -> Result<Option<SourceRecord>, SourceError> {
        loop {
            let mut text = Vec::new();
            let limit = MAX_RECORD_BYTES as u64 + 1;
            if self.input.by_ref().take(limit).read_until(b'\n', &mut text)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if text.len() > MAX_RECORD_BYTES {
                self.input.skip_until(b'\n')?;
                return Err(too_long(self.line));
            }
            if self.line == 1 && text.starts_with(b"\xef\xbb\xbf") {
                text.drain(..3);
            }
            let end = text.trim_ascii_end().len();
            text.truncate(end);
            let start = end - text.trim_ascii_start().len();
            text.drain(..start);
            if !text.is_empty() {
                return Ok(Some(SourceRecord { text, line: self.line }));
            }
        }
    }
}
