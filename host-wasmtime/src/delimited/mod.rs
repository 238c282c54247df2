//! Texts whose values are parted by a delimiter: CSV, TSV, and files that differ a little.

mod dialect;
mod header;
mod reader;

pub use dialect::Dialect;
pub(crate) use dialect::write_tsv_cell;
pub(crate) use header::{nearest, unique_names};
pub(crate) use reader::{DelimitedError, DelimitedReader};
