//! An object whose fields are set while all else stays as it is written.

use super::fields::all_fields;
use crate::json;

/// A JSON object on its way out.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    /// Where it begins in `out`.
    start: usize,
    /// Whether a field that is set may be there already.
    may_have: bool,
}

impl<'o> Object<'o> {
    /// Appends `object`, but for the bracket that ends it; `may_have` says whether fields that are set may be there already.
    pub(super) fn begin(object: &[u8], may_have: bool, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(open(object));
        Self { out, start, may_have }
    }

    /// Whether it has a field there.
    pub(super) fn has(&self, names: &[String]) -> bool {
        self.whole().is_some_and(|whole| has(&whole, names))
    }

    /// Sets a field, in place of one that is there.
    pub(super) fn set(&mut self, names: &[String], value: &[u8]) {
        let [name] = names else {
            return self.set_nested(names, value);
        };
        if self.may_have {
            self.remove(name);
        }
        self.push(name, value);
    }

    fn set_nested(&mut self, names: &[String], value: &[u8]) {
        let Some(whole) = self.whole() else { return };
        let nested = with(&whole, names, value);
        self.out.truncate(self.start);
        self.out.extend_from_slice(open(nested.as_bytes()));
    }

    fn remove(&mut self, name: &str) {
        let Some(whole) = self.whole() else { return };
        let Ok(fields) = all_fields(&whole) else { return };
        if !fields.iter().any(|(field, _)| field == name) {
            return;
        }
        let kept = fields.iter().filter(|(field, _)| field != name);
        let kept = json::object(kept.map(|(field, value)| (field.as_ref(), value.get().to_owned())));
        self.out.truncate(self.start);
        self.out.extend_from_slice(open(kept.as_bytes()));
    }

    fn push(&mut self, name: &str, value: &[u8]) {
        if self.out[self.start..].trim_ascii_start() != b"{" {
            self.out.push(b',');
        }
        json::write_text(name, self.out);
        self.out.push(b':');
        self.out.extend_from_slice(value);
    }

    /// The object as it is now.
    fn whole(&self) -> Option<String> {
        Some(std::str::from_utf8(&self.out[self.start..]).ok()?.to_owned() + "}")
    }

    /// Ends the object.
    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}

/// An object without the bracket that ends it.
fn open(object: &[u8]) -> &[u8] {
    let object = object.trim_ascii_end();
    object.strip_suffix(b"}").unwrap_or(object).trim_ascii_end()
}

fn has(object: &str, names: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else { return true };
    let Ok(fields) = all_fields(object) else { return false };
    fields.iter().rev().find(|(name, _)| name == first).is_some_and(|(_, value)| has(value.get(), rest))
}

/// The object with a field set in it, or in the objects within.
fn with(object: &str, names: &[String], value: &[u8]) -> String {
    let Some((first, rest)) = names.split_first() else { return String::from_utf8_lossy(value).into_owned() };
    let fields = all_fields(object).unwrap_or_default();
    if let Some((_, inner)) = fields.iter().rev().find(|(name, _)| name == first) {
        let start = inner.get().as_ptr() as usize - object.as_ptr() as usize;
        let (before, after) = (&object[..start], &object[start + inner.get().len()..]);
        return format!("{before}{}{after}", with(inner.get(), rest, value));
    }
    let mut out = Vec::new();
    let mut outer = Object::begin(object.as_bytes(), false, &mut out);
    outer.push(first, with("{}", rest, value).as_bytes());
    outer.end();
    String::from_utf8_lossy(&out).into_owned()
}
