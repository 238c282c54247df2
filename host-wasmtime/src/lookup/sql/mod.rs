//! What the SQL databases share.

pub(crate) mod key_types;
#[cfg(feature = "postgres")]
pub(crate) mod placeholders;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) mod pool;

use super::{OpenError, Selection, open::Errors};

/// Which rows of a database a key finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Find {
    /// The rows of a table or view whose columns have the key's values.
    Table {
        /// Its name, and before it the schema's or the database's where it was given.
        name: Vec<String>,
        /// One column a value of the key.
        key_columns: Vec<String>,
    },
    /// The rows of a query whose parameters are the key's values.
    Query(String),
}

impl Find {
    pub(crate) fn new(selection: &Selection, errors: &Errors) -> Result<Self, OpenError> {
        match (&selection.table, &selection.query) {
            (Some(table), None) => Ok(Self::Table {
                name: table.split('.').map(str::to_owned).collect(),
                key_columns: selection.key_columns.clone(),
            }),
            (None, Some(query)) => Ok(Self::Query(query.trim().trim_end_matches(';').to_owned())),
            _ => Err(errors.selection("a database needs a table or a query, and one of them")),
        }
    }
}

/// A table's name with its parts in quotes.
pub(crate) fn quoted(name: &[String], quote: char) -> String {
    name.iter().map(|part| quoted_part(part, quote)).collect::<Vec<_>>().join(".")
}

/// One name in quotes.
pub(crate) fn quoted_part(name: &str, quote: char) -> String {
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

/// Two columns of one name would be one field.
pub(crate) fn check_columns(columns: &[String], errors: &Errors) -> Result<(), OpenError> {
    for (number, column) in columns.iter().enumerate() {
        if columns[..number].contains(column) {
            return Err(errors.selection(format!("two columns are called {column}; name them apart with AS")));
        }
    }
    if columns.is_empty() {
        return Err(errors.selection("the query gives no columns"));
    }
    Ok(())
}

/// A query must have one parameter for each value of the key.
pub(crate) fn check_parameters(parameters: usize, key_values: usize, errors: &Errors) -> Result<(), OpenError> {
    if parameters == key_values {
        return Ok(());
    }
    Err(errors.selection(format!("the query has {parameters} parameters and the key has {key_values} values")))
}
