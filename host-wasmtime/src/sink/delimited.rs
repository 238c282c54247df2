//! CSV and TSV.
//!
//! Texts are written as they are, null as nothing, and everything else as its JSON text.

use csv::{QuoteStyle, Writer, WriterBuilder};
use serde_json::value::RawValue;

use super::{Output, Sink, SinkError};
use crate::{delimited::write_tsv_cell, join::all_fields};

pub(super) struct Delimited {
    /// None once it has ended.
    output: Option<Writer<Output>>,
    /// Whether cells are escaped, and not quoted.
    escapes: bool,
    columns: Vec<String>,
    has_header: bool,
    records: u64,
}

impl Delimited {
    pub(super) fn csv(output: Output) -> Self {
        Self::new(output, b',', false)
    }

    pub(super) fn tsv(output: Output) -> Self {
        Self::new(output, b'\t', true)
    }

    fn new(output: Output, delimiter: u8, escapes: bool) -> Self {
        let style = if escapes { QuoteStyle::Never } else { QuoteStyle::Necessary };
        let mut builder = WriterBuilder::new();
        builder.delimiter(delimiter).quote_style(style).flexible(true).buffer_capacity(128 << 10);
        let output = Some(builder.from_writer(output));
        Self { output, escapes, columns: Vec::new(), has_header: false, records: 0 }
    }

    fn does_not_fit(&self, reason: String) -> SinkError {
        SinkError::DoesNotFit { record: self.records, reason }
    }

    fn write_header(&mut self) -> Result<(), SinkError> {
        if !std::mem::replace(&mut self.has_header, true) && !self.columns.is_empty() {
            let header = self.columns.clone();
            self.write_cells(&header)?;
        }
        Ok(())
    }

    fn write_cells(&mut self, cells: &[String]) -> Result<(), SinkError> {
        let Some(output) = &mut self.output else { return Ok(()) };
        if !self.escapes {
            return output.write_record(cells).map_err(io);
        }
        let escaped = cells.iter().map(|cell| {
            let mut escaped = Vec::with_capacity(cell.len());
            write_tsv_cell(cell, &mut escaped);
            escaped
        });
        output.write_record(escaped).map_err(io)
    }
}

impl Sink for Delimited {
    fn set_columns(&mut self, columns: Vec<String>) {
        self.columns = columns;
    }

    fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    fn write(&mut self, json: &str) -> Result<(), SinkError> {
        self.records += 1;
        let fields = all_fields(json).map_err(|error| self.does_not_fit(error.to_string()))?;
        if self.columns.is_empty() {
            self.columns = fields.iter().map(|(name, _)| name.as_ref().to_owned()).collect();
        }
        self.write_header()?;
        let mut cells = vec![None; self.columns.len()];
        for (number, (name, value)) in fields.iter().enumerate() {
            // Records mostly have the same fields in the same order.
            let column = match self.columns.get(number) {
                Some(column) if column == name => Some(number),
                _ => self.columns.iter().position(|column| column == name),
            };
            let Some(column) = column else {
                return Err(self.does_not_fit(format!(
                    "it has the field `{name}`, which is no column; the columns are {}; write ndjson, whose records may \
                     differ, or name the fields of rows with --fields",
                    self.columns.join(", ")
                )));
            };
            if cells[column].replace(cell(value)).is_some() {
                return Err(
                    self.does_not_fit(format!("it has the field `{name}` twice, and a table has one column for it"))
                );
            }
        }
        let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
        self.write_cells(&cells)
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(self.output.as_mut().map_or(Ok(()), Writer::flush)?)
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.write_header()?;
        let Some(output) = self.output.take() else { return Ok(()) };
        let mut output = output.into_inner().map_err(|error| SinkError::Io(error.into_error()))?;
        Ok(output.finish()?)
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
