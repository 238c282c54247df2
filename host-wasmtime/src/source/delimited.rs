//! CSV and TSV: each line becomes an object of texts.

use std::io::BufRead;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::{Source, SourceError, SourceRecord};
use crate::json;

pub(super) struct Delimited {
    reader: Reader<Box<dyn BufRead + Send>>,
    header: Option<Vec<String>>,
    record: StringRecord,
}

impl Delimited {
    pub(super) fn new(input: Box<dyn BufRead + Send>, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        Self { reader, header: None, record: StringRecord::new() }
    }

    fn header(&mut self) -> Result<Vec<String>, SourceError> {
        if let Some(header) = &self.header {
            return Ok(header.clone());
        }
        let names = self.reader.headers().map_err(broken)?;
        let header: Vec<String> = names.iter().map(str::to_owned).collect();
        if let Some(twice) =
            header.iter().enumerate().find_map(|(number, name)| header[..number].contains(name).then_some(name))
        {
            return Err(SourceError::Broken { line: 1, reason: format!("the header names `{twice}` twice") });
        }
        self.header = Some(header.clone());
        Ok(header)
    }
}

impl Source for Delimited {
    fn next(&mut self) -> Result<Option<SourceRecord>, SourceError> {
        let header = self.header()?;
        match self.reader.read_record(&mut self.record) {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(bad_record(error)),
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        if self.record.len() != header.len() {
            let (expected, got) = (header.len(), self.record.len());
            return Err(SourceError::BadRecord {
                line,
                reason: format!("{got} values where the header has {expected}"),
            });
        }
        let cells = header.iter().map(String::as_str).zip(self.record.iter().map(json::text));
        Ok(Some(SourceRecord { text: json::object(cells).into_bytes(), line }))
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
