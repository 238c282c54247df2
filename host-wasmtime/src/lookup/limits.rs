//! How much one lookup may find.

use bytes::Bytes;
use lookaside_core::{FailureKind, LookupError, Rows};

use super::{Setting, Settings};

/// The settings of these limits.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting { name: "max-rows", value: "COUNT", default: "10000", meaning: "rows that one lookup may find" },
    Setting { name: "max-bytes", value: "SIZE", default: "16M", meaning: "bytes that one lookup may find" },
    Setting {
        name: "over-limit",
        value: "fail|cut",
        default: "fail",
        meaning: "whether a lookup that finds more fails, or gives the first rows that fit",
    },
];

/// The limits of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    over: OverLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OverLimit {
    Fail,
    Cut,
}

impl Limits {
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        Ok(Self {
            rows: settings.count("max-rows", 10_000)?,
            bytes: settings.bytes("max-bytes", 16 << 20)?,
            over: settings.choice("over-limit", &[("fail", OverLimit::Fail), ("cut", OverLimit::Cut)])?,
        })
    }

    /// The rows, where they are within the limits, or what becomes of them.
    pub(crate) fn apply(&self, rows: Rows) -> Result<Rows, LookupError> {
        let mut bytes = 0;
        let within = (rows.as_slice().iter())
            .take(self.rows)
            .take_while(|row| {
                bytes += row.len();
                bytes <= self.bytes
            })
            .count();
        let found = rows.as_slice().len();
        if within == found {
            return Ok(rows);
        }
        match self.over {
            OverLimit::Cut => {
                Ok(rows.as_slice().iter().take(within).cloned().collect::<Vec<Bytes>>().into_iter().collect())
            }
            OverLimit::Fail if found > self.rows => {
                Err(over(format!("{found} rows were found, over max-rows={}", self.rows)))
            }
            OverLimit::Fail => Err(over(format!("{found} rows were found, over max-bytes={}", self.bytes))),
        }
    }
}

fn over(message: String) -> LookupError {
    LookupError::new(FailureKind::Rejected, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Limits {
        Limits::new(&Settings::parse(text, &[SETTINGS]).unwrap()).unwrap()
    }

    fn rows(count: usize) -> Rows {
        std::iter::repeat_n(Bytes::from_static(b"[1234567]"), count).collect()
    }

    #[test]
    fn what_is_within_the_limits_stays() {
        for limits in [limits("max-rows=3&max-bytes=27"), limits("max-rows=3&max-bytes=27&over-limit=cut")] {
            for count in 0..=3 {
                assert_eq!(limits.apply(rows(count)).unwrap(), rows(count));
            }
        }
    }

    #[test]
    fn what_is_over_them_fails_or_is_cut() {
        assert!(
            limits("max-rows=3").apply(rows(4)).unwrap_err().message.contains("4 rows were found, over max-rows=3")
        );
        assert!(limits("max-bytes=26").apply(rows(3)).unwrap_err().message.contains("over max-bytes=26"));
        assert_eq!(limits("max-rows=3&over-limit=cut").apply(rows(4)).unwrap(), rows(3));
        assert_eq!(limits("max-bytes=26&over-limit=cut").apply(rows(3)).unwrap(), rows(2));
        assert_eq!(limits("max-bytes=1&over-limit=cut").apply(rows(3)).unwrap(), rows(0));
    }
}
