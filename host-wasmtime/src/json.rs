//! JSON texts as they are written.

use std::borrow::Cow;

/// The same JSON on one line: without the white space between its tokens, if it has line breaks.
pub(crate) fn on_one_line(json: &str) -> Cow<'_, str> {
    // A line break inside a text is always escaped.
    if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    let mut line = String::with_capacity(json.len());
    let mut in_text = false;
    let mut escaped = false;
    for character in json.chars() {
        match character {
            '"' if !escaped => in_text = !in_text,
            ' ' | '\t' | '\n' | '\r' if !in_text => continue,
            _ => {}
        }
        escaped = in_text && character == '\\' && !escaped;
        line.push(character);
    }
    Cow::Owned(line)
}

/// The object of `fields`, whose values are JSON already.
pub(crate) fn object<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut json = String::from("{");
    for (number, (name, value)) in fields.enumerate() {
        if number > 0 {
            json.push(',');
        }
        json.push_str(&text(name));
        json.push(':');
        json.push_str(&value);
    }
    json.push('}');
    json
}

/// Appends the object of these texts. The names are as [`name`] gives them.
pub(crate) fn write_texts<T: AsRef<str>>(names: &[Vec<u8>], texts: impl Iterator<Item = T>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (number, (name, text)) in names.iter().zip(texts).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name);
        write_text(text.as_ref(), out);
    }
    out.push(b'}');
}

/// A field's name as JSON, with its colon.
pub(crate) fn name(name: &str) -> Vec<u8> {
    let mut json = Vec::new();
    write_text(name, &mut json);
    json.push(b':');
    json
}

/// A text as JSON.
pub(crate) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Appends a text as JSON.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Nothing is written to but memory.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::on_one_line;

    #[test]
    fn white_space_between_tokens_goes_and_texts_stay() {
        let json = "{\n  \"a b\": \"c \\\" d \\\\\",\r\n\t\"e\": [1.10, 2]\n}";
        assert_eq!(on_one_line(json), r#"{"a b":"c \" d \\","e":[1.10,2]}"#);
        assert_eq!(on_one_line(r#"{ "a": 1 }"#), r#"{ "a": 1 }"#);
    }
}
