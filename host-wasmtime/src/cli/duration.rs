//! Durations that may be none.

use std::time::Duration;

use crate::units::parse_duration;

/// A duration, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OptionalDuration(pub(super) Option<Duration>);

impl std::str::FromStr for OptionalDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let duration = parse_duration(text)?;
        if duration.is_zero() {
            return Err("a duration of 0 leaves no time; `none` sets no bound".into());
        }
        Ok(Self(Some(duration)))
    }
}
