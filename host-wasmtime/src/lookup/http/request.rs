//! What is sent for a batch of keys.

use lookaside_core::{FailureKind, LookupError};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use url::Url;

use crate::lookup::{KeyTemplate, KeyValue, Settings};

/// What a key may not have in a URL.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Where all keys of a batch stand.
const KEYS: &str = "{keys}";

/// A request with places for keys.
#[derive(Debug)]
pub(super) struct RequestTemplate {
    pub(super) method: Method,
    /// Scheme and authority; the host may have places.
    origin: KeyTemplate,
    /// Path and query.
    rest: Template,
    body: Option<Template>,
    /// Whether values in the body are encoded as in forms, and not as JSON.
    is_form: bool,
    pub(super) headers: HeaderMap,
    /// Whether an empty key may be a part of the path.
    empty_keys: bool,
}

/// A text with places for one key's values, or for all keys.
#[derive(Debug)]
enum Template {
    One(KeyTemplate),
    /// What stands before, between and after the places.
    All(Vec<String>),
}

impl Template {
    fn parse(text: &str, values: usize) -> Result<Self, String> {
        if text.contains(KEYS) {
            return Ok(Self::All(text.split(KEYS).map(str::to_owned).collect()));
        }
        Ok(Self::One(KeyTemplate::parse_any(text, values)?))
    }

    fn fill(
        &self,
        keys: &[Vec<KeyValue>],
        one: impl Fn(&KeyValue) -> String,
        all: impl Fn(&[Vec<KeyValue>]) -> String,
    ) -> String {
        match self {
            Self::One(template) => template.fill(&keys[0], one),
            Self::All(parts) => parts.join(&all(keys)),
        }
    }

    fn one(&self) -> Option<&KeyTemplate> {
        match self {
            Self::One(template) => Some(template),
            Self::All(_) => None,
        }
    }
}

impl RequestTemplate {
    /// `url` is the address without its settings.
    pub(super) fn new(url: &str, values: usize, settings: &Settings) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("it has no `://`")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let body = settings.text("body").map(|body| Template::parse(body, values)).transpose()?;
        let method = match settings.text("method") {
            None if body.is_some() => Method::POST,
            None => Method::GET,
            Some(method) => {
                method.to_ascii_uppercase().parse().map_err(|_| format!("method={method}: there is none such"))?
            }
        };
        let content_type = settings.text("content-type").unwrap_or("application/json");
        let mut headers = HeaderMap::new();
        if body.is_some() {
            headers.insert(CONTENT_TYPE, header_value("content-type", content_type)?);
        }
        for header in settings.all("header") {
            let (name, value) = header.split_once(':').ok_or("header=: a header is written NAME: VALUE")?;
            let name: HeaderName =
                name.trim().parse().map_err(|_| format!("header=: `{}` is no header's name", name.trim()))?;
            let value = header_value(name.as_str(), value.trim())?;
            // The one that the body has by default gives way.
            if name == CONTENT_TYPE {
                headers.insert(name, value);
            } else {
                headers.append(name, value);
            }
        }
        let template = Self {
            method,
            origin: KeyTemplate::parse_any(&format!("{scheme}://{authority}"), values)?,
            rest: Template::parse(rest, values)?,
            is_form: content_type.starts_with("application/x-www-form-urlencoded"),
            body,
            headers,
            empty_keys: settings.flag("empty-keys")?,
        };
        if values > 1 && matches!(template.rest, Template::All(_)) {
            return Err("{keys} in a URL takes keys of one value; put it into body=".into());
        }
        template.check(url, values)?;
        Ok(template)
    }

    /// Whether each value of a key stands in it, and keys of one batch nowhere stand for one.
    fn check(&self, url: &str, values: usize) -> Result<(), String> {
        let texts = [Some(&self.rest), self.body.as_ref()];
        let ones = texts.into_iter().flatten().filter_map(Template::one).chain([&self.origin]);
        if self.takes_many() {
            // It would be filled with the first key of each batch.
            if ones.clone().any(|text| !text.is_constant()) || url.contains("{key}") {
                return Err("it has {keys} and {key}: a request is for many keys, or for one".into());
            }
            return Ok(());
        }
        let missing = (0..values).find(|value| !ones.clone().any(|text| text.holds(*value)));
        if let Some(missing) = missing {
            let place = if values == 1 { "{key}".to_owned() } else { format!("{{key.{}}}", missing + 1) };
            return Err(format!("the key stands nowhere in it; write {place} into the URL or into body="));
        }
        Ok(())
    }

    /// Whether one request asks for many keys.
    pub(super) fn takes_many(&self) -> bool {
        matches!(self.rest, Template::All(_)) || matches!(self.body, Some(Template::All(_)))
    }

    /// The host, where no key is part of it.
    pub(super) fn spelled_host(&self) -> Result<Option<String>, String> {
        if !self.origin.is_constant() {
            return Ok(None);
        }
        let origin = Url::parse(&self.origin.fill(&[], KeyValue::plain)).map_err(|error| error.to_string())?;
        origin.host_str().map(|host| Some(host.to_owned())).ok_or_else(|| "it names no host".into())
    }

    /// The URL for `keys`, of which there is one unless [`takes_many`](Self::takes_many).
    pub(super) fn url(&self, keys: &[Vec<KeyValue>]) -> Result<Url, LookupError> {
        let rejected = |message: &str| LookupError::new(FailureKind::Rejected, message);
        let is_name = |value: &KeyValue| {
            let text = value.plain();
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if !self.origin.is_constant() && !keys[0].iter().all(is_name) {
            return Err(rejected("the key cannot be part of a host's name"));
        }
        let encoded = |value: &KeyValue| utf8_percent_encode(&value.plain(), ENCODED).to_string();
        let all = |keys: &[Vec<KeyValue>]| keys.iter().flatten().map(encoded).collect::<Vec<_>>().join(",");
        let rest = self.rest.fill(keys, encoded, all);
        let url = format!("{}{rest}", self.origin.fill(&keys[0], KeyValue::plain));
        let url = Url::parse(&url).map_err(|error| rejected(&format!("the key makes no URL: {error}")))?;
        // `.` and `..` would change which path is meant, and so would an empty part.
        let path = rest.split('?').next().unwrap_or_default();
        let is_kept = path.is_empty() || url.path() == path || !path.split('/').any(is_dots);
        if !is_kept {
            return Err(rejected("the key cannot be part of a path"));
        }
        if !self.empty_keys && self.empties_a_part_of(path) {
            return Err(rejected("an empty key would ask for another path; empty-keys=true lets it"));
        }
        Ok(url)
    }

    /// Whether a part of the path is empty that has a key in it.
    fn empties_a_part_of(&self, path: &str) -> bool {
        // A key that is not empty shows which parts are the template's own.
        let probe = vec![KeyValue::Text("x".into()); 16];
        let rest = match &self.rest {
            Template::One(template) => template.fill(&probe, KeyValue::plain),
            Template::All(parts) => parts.join("x"),
        };
        let own = rest.split('?').next().unwrap_or_default();
        path.split('/').zip(own.split('/')).any(|(part, own)| part.is_empty() && !own.is_empty())
    }

    /// The body for `keys`.
    pub(super) fn body(&self, keys: &[Vec<KeyValue>]) -> Option<String> {
        let body = self.body.as_ref()?;
        Some(match self.is_form {
            true => {
                let encoded = |value: &KeyValue| utf8_percent_encode(&value.plain(), ENCODED).to_string();
                body.fill(keys, encoded, |keys| keys.iter().flatten().map(encoded).collect::<Vec<_>>().join(","))
            }
            false => body.fill(keys, KeyValue::to_string, keys_as_json),
        })
    }
}

/// An array of the keys: of values, or of arrays where a key has several.
fn keys_as_json(keys: &[Vec<KeyValue>]) -> String {
    let written = |values: &[KeyValue]| values.iter().map(KeyValue::to_string).collect::<Vec<_>>().join(",");
    let keys: Vec<String> =
        keys.iter().map(|key| if key.len() == 1 { written(key) } else { format!("[{}]", written(key)) }).collect();
    format!("[{}]", keys.join(","))
}

fn is_dots(part: &str) -> bool {
    matches!(part, "." | "..")
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| format!("the value of the header {name} has characters that none may have"))?;
    // Any of them may be a secret.
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::http::SETTINGS;

    fn template(url: &str, settings: &str) -> Result<RequestTemplate, String> {
        RequestTemplate::new(url, 1, &Settings::parse(settings, &[SETTINGS])?)
    }

    fn key(text: &str) -> Vec<Vec<KeyValue>> {
        vec![vec![KeyValue::Text(text.into())]]
    }

    #[test]
    fn a_key_fills_one_part_of_the_url_and_no_more() {
        let template = template("http://host/users/{key}?q={key}", "").unwrap();
        for (text, url) in [
            ("JFK", "http://host/users/JFK?q=JFK"),
            ("a/b?c#d&e", "http://host/users/a%2Fb%3Fc%23d%26e?q=a%2Fb%3Fc%23d%26e"),
            ("é \r\n@", "http://host/users/%C3%A9%20%0D%0A%40?q=%C3%A9%20%0D%0A%40"),
            ("..a", "http://host/users/..a?q=..a"),
        ] {
            assert_eq!(template.url(&key(text)).unwrap().as_str(), url);
        }
        for text in ["..", ".", ""] {
            assert!(template.url(&key(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_empty_key_is_no_part_of_a_path_unless_it_may_be() {
        for url in
            ["http://host/users/{key}/profile", "http://host/{key}", "http://host/a/{key}?x=1", "http://host/{keys}/x"]
        {
            assert!(template(url, "").unwrap().url(&key("")).is_err(), "{url}");
            assert!(template(url, "empty-keys=true").unwrap().url(&key("")).is_ok(), "{url}");
            assert!(template(url, "").unwrap().url(&key("a")).is_ok(), "{url}");
        }
        // A slash of the template's own stays, and so does a part that has more than the key.
        assert!(template("http://host//users/{key}/", "").unwrap().url(&key("a")).is_ok());
        assert!(template("http://host/user-{key}/x", "").unwrap().url(&key("")).is_ok());
    }

    #[test]
    fn an_empty_key_may_stand_in_a_query() {
        let template = template("http://host/users/?id={key}", "").unwrap();
        assert_eq!(template.url(&key("")).unwrap().as_str(), "http://host/users/?id=");
    }

    #[test]
    fn a_key_in_the_host_stays_one_name() {
        let template = template("http://{key}.example.com/a", "").unwrap();
        assert_eq!(template.spelled_host(), Ok(None));
        assert_eq!(template.url(&key("eu")).unwrap().as_str(), "http://eu.example.com/a");
        for text in ["evil.com/", "a@b", "a:1", "", "a b", "a#"] {
            assert!(template.url(&key(text)).is_err(), "{text:?}");
        }
    }

    #[test]
    fn bodies_hold_keys_as_json_or_as_forms_have_them() {
        let json = template("http://host/find", r#"body={"id":{key}}"#).unwrap();
        assert_eq!(json.method, Method::POST);
        assert_eq!(json.body(&key("a\"b")).unwrap(), r#"{"id":"a\"b"}"#);
        let many = template("http://host/find", r#"body={"ids":{keys}}"#).unwrap();
        assert!(many.takes_many());
        let keys = [key("a"), vec![vec![KeyValue::Number("7".into())]]].concat();
        assert_eq!(many.body(&keys).unwrap(), r#"{"ids":["a",7]}"#);
        let form =
            template("http://host/find", "body=id%3D{key}&content-type=application/x-www-form-urlencoded").unwrap();
        assert_eq!(form.body(&key("a&b")).unwrap(), "id=a%26b");
    }

    #[test]
    fn each_value_of_a_key_has_a_place() {
        let two =
            |url: &str, settings: &str| RequestTemplate::new(url, 2, &Settings::parse(settings, &[SETTINGS]).unwrap());
        assert!(two("http://host/{key.1}", "body={key.2}").is_ok());
        assert!(two("http://host/{key.1}", "").unwrap_err().contains("write {key.2} into the URL"));
    }

    #[test]
    fn what_cannot_be_a_request_is_told() {
        for (url, settings, reason) in [
            ("http://host/users", "", "the key stands nowhere in it"),
            ("http://host/{key}", "header=nocolon", "NAME: VALUE"),
            ("http://host/{key}", "header=bad name: x", "no header's name"),
            ("http://host/{key.2}", "", "the key has 1 values"),
            ("http://host/{key}", "body={keys}", "has {keys} and {key}"),
            ("http://{key}.host/a?ids={keys}", "", "has {keys} and {key}"),
            ("http://host/{keys}/{key}", "", "has {keys} and {key}"),
        ] {
            assert!(template(url, settings).unwrap_err().contains(reason), "{url}");
        }
    }
}
