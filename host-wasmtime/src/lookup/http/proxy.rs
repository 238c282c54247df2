//! Which proxy a request goes through, for messages.

use url::Url;

/// What the environment says of a proxy for `url`; none where it names none.
pub(super) fn of(url: &Url) -> Option<String> {
    let is_for_all = |list: String| list.split(',').any(|entry| excludes(entry.trim(), url));
    if ["no_proxy", "NO_PROXY"].into_iter().find_map(set).is_some_and(is_for_all) {
        return None;
    }
    let (own, upper) = match url.scheme() {
        "https" => ("https_proxy", "HTTPS_PROXY"),
        _ => ("http_proxy", "HTTP_PROXY"),
    };
    let names = [own, upper, "all_proxy", "ALL_PROXY"];
    let (name, proxy) = names.into_iter().find_map(|name| Some((name, set(name)?)))?;
    Some(format!("it goes through the proxy {}, as {name} says", shown(&proxy)))
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether an entry of the list of exceptions is about the host.
fn excludes(entry: &str, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let entry = entry.trim_start_matches('.');
    entry == "*" || (!entry.is_empty() && (host == entry || host.ends_with(&format!(".{entry}"))))
}

/// A proxy's host and port, without who signs in there.
fn shown(proxy: &str) -> String {
    let address = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    match Url::parse(&address) {
        Ok(url) => {
            let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{port}", url.host_str().unwrap_or_default())
        }
        Err(_) => "that is set".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_shown_without_its_secrets() {
        assert_eq!(shown("http://me:secret@proxy.example:3128/"), "proxy.example:3128");
        assert_eq!(shown("proxy:8080"), "proxy:8080");
    }

    #[test]
    fn exceptions_are_hosts_and_what_ends_in_them() {
        let url = Url::parse("http://api.example.com/x").unwrap();
        for (entry, is_excepted) in [
            ("example.com", true),
            (".example.com", true),
            ("api.example.com", true),
            ("*", true),
            ("ample.com", false),
            ("", false),
        ] {
            assert_eq!(excludes(entry, &url), is_excepted, "{entry}");
        }
    }
}
