//! The columns that are asked for, and their values as JSON.

use bytes::Bytes;
use lookaside_core::{FailureKind, LookupError};

use super::messages::{Cell, Column};
use crate::{
    json,
    lookup::{ValueEncoding, encoding::ENCODINGS},
};

/// What a cell's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellType {
    Encoded(ValueEncoding),
    /// Big-endian, as Java's clients write them.
    Int32,
    Int64,
    Float64,
    /// One byte: 0 is false.
    Boolean,
}

const TYPES: &[(&str, CellType)] = &[
    ("int32", CellType::Int32),
    ("int64", CellType::Int64),
    ("float64", CellType::Float64),
    ("boolean", CellType::Boolean),
];

/// The columns of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    wanted: Vec<Wanted>,
    default: ValueEncoding,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    family: String,
    /// None for the whole family.
    qualifier: Option<String>,
    cell_type: Option<CellType>,
}

impl Columns {
    /// Reads `FAMILY`, `FAMILY:QUALIFIER` and `FAMILY:QUALIFIER:TYPE`; none are all columns.
    pub(super) fn parse(columns: &[&str], default: ValueEncoding) -> Result<Self, String> {
        let wanted = columns.iter().map(|column| Wanted::parse(column)).collect::<Result<_, String>>()?;
        Ok(Self { wanted, default })
    }

    /// The names of the fields, where each column is named.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let name = |wanted: &Wanted| Some(format!("{}:{}", wanted.family, wanted.qualifier.as_ref()?));
        let names: Vec<String> = self.wanted.iter().map(name).collect::<Option<_>>()?;
        (!names.is_empty()).then_some(names)
    }

    /// As a request names them.
    pub(super) fn request(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        for wanted in &self.wanted {
            let family = Bytes::from(wanted.family.clone());
            let qualifier = wanted.qualifier.clone().map(Bytes::from);
            match columns.iter_mut().find(|column| column.family == family) {
                // One without qualifiers is the whole family already.
                Some(column) if column.qualifier.is_empty() => {}
                Some(column) => match qualifier {
                    Some(qualifier) => column.qualifier.push(qualifier),
                    None => column.qualifier.clear(),
                },
                None => columns.push(Column { family, qualifier: qualifier.into_iter().collect() }),
            }
        }
        columns
    }

    /// A row as a JSON object: columns that were named and have no cell are null.
    pub(super) fn row(&self, cells: &[Cell]) -> Result<Bytes, LookupError> {
        let mut fields: Vec<(String, String)> =
            self.names().into_iter().flatten().map(|name| (name, "null".to_owned())).collect();
        for cell in cells {
            let name =
                format!("{}:{}", String::from_utf8_lossy(&cell.family), String::from_utf8_lossy(&cell.qualifier));
            let value = self
                .value(cell)
                .map_err(|error| LookupError { message: format!("{name}: {}", error.message), ..error })?;
            match fields.iter_mut().find(|(known, _)| *known == name) {
                Some(field) => field.1 = value,
                None => fields.push((name, value)),
            }
        }
        Ok(json::object(fields.iter().map(|(name, value)| (name.as_str(), value.clone()))).into())
    }

    fn value(&self, cell: &Cell) -> Result<String, LookupError> {
        let wanted = self.wanted.iter().find(|wanted| {
            cell.family == wanted.family.as_bytes()
                && wanted.qualifier.as_ref().is_none_or(|qualifier| cell.qualifier == qualifier.as_bytes())
        });
        let bytes = &cell.value;
        let length = || {
            let message = format!("the value has {} bytes, which its type does not have", bytes.len());
            LookupError::new(FailureKind::Malformed, message)
        };
        let json = match wanted.and_then(|wanted| wanted.cell_type).unwrap_or(CellType::Encoded(self.default)) {
            CellType::Encoded(encoding) => {
                return Ok(String::from_utf8_lossy(&encoding.to_json(bytes.clone())?).into_owned());
            }
            CellType::Int32 => i32::from_be_bytes(bytes[..].try_into().map_err(|_| length())?).to_string(),
            CellType::Int64 => i64::from_be_bytes(bytes[..].try_into().map_err(|_| length())?).to_string(),
            CellType::Float64 => {
                let number = f64::from_be_bytes(bytes[..].try_into().map_err(|_| length())?);
                // JSON has no infinite numbers.
                serde_json::Number::from_f64(number).map_or_else(|| "null".into(), |number| number.to_string())
            }
            CellType::Boolean => match bytes[..] {
                [byte] => (byte != 0).to_string(),
                _ => return Err(length()),
            },
        };
        Ok(json)
    }
}

impl Wanted {
    fn parse(column: &str) -> Result<Self, String> {
        let (family, qualifier) = column.split_once(':').map_or((column, None), |(family, rest)| (family, Some(rest)));
        if family.is_empty() {
            return Err(format!("columns=: `{column}` has no family"));
        }
        let cell_type = |name: &str| {
            let encoded =
                ENCODINGS.iter().find(|(known, _)| *known == name).map(|(_, encoding)| CellType::Encoded(*encoding));
            encoded.or_else(|| TYPES.iter().find(|(known, _)| *known == name).map(|(_, cell_type)| *cell_type))
        };
        let (qualifier, cell_type) = match qualifier.and_then(|rest| rest.rsplit_once(':')) {
            Some((qualifier, name)) if cell_type(name).is_some() => (Some(qualifier), cell_type(name)),
            _ => (qualifier, None),
        };
        Ok(Self {
            family: family.to_owned(),
            qualifier: qualifier.filter(|name| !name.is_empty()).map(str::to_owned),
            cell_type,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(qualifier: &'static str, value: &'static [u8]) -> Cell {
        let (family, qualifier) = (Bytes::from_static(b"cf"), Bytes::from_static(qualifier.as_bytes()));
        Cell { row: Bytes::new(), family, qualifier, value: Bytes::from_static(value) }
    }

    #[test]
    fn cells_become_fields_of_their_types() {
        let columns = Columns::parse(&["cf:a", "cf:n:int64", "cf:b:base64", "cf:none"], ValueEncoding::Text).unwrap();
        let cells = [cell("a", b"7"), cell("b", b"\xff"), cell("n", &[0, 0, 0, 0, 0, 0, 1, 0])];
        let row = columns.row(&cells).unwrap();
        assert_eq!(row, r#"{"cf:a":"7","cf:n":256,"cf:b":"/w==","cf:none":null}"#);
        assert!(columns.row(&[cell("n", b"7")]).unwrap_err().message.starts_with("cf:n: the value has 1 bytes"));
        assert_eq!(columns.request().len(), 1);
        assert_eq!(columns.request()[0].qualifier.len(), 4);
    }

    #[test]
    fn a_family_stands_for_all_its_columns() {
        let columns = Columns::parse(&["cf:a", "cf", "other:q:r"], ValueEncoding::Auto).unwrap();
        assert!(columns.request()[0].qualifier.is_empty());
        assert_eq!(columns.request()[1].qualifier, ["q:r"]);
        assert_eq!(columns.names(), None);
        assert!(Columns::parse(&[":a"], ValueEncoding::Auto).is_err());
    }
}
