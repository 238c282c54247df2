//! Texts with places for a key's values.

use super::KeyValue;

/// A text with `{key}`, the key's only value, or `{key.1}`, `{key.2}` and so on, one of several.
/// Any other braces are the text's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// Which value, from 0.
    Value(usize),
}

impl KeyTemplate {
    /// Reads `text`, for keys of `values` values; each has to stand in it.
    pub(crate) fn parse(text: &str, values: usize) -> Result<Self, String> {
        let template = Self::parse_any(text, values)?;
        for value in 0..values {
            if !template.holds(value) {
                let place = if values == 1 { "{key}".to_owned() } else { format!("{{key.{}}}", value + 1) };
                return Err(format!("`{text}` has no {place}, so that different keys would find the same"));
            }
        }
        Ok(template)
    }

    /// As [`parse`](Self::parse), but values may be left out.
    pub(crate) fn parse_any(text: &str, values: usize) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("{key") {
            let (before, place) = rest.split_at(start);
            literal.push_str(before);
            let inner = place[1..].split_once('}').map_or("", |(inner, _)| inner);
            let number = match inner.strip_prefix("key.") {
                _ if inner == "key" && values == 1 => Some(0),
                _ if inner == "key" => {
                    return Err(format!(
                        "`{text}` has {{key}}, and the key has {values} values: write {{key.1}}, {{key.2}}"
                    ));
                }
                Some(number) => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
                None => None,
            };
            match number {
                Some(number) if number < values => {
                    if !literal.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Value(number));
                    rest = &place[inner.len() + 2..];
                }
                Some(_) => return Err(format!("`{text}` has {{{inner}}}, and the key has {values} values")),
                None => {
                    literal.push_str("{key");
                    rest = &place["{key".len()..];
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    /// Whether no value stands in it.
    pub(crate) fn is_constant(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Value(_)))
    }

    /// Whether a value, from 0, stands in it.
    pub(crate) fn holds(&self, value: usize) -> bool {
        self.parts.contains(&Part::Value(value))
    }

    /// The text with the values in their places, each written by `write`.
    pub(crate) fn fill(&self, values: &[KeyValue], write: impl Fn(&KeyValue) -> String) -> String {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Value(number) => filled.push_str(&write(&values[*number])),
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str, values: &[&str]) -> Result<String, String> {
        let values: Vec<KeyValue> = values.iter().map(|value| KeyValue::Text((*value).into())).collect();
        Ok(KeyTemplate::parse(text, values.len())?.fill(&values, KeyValue::plain))
    }

    #[test]
    fn values_stand_in_their_places() {
        assert_eq!(fill("user:{key}", &["7"]).unwrap(), "user:7");
        assert_eq!(fill("{key.2}/{key.1}", &["a", "b"]).unwrap(), "b/a");
        assert_eq!(fill(r#"{"id":"{key}"} {keys} {key"#, &["a"]).unwrap(), r#"{"id":"a"} {keys} {key"#);
        assert_eq!(fill("{key}{key}", &["{key}"]).unwrap(), "{key}{key}");
    }

    #[test]
    fn each_value_needs_a_place_and_each_place_a_value() {
        for (text, values) in
            [("user", &["a"][..]), ("{key.1}", &["a", "b"]), ("{key}", &["a", "b"]), ("{key.1}{key.2}", &["a"])]
        {
            assert!(fill(text, values).is_err(), "{text}");
        }
    }
}
