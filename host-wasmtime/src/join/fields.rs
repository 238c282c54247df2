//! Fields of a JSON object, found and kept as they are written.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Where a value is: the name of a field, or a path of names and indices into nested objects and arrays.
///
/// It is written as `id`, `user.id` or `items[0].id`. A name with a dot, a comma, a bracket or a quote in it stands in double
/// quotes, as in JSON: `"last, first"`, `user."e.mail"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    parts: Vec<Part>,
    /// Whether nothing in it is quoted, so that a field may have the whole text as its name.
    is_plain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Name(String),
    Index(usize),
}

impl Part {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Index(_) => None,
        }
    }
}

impl FromStr for FieldPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, rest) = Self::parse(text)?;
        if rest.is_empty() { Ok(path) } else { Err(format!("`{text}` goes on behind a path, at `{rest}`")) }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FieldPath {
    /// The path that `text` begins with, and what follows: nothing, or a comma and more.
    fn parse(text: &str) -> Result<(Self, &str), String> {
        let (mut parts, mut is_plain, mut rest) = (Vec::new(), true, text);
        loop {
            let is_quoted = rest.starts_with('"');
            is_plain &= !is_quoted;
            let (name, after) = match quoted(rest)? {
                Some(quoted) => quoted,
                None => {
                    let end = rest.find(['.', ',']).unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
            };
            rest = after;
            let (name, indices) = indices(name, &mut rest, is_quoted);
            if name.is_empty() && !is_quoted {
                return Err(format!("`{text}` has an empty name in it; write \"\" for a field that is called so"));
            }
            parts.push(Part::Name(name));
            parts.extend(indices);
            match rest.strip_prefix('.') {
                Some(more) => rest = more,
                None => break,
            }
        }
        if !rest.is_empty() && !rest.starts_with(',') {
            return Err(format!("`{text}` goes on behind a quote, at `{rest}`"));
        }
        let text = text[..text.len() - rest.len()].to_owned();
        Ok((Self { text, parts, is_plain }, rest))
    }

    /// The last name of the path.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.parts.iter().rev().find_map(Part::name).unwrap_or(&self.text)
    }

    /// The names of the path, where it goes through objects alone.
    #[must_use]
    pub fn names(&self) -> Option<Vec<&str>> {
        self.parts.iter().map(Part::name).collect()
    }

    /// The names that a field of the record itself may have to begin this path; the first is the whole path's.
    pub fn first_names(&self) -> impl Iterator<Item = &str> {
        let whole = self.is_plain.then_some(self.text.as_str());
        whole.into_iter().chain(self.parts[0].name())
    }

    /// Whether a record whose fields are these texts, as those of CSV are, has a value here.
    #[must_use]
    pub fn is_column_of(&self, columns: &[String]) -> bool {
        let has = |name: &str| columns.iter().any(|column| column == name);
        self.is_plain && has(&self.text) || matches!(&self.parts[..], [Part::Name(name)] if has(name))
    }

    /// Whether a field of the record itself may begin this path.
    pub(super) fn begins_with(&self, name: &str) -> bool {
        self.first_names().any(|first| first == name)
    }

    /// The value at this path, where the record has `fields`; of equal names the last.
    ///
    /// A field whose name is the whole path, dots included, comes first.
    pub(super) fn find<'a>(&self, fields: &[Field<'a>]) -> Option<&'a RawValue> {
        let field = |name: &str| fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| *value);
        if self.is_plain
            && let Some(value) = field(&self.text)
        {
            return Some(value);
        }
        let (Part::Name(first), rest) = self.parts.split_first()? else { return None };
        let mut value = field(first)?;
        for part in rest {
            value = match part {
                Part::Name(name) => all_fields(value.get()).ok()?.iter().rev().find(|(field, _)| field == name)?.1,
                Part::Index(place) => *serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(*place)?,
            };
        }
        Some(value)
    }
}

/// The name in double quotes that `text` begins with, and what follows.
fn quoted(text: &str) -> Result<Option<(String, &str)>, String> {
    if !text.starts_with('"') {
        return Ok(None);
    }
    let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match names.next() {
        Some(Ok(name)) => Ok(Some((name, &text[names.byte_offset()..]))),
        _ => Err(format!("`{text}` begins with a quote that does not end as in JSON")),
    }
}

/// A name without the indices behind it, such as `[0]`; behind a quoted name they stand in `rest`.
fn indices(name: String, rest: &mut &str, is_quoted: bool) -> (String, Vec<Part>) {
    let mut indices = Vec::new();
    if is_quoted {
        while let Some((index, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let Ok(index) = index.parse() else { break };
            indices.push(Part::Index(index));
            *rest = after;
        }
        return (name, indices);
    }
    let mut name = name;
    while let Some((before, index)) = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        let Ok(index) = index.parse() else { break };
        if before.is_empty() {
            break;
        }
        indices.insert(0, Part::Index(index));
        name.truncate(before.len());
    }
    (name, indices)
}

/// Paths parted by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPaths(pub Vec<FieldPath>);

impl FromStr for FieldPaths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, mut rest) = FieldPath::parse(text)?;
        let mut paths = vec![first];
        while let Some(more) = rest.strip_prefix(',') {
            let (path, after) = FieldPath::parse(more)?;
            paths.push(path);
            rest = after;
        }
        Ok(Self(paths))
    }
}

/// Names parted by commas; one with a comma or a quote in it stands in double quotes, as in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut names, mut rest) = (Vec::new(), text);
        loop {
            let (name, after) = match quoted(rest)? {
                Some(quoted) => quoted,
                None => {
                    let end = rest.find(',').unwrap_or(rest.len());
                    (rest[..end].to_owned(), &rest[end..])
                }
            };
            names.push(name);
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None if after.is_empty() => return Ok(Self(names)),
                None => return Err(format!("`{text}` goes on behind a quote, at `{after}`")),
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str, json: &str) -> Option<String> {
        let path: FieldPath = path.parse().unwrap();
        path.find(&all_fields(json).unwrap()).map(|value| value.get().to_owned())
    }

    #[test]
    fn a_path_goes_through_objects_and_arrays() {
        let json =
            r#"{"a":1,"u":{"id":2,"e.mail":3},"l":[{"x":[4,5]}],"last, first":6,"d.t":7,"b[0]":8,"q\"":9,"t[C]":10}"#;
        for (path, value) in [
            ("a", "1"),
            ("u.id", "2"),
            ("u.\"e.mail\"", "3"),
            ("l[0].x[1]", "5"),
            ("\"last, first\"", "6"),
            ("d.t", "7"),
            ("\"d.t\"", "7"),
            ("b[0]", "8"),
            ("\"q\\\"\"", "9"),
            ("t[C]", "10"),
            ("\"l\"[0].x[0]", "4"),
        ] {
            assert_eq!(find(path, json).as_deref(), Some(value), "{path}");
        }
        for path in ["b", "u.x", "a.b", "l[1]", "l.x", "\"u.id\"", "a[0]"] {
            assert_eq!(find(path, json), None, "{path}");
        }
    }

    #[test]
    fn commas_part_paths_and_names_outside_of_quotes() {
        let paths: FieldPaths = "a,\"b, c\",d.\"e,f\"[1]".parse().unwrap();
        let shown: Vec<&str> = paths.0.iter().map(FieldPath::last_name).collect();
        assert_eq!(shown, ["a", "b, c", "e,f"]);
        let names: Names = "a.b,\"c, d\",e".parse().unwrap();
        assert_eq!(names.0, ["a.b", "c, d", "e"]);
        for text in ["", "a,", "a..b", "\"a", "\"a\"b"] {
            assert!(text.parse::<FieldPaths>().is_err(), "{text}");
        }
        assert!("\"a\"b".parse::<Names>().is_err());
    }
}
