//! One object a line, alone or as the elements of an array.

use std::io::{BufWriter, Write};

use super::{Output, Sink, SinkError};

const BUFFER: usize = 128 << 10;

pub(super) struct JsonLines {
    output: BufWriter<Output>,
    /// Whether the lines are the elements of an array.
    array: bool,
    is_empty: bool,
}

impl JsonLines {
    pub(super) fn new(output: Output, array: bool) -> Self {
        Self { output: BufWriter::with_capacity(BUFFER, output), array, is_empty: true }
    }
}

impl Sink for JsonLines {
    fn write(&mut self, json: &str) -> Result<(), SinkError> {
        if self.array {
            self.output.write_all(if self.is_empty { b"[\n" } else { b",\n" })?;
        }
        self.is_empty = false;
        self.output.write_all(json.as_bytes())?;
        if !self.array {
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(self.output.flush()?)
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        if self.array {
            self.output.write_all(if self.is_empty { b"[]\n" } else { b"\n]\n" })?;
        }
        self.output.flush()?;
        Ok(self.output.get_mut().finish()?)
    }
}
