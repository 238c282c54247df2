//! How much may go wrong in a run that still ends well.

/// How many records may fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MaxErrors {
    Count(u64),
    Percent(f64),
}

impl MaxErrors {
    /// Whether more than may be have failed, of all records.
    pub(super) fn is_passed(self, errors: u64, records: u64) -> bool {
        match self {
            Self::Count(count) => errors > count,
            Self::Percent(percent) => errors as f64 * 100.0 > percent * records as f64,
        }
    }
}

impl std::str::FromStr for MaxErrors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a count such as 10 nor a percentage such as 0.5%");
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Count).map_err(|_| wrong()),
            Some(percent) => match percent.parse() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percent(percent)),
                _ => Err(wrong()),
            },
        }
    }
}

impl std::fmt::Display for MaxErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}
