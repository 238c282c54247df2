//! Event times as the data writes them.

use std::str::FromStr;

use jiff::{Timestamp, fmt::strtime, tz::TimeZone};
use lookaside_core::EventTime;
use serde_json::value::RawValue;

/// How event times are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventTimeFormat {
    /// Numbers are milliseconds since the Unix epoch, texts are RFC 3339.
    Auto,
    /// Numbers of seconds since the Unix epoch, with a fraction or without.
    Seconds,
    /// Texts by a pattern such as `%Y/%m/%d %H:%M`; in UTC where it has no zone.
    Pattern(String),
}

impl FromStr for EventTimeFormat {
    type Err = String;

    /// Reads `auto`, `seconds`, or a pattern with `%` in it.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "seconds" => Ok(Self::Seconds),
            _ if text.contains('%') => Ok(Self::Pattern(text.to_owned())),
            _ => Err(format!("`{text}` is neither auto, seconds, nor a pattern such as %Y-%m-%d %H:%M:%S")),
        }
    }
}

impl EventTimeFormat {
    /// The event time that a JSON value writes.
    ///
    /// # Errors
    ///
    /// What was expected.
    pub fn read(&self, value: &RawValue) -> Result<EventTime, String> {
        let json = value.get();
        let text = || {
            serde_json::from_str::<String>(json).map_err(|_| match self {
                Self::Auto => "a number of milliseconds or an RFC 3339 text was expected".to_owned(),
                Self::Seconds => "a number of seconds was expected".to_owned(),
                Self::Pattern(pattern) => format!("a text such as {pattern} was expected"),
            })
        };
        let number = || json.parse::<f64>().ok().filter(|number| number.abs() < 1e15);
        let milliseconds = match self {
            Self::Auto => match json.parse::<i64>() {
                Ok(milliseconds) => milliseconds,
                Err(_) => match number() {
                    Some(number) => number as i64,
                    None => rfc3339(&text()?)?,
                },
            },
            // Texts come from CSV, which has no numbers.
            Self::Seconds => match number().or_else(|| text().ok()?.trim().parse().ok()) {
                Some(seconds) => (seconds * 1_000.0).round() as i64,
                None => return Err("a number of seconds was expected".into()),
            },
            Self::Pattern(pattern) => by_pattern(pattern, &text()?)?,
        };
        Ok(EventTime(milliseconds))
    }
}

fn rfc3339(text: &str) -> Result<i64, String> {
    if let Ok(milliseconds) = text.trim().parse() {
        return Ok(milliseconds);
    }
    let timestamp: Timestamp = text.parse().map_err(|error| format!("`{text}` is no RFC 3339 time: {error}"))?;
    Ok(timestamp.as_millisecond())
}

fn by_pattern(pattern: &str, text: &str) -> Result<i64, String> {
    let wrong = |error: jiff::Error| format!("`{text}` does not fit {pattern}: {error}");
    let time = strtime::parse(pattern, text).map_err(wrong)?;
    if time.offset().is_some() {
        return Ok(time.to_timestamp().map_err(wrong)?.as_millisecond());
    }
    let date = time.to_datetime().or_else(|_| time.to_date().map(|date| date.at(0, 0, 0, 0))).map_err(wrong)?;
    Ok(TimeZone::UTC.to_timestamp(date).map_err(wrong)?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, json: &str) -> Result<i64, String> {
        let value: &RawValue = serde_json::from_str(json).unwrap();
        format.parse::<EventTimeFormat>()?.read(value).map(|time| time.0)
    }

    #[test]
    fn event_times_in_the_ways_that_data_writes_them() {
        for (format, json, expected) in [
            ("auto", "979509300000", 979_509_300_000),
            ("auto", "1e3", 1_000),
            ("auto", "\"2001-01-14T21:55:00Z\"", 979_509_300_000),
            ("auto", "\"2001-01-14T22:55:00.5+01:00\"", 979_509_300_500),
            ("auto", "\"979509300000\"", 979_509_300_000),
            ("seconds", "979509300.25", 979_509_300_250),
            ("seconds", "\"979509300\"", 979_509_300_000),
            ("%Y/%m/%d %H:%M", "\"2001/01/14 21:55\"", 979_509_300_000),
            ("%Y/%m/%d", "\"2001/01/14\"", 979_430_400_000),
            ("%Y-%m-%d %H:%M %z", "\"2001-01-14 22:55 +0100\"", 979_509_300_000),
        ] {
            assert_eq!(read(format, json), Ok(expected), "{format} {json}");
        }
    }

    #[test]
    fn what_is_no_event_time_says_what_was_expected() {
        for (format, json) in [
            ("auto", "\"soon\""),
            ("auto", "true"),
            ("seconds", "\"x\""),
            ("%Y", "2001"),
            ("%Y/%m/%d", "\"2001-01-14\""),
        ] {
            assert!(read(format, json).is_err(), "{format} {json}");
        }
        assert!("yyyy-MM-dd".parse::<EventTimeFormat>().is_err());
    }
}
