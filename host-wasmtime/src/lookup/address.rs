//! Where a backend is, how to sign in, and its settings, as one word.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::{Setting, Settings, secret};

/// The address of a backend: `scheme://user:password@host:port,host:port/path?setting=value`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    shown: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) hosts: Vec<Host>,
    /// Without the `/` before it.
    pub(crate) path: String,
    pub(crate) settings: Settings,
}

/// One host of an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Host {
    /// Without the brackets of an IPv6 address.
    pub(crate) name: String,
    pub(crate) port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// An address without its secrets.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.shown).finish()
    }
}

/// An address without its user, its secrets and its settings: what messages name it by.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Reads `text`, in which only the settings in `known` may be set. References to secrets are
    /// resolved.
    pub(crate) fn parse(text: &str, default_port: u16, known: &[&[Setting]]) -> Result<Self, String> {
        let expanded = secret::expand(text)?;
        let (scheme, rest) = expanded.split_once("://").ok_or("it has no `://`")?;
        let (rest, settings) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        let (user, password) = match user
            .map(|user| user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password))))
        {
            None => (None, None),
            Some((user, password)) => (Some(decoded(user)?), password.map(decoded).transpose()?),
        };
        let hosts =
            hosts.split(',').map(|host| Host::parse(host, default_port)).collect::<Result<Vec<Host>, String>>()?;
        let path = decoded(path)?;
        let names: Vec<String> = hosts.iter().map(Host::to_string).collect();
        let slash = if path.is_empty() { "" } else { "/" };
        Ok(Self {
            shown: format!("{scheme}://{}{slash}{path}", names.join(",")),
            user: user.filter(|user| !user.is_empty()),
            password,
            hosts,
            path,
            settings: Settings::parse(settings, known)?,
        })
    }
}

impl Host {
    fn parse(text: &str, default_port: u16) -> Result<Self, String> {
        let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            Some((name, "")) => (name, None),
            Some((name, port)) => (name, Some(port.strip_prefix(':').ok_or("a port stands behind a `:`")?)),
            None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
        };
        if name.is_empty() {
            return Err("it names no host".into());
        }
        let port = match port {
            None => default_port,
            Some(port) => port.parse().map_err(|_| "what stands behind the host's `:` is no port")?,
        };
        Ok(Self { name: decoded(name)?, port })
    }
}

fn decoded(text: &str) -> Result<String, String> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| "it is no UTF-8 text".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_parts() {
        let address = Address::parse("hbase://me:s%40e@a:1,[::1],b/users%2F1", 16_020, &[]).unwrap();
        assert_eq!(address.user.as_deref(), Some("me"));
        assert_eq!(address.password.as_deref(), Some("s@e"));
        assert_eq!(address.hosts.iter().map(Host::to_string).collect::<Vec<_>>(), ["a:1", "[::1]:16020", "b:16020"]);
        assert_eq!(address.path, "users/1");
        assert_eq!(address.to_string(), "hbase://a:1,[::1]:16020,b:16020/users/1");
        assert!(!format!("{address:?}").contains("s@e"));
    }

    #[test]
    fn what_is_no_address_is_told() {
        for (text, reason) in [
            ("redis", "it has no `://`"),
            ("redis://", "it names no host"),
            ("redis://h:x", "what stands behind the host's `:` is no port"),
        ] {
            assert_eq!(Address::parse(text, 1, &[]).unwrap_err(), reason);
        }
    }
}
