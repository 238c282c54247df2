//! CSV and TSV: each line becomes an object of texts.

use std::io::BufRead;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::{Source, SourceError, SourceRecord};
use crate::json;

pub(super) struct Delimited {
    reader: Reader<Box<dyn BufRead + Send>>,
    /// The fields' names as JSON; none before the header is read.
    names: Option<Vec<Vec<u8>>>,
    record: StringRecord,
    text: Vec<u8>,
}

impl Delimited {
    pub(super) fn new(input: Box<dyn BufRead + Send>, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        Self { reader, names: None, record: StringRecord::new(), text: Vec::new() }
    }

    fn read_header(&mut self) -> Result<Vec<Vec<u8>>, SourceError> {
        let header: Vec<&str> = self.reader.headers().map_err(broken)?.iter().collect();
        if let Some(twice) =
            header.iter().enumerate().find_map(|(number, name)| header[..number].contains(name).then_some(name))
        {
            return Err(SourceError::Broken { line: 1, reason: format!("the header names `{twice}` twice") });
        }
        Ok(header.into_iter().map(json::name).collect())
    }
}

impl Source for Delimited {
    fn next(&mut self) -> Result<Option<SourceRecord<'_>>, SourceError> {
        let names = match self.names.take() {
            Some(names) => names,
            None => self.read_header()?,
        };
        let names = self.names.insert(names);
        match self.reader.read_record(&mut self.record) {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(bad_record(error)),
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        if self.record.len() != names.len() {
            let (expected, got) = (names.len(), self.record.len());
            return Err(SourceError::BadRecord {
                line,
                reason: format!("{got} values where the header has {expected}"),
            });
        }
        self.text.clear();
        json::write_texts(names, self.record.iter(), &mut self.text);
        Ok(Some(SourceRecord { text: &self.text, line }))
    }
}

fn bad_record(error: csv::Error) -> SourceError {
    match error.kind() {
        ErrorKind::Utf8 { pos, .. } => SourceError::BadRecord {
            line: pos.as_ref().map_or(0, csv::Position::line),
            reason: "it is no UTF-8".into(),
        },
        _ => broken(error),
    }
}

fn broken(error: csv::Error) -> SourceError {
    let line = error.position().map_or(1, csv::Position::line);
    let reason = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => SourceError::Io(error),
        _ => SourceError::Broken { line, reason },
    }
}
