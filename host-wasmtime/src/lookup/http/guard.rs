//! Which hosts a lookup may call.
//!
//! A host that the address spells out is its writer's choice. Any other, one that a key is part of
//! or that a redirect names, has to be on the list of allowed ones; and unless it stands there by
//! its full name, it must not lead to a loopback, link-local or private address. That is checked
//! when a connection is dialled, so that a name cannot change its address in between.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// A host that must not be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    /// It is neither spelled out nor allowed.
    #[error("the host {0} is not allowed; allow it with allow={0}")]
    NotAllowed(String),
    /// It leads to an address inside.
    #[error("the host {0} leads to {1}, which is no public address; allow it by name with allow={0}")]
    Inside(String, IpAddr),
    /// It came without encryption, behind a call that had it.
    #[error("a redirect leads from https to http, at the host {0}")]
    Unencrypted(String),
}

/// Which hosts may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guard {
    /// The host in the address; none where a key is part of it.
    spelled: Option<String>,
    /// Names, and endings behind `*.`; `*` is any host.
    allowed: Vec<String>,
}

impl Guard {
    pub(super) fn new(spelled: Option<String>, allowed: &[&str]) -> Self {
        let lower = |name: &str| name.to_ascii_lowercase();
        Self { spelled: spelled.as_deref().map(lower), allowed: allowed.iter().map(|name| lower(name)).collect() }
    }

    /// Whether any host but the spelled one may be called.
    pub(super) fn reaches_beyond(&self) -> bool {
        self.spelled.is_none() || !self.allowed.is_empty()
    }

    /// Whether `url` may be called, as far as its text tells.
    pub(super) fn check(&self, url: &Url) -> Result<(), Denied> {
        let name = url.host_str().unwrap_or_default();
        if self.trusts(name) {
            return Ok(());
        }
        let allowed = |pattern: &String| {
            pattern == "*" || pattern.strip_prefix('*').is_some_and(|end| end.starts_with('.') && name.ends_with(end))
        };
        if !self.allowed.iter().any(allowed) {
            return Err(Denied::NotAllowed(name.to_owned()));
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.check_address(name, address.into()),
            Some(Host::Ipv6(address)) => self.check_address(name, address.into()),
            _ => Ok(()),
        }
    }

    /// Whether the name itself was chosen by whoever wrote the address.
    fn trusts(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.spelled.as_ref() == Some(&name) || self.allowed.contains(&name)
    }

    fn check_address(&self, name: &str, address: IpAddr) -> Result<(), Denied> {
        if self.trusts(name) || is_public(address) { Ok(()) } else { Err(Denied::Inside(name.to_owned(), address)) }
    }
}

/// Resolves names, and leaves out the addresses that must not be dialled.
pub(super) struct GuardedResolver(pub(super) Arc<Guard>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let name = name.as_str();
            let mut dialled: Vec<SocketAddr> = Vec::new();
            let mut denied = None;
            for address in tokio::net::lookup_host((name, 0)).await? {
                match guard.check_address(name, address.ip()) {
                    Ok(()) => dialled.push(address),
                    Err(error) => denied = Some(error),
                }
            }
            match denied {
                Some(error) if dialled.is_empty() => Err(error.into()),
                _ => Ok(Box::new(dialled.into_iter()) as Addrs),
            }
        })
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let inside = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        // Shared by carriers, protocol assignments, benchmarks, and reserved.
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240;
    !inside
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // An IPv4 address in one of the forms that lead to it.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] if !address.is_loopback() && !address.is_unspecified() => {
            embedded(high, low)
        }
        [0x64, 0xff9b, .., high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0xdb8, ..] => false,
        // Global unicast; all that is local is outside of it.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, url: &str) -> bool {
        guard.check(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn a_spelled_host_is_free_and_others_need_the_list() {
        let guard = Guard::new(Some("localhost".into()), &[]);
        assert!(check(&guard, "http://localhost/a"));
        assert!(check(&guard, "http://LOCALHOST:81/a"));
        assert!(!check(&guard, "http://example.com/"));
        assert!(!check(&guard, "http://127.0.0.1/"));
        assert!(!guard.reaches_beyond());

        let guard = Guard::new(None, &["*.example.com", "10.0.0.1", "api.test"]);
        assert!(check(&guard, "https://eu.example.com/"));
        assert!(!check(&guard, "https://example.com/"));
        assert!(!check(&guard, "https://evilexample.com/"));
        assert!(check(&guard, "https://api.test/"));
        assert!(check(&guard, "http://10.0.0.1/"));
        assert!(!check(&guard, "http://10.0.0.2/"));
    }

    #[test]
    fn addresses_inside_are_refused_however_they_are_written() {
        let guard = Guard::new(None, &["*"]);
        for host in [
            "127.0.0.1",
            "0x7f.1",
            "2130706433",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "[::1]",
            "[::]",
            "[fe80::1]",
            "[fc00::1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::10.0.0.1]",
            "[2002:7f00:1::]",
            "[ff02::1]",
            "[::127.0.0.1]",
        ] {
            assert!(!check(&guard, &format!("http://{host}/")), "{host}");
        }
        for host in ["1.1.1.1", "[2606:4700::1111]", "example.com"] {
            assert!(check(&guard, &format!("http://{host}/")), "{host}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_dialled() {
        let resolver = |allowed: &[&str]| GuardedResolver(Arc::new(Guard::new(None, allowed)));
        let error = resolver(&["*"]).resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert!(error.to_string().contains("no public address"), "{error}");
        assert!(resolver(&["localhost"]).resolve("localhost".parse().unwrap()).await.is_ok());
    }
}
