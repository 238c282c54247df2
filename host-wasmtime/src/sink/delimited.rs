//! CSV and TSV: the first record's fields are the columns.
//!
//! Texts are written as they are, null as nothing, and everything else as its JSON text.

use std::io::Write;

use csv::{Writer, WriterBuilder};
use serde_json::value::RawValue;

use super::{Sink, SinkError};
use crate::join::all_fields;

pub(super) struct Delimited {
    output: Writer<Box<dyn Write + Send>>,
    columns: Vec<String>,
    records: u64,
}

impl Delimited {
    pub(super) fn new(output: Box<dyn Write + Send>, delimiter: u8) -> Self {
        let output = WriterBuilder::new().delimiter(delimiter).buffer_capacity(128 << 10).from_writer(output);
        Self { output, columns: Vec::new(), records: 0 }
    }

    fn does_not_fit(&self, reason: String) -> SinkError {
        SinkError::DoesNotFit { record: self.records, reason }
    }
}

impl Sink for Delimited {
    fn write(&mut self, json: &str) -> Result<(), SinkError> {
        self.records += 1;
        let fields = all_fields(json).map_err(|error| self.does_not_fit(error.to_string()))?;
        if self.records == 1 {
            self.columns = fields.iter().map(|(name, _)| name.as_ref().to_owned()).collect();
            self.output.write_record(&self.columns).map_err(io)?;
        }
        let mut cells = vec![String::new(); self.columns.len()];
        for (number, (name, value)) in fields.iter().enumerate() {
            // Records mostly have the same fields in the same order.
            let column = match self.columns.get(number) {
                Some(column) if column == name => Some(number),
                _ => self.columns.iter().position(|column| column == name),
            };
            let Some(column) = column else {
                return Err(self.does_not_fit(format!(
                    "it has the field `{name}`, which the first record has not; write ndjson, whose records may differ"
                )));
            };
            cells[column] = cell(value);
        }
        self.output.write_record(&cells).map_err(io)
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(self.output.flush()?)
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.flush()
    }
}

fn cell(value: &RawValue) -> String {
    match value.get() {
        "null" => String::new(),
        json if json.starts_with('"') => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
        json => json.to_owned(),
    }
}

fn io(error: csv::Error) -> SinkError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => SinkError::Io(error),
        other => SinkError::Io(std::io::Error::other(format!("{other:?}"))),
    }
}
