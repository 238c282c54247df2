//! Fields of a JSON object, found and kept as they are written.

use std::{borrow::Cow, convert::Infallible, fmt, str::FromStr};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Where a value is: the name of a field, or a path of names into nested objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    names: Vec<String>,
}

impl FromStr for FieldPath {
    type Err = Infallible;

    /// Reads `id` and `user.id`.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self { text: text.to_owned(), names: text.split('.').map(str::to_owned).collect() })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FieldPath {
    /// The last name of the path.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.names.last().map_or(&self.text, String::as_str)
    }

    /// Whether a field of the record itself may begin this path.
    pub(super) fn begins_with(&self, name: &str) -> bool {
        self.text == name || self.names[0] == name
    }

    /// The value at this path, where the record has `fields`; of equal names the last.
    ///
    /// A field whose name is the whole path, dots included, comes first.
    pub(super) fn find<'a>(&self, fields: &[Field<'a>]) -> Option<&'a RawValue> {
        let field = |name: &str| fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| *value);
        if let Some(value) = field(&self.text) {
            return Some(value);
        }
        let mut value = field(&self.names[0])?;
        for name in &self.names[1..] {
            let inner = all_fields(value.get()).ok()?;
            value = inner.iter().rev().find(|(field, _)| field == name)?.1;
        }
        Some(value)
    }
}

/// A field's name and its value, as it is written.
pub(super) type Field<'a> = (Cow<'a, str>, &'a RawValue);

/// The fields of an object whose names are wanted, as they are written.
pub(super) fn fields<'a>(json: &'a str, wanted: &dyn Fn(&str) -> bool) -> serde_json::Result<Vec<Field<'a>>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let fields = Wanted(wanted).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(fields)
}

/// All fields of an object, as they are written.
pub(crate) fn all_fields(json: &str) -> serde_json::Result<Vec<Field<'_>>> {
    fields(json, &|_| true)
}

/// Says which fields are wanted.
struct Wanted<'w>(&'w dyn Fn(&str) -> bool);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Vec<Field<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Vec<Field<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(Name(name)) = map.next_key()? {
            if (self.0)(&name) {
                fields.push((name, map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(fields)
    }
}

/// A field's name; borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
