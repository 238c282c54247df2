//! Settings that ride in a lookup's address.

use std::{fmt, time::Duration};

use percent_encoding::percent_decode_str;

use crate::units::{parse_bytes, parse_duration};

/// A setting that a backend knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as it stands in the address.
    pub name: &'static str,
    /// What its value looks like, such as `COUNT` or `text|json`.
    pub value: &'static str,
    /// What holds where it is not given.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
}

/// The settings of one address: `name=value` pairs, percent-encoded where need be, parted by `&`.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    given: Vec<(String, String)>,
}

/// Names only: values may be secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.given.iter().map(|(name, _)| name)).finish()
    }
}

impl Settings {
    /// Reads `text`, in which only `known` may be set.
    pub(crate) fn parse(text: &str, known: &[&[Setting]]) -> Result<Self, String> {
        let known = || known.iter().copied().flatten();
        let mut given = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| format!("the setting `{pair}` has no value"))?;
            if !known().any(|setting| setting.name == name) {
                let names: Vec<&str> = known().map(|setting| setting.name).collect();
                return Err(format!("there is no setting `{name}`; there are {}", names.join(", ")));
            }
            let value = percent_decode_str(value).decode_utf8().map_err(|_| format!("`{name}` is no UTF-8 text"))?;
            given.push((name.to_owned(), value.into_owned()));
        }
        Ok(Self { given })
    }

    /// All values of a setting.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.given.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The value of a setting; the last one where it is given more than once.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// The names in a list parted by commas.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        self.all(name).flat_map(|value| value.split(',')).filter(|name| !name.is_empty()).collect()
    }

    /// A count of at least 1.
    pub(crate) fn count(&self, name: &str, default: usize) -> Result<usize, String> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|count| *count > 0).ok_or_else(|| format!("{name}={text}: it is no number from 1"))
    }

    /// A size in bytes.
    pub(crate) fn bytes(&self, name: &str, default: usize) -> Result<usize, String> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let bytes = parse_bytes(text).map_err(|reason| format!("{name}={text}: {reason}"))?;
        usize::try_from(bytes).map_err(|_| format!("{name}={text}: it is more than this machine holds"))
    }

    /// A duration of more than 0.
    pub(crate) fn duration(&self, name: &str, default: Duration) -> Result<Duration, String> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let duration = parse_duration(text).map_err(|reason| format!("{name}={text}: {reason}"))?;
        if duration.is_zero() { Err(format!("{name}={text}: it leaves no time")) } else { Ok(duration) }
    }

    /// One of `choices`; the first where it is not given.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, String> {
        let Some(text) = self.text(name) else { return Ok(choices[0].1) };
        choices.iter().find(|(choice, _)| *choice == text).map(|(_, chosen)| *chosen).ok_or_else(|| {
            let choices: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            format!("{name}={text}: choose one of {}", choices.join(", "))
        })
    }

    /// True or false; false where it is not given.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, String> {
        self.choice(name, &[("false", false), ("true", true)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Setting] = &[
        Setting { name: "batch", value: "COUNT", default: "1", meaning: "" },
        Setting { name: "key", value: "TEXT", default: "", meaning: "" },
    ];

    #[test]
    fn values_are_decoded_and_numbers_checked() {
        let settings = Settings::parse("batch=7&key=user:%7Bkey%7D%26+x", &[KNOWN]).unwrap();
        assert_eq!(settings.count("batch", 1), Ok(7));
        assert_eq!(settings.text("key"), Some("user:{key}&+x"));
        let none = Settings::parse("", &[KNOWN]).unwrap();
        assert_eq!(none.count("batch", 1), Ok(1));
        for bad in ["batch=0", "batch=-1", "batch=x"] {
            assert!(Settings::parse(bad, &[KNOWN]).unwrap().count("batch", 1).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_setting_is_refused_with_those_that_there_are() {
        let error = Settings::parse("bach=7", &[KNOWN]).unwrap_err();
        assert_eq!(error, "there is no setting `bach`; there are batch, key");
        assert!(Settings::parse("batch", &[KNOWN]).is_err());
    }

    #[test]
    fn values_are_not_shown() {
        let settings = Settings::parse("key=hidden", &[KNOWN]).unwrap();
        assert_eq!(format!("{settings:?}"), r#"["key"]"#);
    }
}
