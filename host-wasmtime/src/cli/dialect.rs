//! How the values of CSV and TSV are parted, as the command line says it.

use clap::Args;

use crate::delimited::Dialect;

/// How the values of a file are parted, as far as it is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DialectArguments {
    delimiter: Option<u8>,
    quote: Option<Quote>,
    comment: Option<u8>,
    no_header: bool,
}

impl DialectArguments {
    /// The dialect that differs from `usual` as was said; none where nothing was.
    pub(super) fn of(self, usual: Option<Dialect>) -> Result<Option<Dialect>, String> {
        if self == Self::default() {
            return Ok(None);
        }
        let usual =
            usual.ok_or("delimiters, quotes, comments and headers are those of CSV and TSV, and this is JSON")?;
        let dialect = Dialect {
            delimiter: self.delimiter.unwrap_or(usual.delimiter),
            quote: self.quote.map_or(usual.quote, |quote| quote.0),
            comment: self.comment.or(usual.comment),
            header: usual.header && !self.no_header,
            // Where values are quoted they are not escaped.
            escapes: usual.escapes && self.quote.is_none(),
        };
        let quote = dialect.quote.unwrap_or(dialect.delimiter.wrapping_add(1));
        if dialect.delimiter == quote
            || dialect.comment.is_some_and(|comment| comment == quote || comment == dialect.delimiter)
        {
            return Err("the delimiter, the quote and the comment have to be three characters".into());
        }
        Ok(Some(dialect))
    }
}

#[derive(Debug, Args)]
pub(super) struct InputDialect {
    /// What parts the values of CSV and TSV: one character, or tab.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    delimiter: Option<u8>,

    /// What values of CSV and TSV are quoted with: one character, or none.
    #[arg(long, value_name = "CHARACTER")]
    quote: Option<Quote>,

    /// Pass over lines of CSV and TSV that begin so.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    comment: Option<u8>,

    /// The first line of CSV and TSV is a record; its fields are called 1, 2, 3.
    #[arg(long)]
    no_header: bool,
}

#[derive(Debug, Args)]
pub(super) struct TableDialect {
    /// As --delimiter, for a table.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    table_delimiter: Option<u8>,

    /// As --quote, for a table.
    #[arg(long, value_name = "CHARACTER")]
    table_quote: Option<Quote>,

    /// As --comment, for a table.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_character)]
    table_comment: Option<u8>,

    /// As --no-header, for a table.
    #[arg(long)]
    table_no_header: bool,
}

impl From<&InputDialect> for DialectArguments {
    fn from(said: &InputDialect) -> Self {
        Self { delimiter: said.delimiter, quote: said.quote, comment: said.comment, no_header: said.no_header }
    }
}

impl From<&TableDialect> for DialectArguments {
    fn from(said: &TableDialect) -> Self {
        Self {
            delimiter: said.table_delimiter,
            quote: said.table_quote,
            comment: said.table_comment,
            no_header: said.table_no_header,
        }
    }
}

/// What values are quoted with, if with anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote(Option<u8>);

impl std::str::FromStr for Quote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Self(None)) } else { Ok(Self(Some(parse_character(text)?))) }
    }
}

/// One character that is one byte.
fn parse_character(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte @ (b' '..=b'~' | b'\t')] => Ok(*byte),
        _ => Err("it is not one character such as ; | or '".into()),
    }
}
