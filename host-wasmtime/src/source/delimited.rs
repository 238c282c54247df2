//! CSV and TSV: each line becomes an object of texts.

use std::io::BufRead;

use csv::StringRecord;

use super::{Source, SourceError, SourceRecord};
use crate::{
    delimited::{DelimitedError, DelimitedReader, Dialect},
    json,
};

pub(super) struct Delimited {
    reader: DelimitedReader,
    /// The fields' names as JSON; none before the header is read.
    names: Option<Vec<Vec<u8>>>,
    row: StringRecord,
    text: Vec<u8>,
}

impl Delimited {
    pub(super) fn new(input: Box<dyn BufRead + Send>, dialect: Dialect) -> Self {
        let reader = DelimitedReader::new(Box::new(input), dialect);
        Self { reader, names: None, row: StringRecord::new(), text: Vec::new() }
    }
}

impl Source for Delimited {
    fn columns(&mut self) -> Result<Option<&[String]>, SourceError> {
        Ok(Some(self.reader.columns()?))
    }

    fn next(&mut self) -> Result<Option<SourceRecord<'_>>, SourceError> {
        let names = match self.names.take() {
            Some(names) => names,
            None => self.reader.columns()?.iter().map(|name| json::name(name)).collect(),
        };
        let names = self.names.insert(names);
        let Some(line) = self.reader.read(&mut self.row)? else { return Ok(None) };
        self.text.clear();
        json::write_texts(names, self.reader.values(&self.row), &mut self.text);
        Ok(Some(SourceRecord { text: &self.text, line }))
    }
}

impl From<DelimitedError> for SourceError {
    fn from(error: DelimitedError) -> Self {
        match error {
            DelimitedError::Io(error) => Self::Io(error),
            DelimitedError::BadRow { line, reason } => Self::BadRecord { line, reason },
            DelimitedError::Broken { line, reason } => Self::Broken { line, reason },
        }
    }
}
