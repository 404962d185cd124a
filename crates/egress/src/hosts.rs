//! Host names in one canonical form, and the operator's map from host names to upstreams.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use url::Host;

/// The longest name that DNS can carry. A longer one is refused before it is kept anywhere.
const LONGEST_NAME: usize = 253;

/// A host as Chromium understands it: lower case, punycode, no final dot, and every way of writing an
/// IPv4 address (`127.1`, `0x7f.1`, `2130706433`) turned into the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostName {
    Name(String),
    Address(IpAddr),
}

impl HostName {
    /// Takes what stands in a URL: IPv6 in brackets. `None` if that is no host.
    pub(crate) fn parse(text: &str) -> Option<HostName> {
        // Percent signs mean one thing to a URL parser and another to a resolver.
        if text.contains('%') {
            return None;
        }
        match Host::parse(text).ok()? {
            Host::Ipv4(v4) => Some(HostName::Address(v4.into())),
            Host::Ipv6(v6) => Some(HostName::Address(v6.into())),
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                let fits = !name.is_empty() && name.len() <= LONGEST_NAME;
                fits.then(|| HostName::Name(name.to_owned()))
            }
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostName::Name(name) => f.write_str(name),
            HostName::Address(IpAddr::V4(v4)) => v4.fmt(f),
            HostName::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
        }
    }
}

/// Exact host names that an operator mapped, each to its upstream.
///
/// A name in it is reached there whatever the address range and port; no other name is affected.
#[derive(Clone, Debug, Default)]
pub struct HostMap(BTreeMap<String, Upstream>);

/// The address or host that a mapped host is reached at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) host: HostName,
    /// `None`: the port that was asked for.
    pub(crate) port: Option<u16>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HostMapError {
    #[error("'{key}' is not an exact host name: it may have no scheme, port, path or wildcard")]
    Key { key: String },
    #[error("'{key}' leads to '{upstream}', which is not ip, ip:port or host:port")]
    Upstream { key: String, upstream: String },
    #[error("'{key}' is in the map twice, once as '{other}'")]
    Twice { key: String, other: String },
}

impl HostMap {
    /// Reads pairs such as `shop.test` and `127.0.0.1:8080`.
    pub fn parse<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Result<HostMap, HostMapError>
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let mut map = BTreeMap::new();
        for (key, upstream) in pairs {
            let (key, upstream) = (key.as_ref(), upstream.as_ref());
            let bad_key = || HostMapError::Key { key: key.to_owned() };
            let bad_upstream =
                || HostMapError::Upstream { key: key.to_owned(), upstream: upstream.to_owned() };
            let name = parse_bare(key).filter(|_| !key.contains('*')).ok_or_else(bad_key)?.to_string();
            let upstream = Upstream::parse(upstream).ok_or_else(bad_upstream)?;
            if map.insert(name.clone(), upstream).is_some() {
                return Err(HostMapError::Twice { key: key.to_owned(), other: name });
            }
        }
        Ok(HostMap(map))
    }

    pub(crate) fn get(&self, host: &HostName) -> Option<&Upstream> {
        self.0.get(&host.to_string())
    }
}

impl Upstream {
    fn parse(text: &str) -> Option<Upstream> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return known_port(address.port())
                .map(|port| Upstream { host: HostName::Address(address.ip()), port: Some(port) });
        }
        if let Some(host) = parse_bare(text) {
            return Some(Upstream { host, port: None });
        }
        let (host, port) = text.rsplit_once(':')?;
        let port = known_port(port.parse().ok()?)?;
        Some(Upstream { host: HostName::parse(host)?, port: Some(port) })
    }
}

/// A host with IPv6 allowed to come without its brackets, as people write it in a file.
fn parse_bare(text: &str) -> Option<HostName> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(HostName::Address(address)),
        Err(_) => HostName::parse(text),
    }
}

fn known_port(port: u16) -> Option<u16> {
    (port != 0).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_form_however_it_is_written() {
        for (written, form) in [
            ("Shop.Test", "shop.test"),
            ("shop.test.", "shop.test"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("１２７.0.0.1", "127.0.0.1"),
            ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("under_score.example", "under_score.example"),
        ] {
            assert_eq!(HostName::parse(written).map(|h| h.to_string()).as_deref(), Some(form), "{written}");
        }
    }

    #[test]
    fn what_is_no_host_is_not_parsed() {
        let long = format!("{}.test", "a".repeat(60)).repeat(5);
        for text in ["", ".", "a b", "a/b", "a@b", "::1", "[::1", "[fe80::1%25eth0]", "%6cocalhost", &long] {
            assert_eq!(HostName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_is_an_address_or_a_host_with_or_without_a_port() {
        for (text, host, port) in [
            ("127.0.0.1:8080", "127.0.0.1", Some(8080)),
            ("10.1.2.3", "10.1.2.3", None),
            ("[::1]:8080", "[::1]", Some(8080)),
            ("::1", "[::1]", None),
            ("wiki.internal:8443", "wiki.internal", Some(8443)),
            ("wiki.internal", "wiki.internal", None),
        ] {
            let map = HostMap::parse([("Shop.Test", text)]).unwrap();
            let place = map.get(&HostName::parse("shop.test").unwrap()).unwrap();
            assert_eq!((place.host.to_string().as_str(), place.port), (host, port), "{text}");
        }
    }

    #[test]
    fn a_bad_entry_is_an_error_that_names_its_key() {
        for key in ["", "http://shop.test", "shop.test/a", "shop.test:80", "*.shop.test", "a b"] {
            assert_eq!(
                HostMap::parse([(key, "127.0.0.1")]).unwrap_err(),
                HostMapError::Key { key: key.to_owned() }
            );
        }
        for place in ["", ":80", "127.0.0.1:0", "a:0", "127.0.0.1:99999", "http://a", "a:b", "a:80/x"] {
            let error = HostMap::parse([("shop.test", place)]).unwrap_err();
            assert_eq!(
                error,
                HostMapError::Upstream { key: "shop.test".to_owned(), upstream: place.to_owned() }
            );
        }
        let twice = HostMap::parse([("shop.test", "127.0.0.1"), ("SHOP.test", "10.0.0.1")]);
        assert!(matches!(twice, Err(HostMapError::Twice { .. })));
    }
}
