//! Domain patterns: one host, the subdomains of a domain, or a first label of any domain, each with an optional
//! scheme and port.

use crate::relays::is_relay;
use std::fmt;
use url::Url;

/// The schemes that the web is served by. WebSockets count as the scheme they upgrade from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WebScheme {
    Http,
    Https,
}

impl WebScheme {
    pub fn parse(text: &str) -> Option<WebScheme> {
        match text {
            "http" | "ws" => Some(WebScheme::Http),
            "https" | "wss" => Some(WebScheme::Https),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            WebScheme::Http => "http",
            WebScheme::Https => "https",
        }
    }

    pub fn default_port(self) -> u16 {
        match self {
            WebScheme::Http => 80,
            WebScheme::Https => 443,
        }
    }
}

/// Scheme, host and port of a request. The host is in lower case and punycode, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub scheme: WebScheme,
    pub host: String,
    pub port: u16,
}

impl Endpoint {
    pub fn new(scheme: WebScheme, host: &str, port: u16) -> Endpoint {
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        Endpoint { scheme, host, port }
    }

    /// The endpoint of an `http:`, `https:`, `ws:` or `wss:` URL.
    pub fn of(address: &str) -> Option<Endpoint> {
        let url = Url::parse(address).ok()?;
        let scheme = WebScheme::parse(url.scheme())?;
        let port = url.port().unwrap_or_else(|| scheme.default_port());
        Some(Endpoint::new(scheme, url.host_str()?, port))
    }
}

impl fmt::Display for Endpoint {
    /// The host alone where scheme and port are implied by each other, else `scheme://host:port`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.port == self.scheme.default_port() {
            return f.write_str(&self.host);
        }
        write!(f, "{}://{}:{}", self.scheme.as_str(), self.host, self.port)
    }
}

/// `example.org` matches that host, `*.example.org` its subdomains, `admin.*` a first label of any domain. A scheme in
/// front and a port behind narrow it: `https://example.org:8443`. Without a port, the default port of the scheme is
/// meant; without a scheme, both schemes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainPattern {
    text: String,
    scheme: Option<WebScheme>,
    hosts: HostPattern,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Exact(String),
    SubdomainsOf(String),
    FirstLabel(String),
}

impl DomainPattern {
    pub fn parse(text: &str) -> Option<DomainPattern> {
        let text = text.to_ascii_lowercase();
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (WebScheme::parse(scheme), rest),
            Some(_) => return None,
            None => (None, text.as_str()),
        };
        let (host, port) = match rest.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port)?)),
            None => (rest, None),
        };
        let hosts = HostPattern::parse(host)?;
        // A port that the scheme implies is not part of the canonical text.
        let is_implied = scheme.zip(port).is_some_and(|(scheme, port)| scheme.default_port() == port);
        let (text, port) = if is_implied {
            (text.rsplit_once(':').map_or_else(|| text.clone(), |(before, _)| before.to_owned()), None)
        } else {
            (text, port)
        };
        Some(DomainPattern { text, scheme, hosts, port })
    }

    /// The pattern of exactly this endpoint. Both default ports belong to one site: sites lead from `http:` to `https:`.
    pub fn exact(endpoint: &Endpoint) -> Option<DomainPattern> {
        DomainPattern::parse(&endpoint.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it names one host.
    pub fn is_exact(&self) -> bool {
        matches!(self.hosts, HostPattern::Exact(_))
    }

    /// Whether it matches the host, whatever the scheme and the port. `host` is in lower case and punycode. A trailing
    /// dot is ignored.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        match &self.hosts {
            HostPattern::Exact(name) => name == host,
            HostPattern::SubdomainsOf(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            HostPattern::FirstLabel(label) => {
                host.strip_prefix(label.as_str()).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
            }
        }
    }

    /// Whether it matches host, scheme and port.
    pub fn covers(&self, endpoint: &Endpoint) -> bool {
        self.matches(&endpoint.host)
            && self.scheme.is_none_or(|scheme| scheme == endpoint.scheme)
            && self.port.unwrap_or_else(|| endpoint.scheme.default_port()) == endpoint.port
    }

    /// The endpoints that an exact pattern names: one for each scheme that it covers.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        let HostPattern::Exact(host) = &self.hosts else { return Vec::new() };
        let schemes = [WebScheme::Https, WebScheme::Http];
        let covered = schemes.into_iter().filter(|scheme| self.scheme.is_none_or(|own| own == *scheme));
        let port = |scheme: WebScheme| self.port.unwrap_or_else(|| scheme.default_port());
        covered.map(|scheme| Endpoint::new(scheme, host, port(scheme))).collect()
    }
}

impl HostPattern {
    fn parse(text: &str) -> Option<HostPattern> {
        let checked = |name: &str| is_host_name(name).then(|| name.to_owned());
        if let Some(domain) = text.strip_prefix("*.") {
            return checked(domain).map(HostPattern::SubdomainsOf);
        }
        if let Some(label) = text.strip_suffix(".*") {
            return checked(label).map(HostPattern::FirstLabel);
        }
        checked(text).map(HostPattern::Exact)
    }
}

/// Digits only, without a sign or leading zeros.
fn parse_port(text: &str) -> Option<u16> {
    let is_plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The first of these patterns that matches the host.
pub fn first_match<'p>(patterns: &'p [DomainPattern], host: &str) -> Option<&'p DomainPattern> {
    patterns.iter().find(|pattern| pattern.matches(host))
}

/// The first of these patterns that lets a request pass. A relay, which fetches other sites on request, needs an exact
/// pattern: a wildcard was not written with it in mind.
pub fn first_allowing<'p>(patterns: &'p [DomainPattern], endpoint: &Endpoint) -> Option<&'p DomainPattern> {
    let is_relay = is_relay(&endpoint.host);
    patterns.iter().find(|pattern| pattern.covers(endpoint) && (pattern.is_exact() || !is_relay))
}

/// Labels of 1 to 63 letters, digits and inner hyphens.
pub fn is_host_name(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_a_host_subdomains_or_a_first_label() {
        for (pattern, host, expected) in [
            ("example.org", "example.org", true),
            ("Example.ORG", "example.org", true),
            ("example.org", "example.org.", true),
            ("example.org", "www.example.org", false),
            ("example.org", "notexample.org", false),
            ("*.example.org", "www.example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "notexample.org", false),
            ("*.example.org", "example.org.evil.test", false),
            ("admin.*", "admin.example.org", true),
            ("admin.*", "admin", false),
            ("admin.*", "administrator.example.org", false),
            ("admin.*", "my.admin.example.org", false),
        ] {
            assert_eq!(DomainPattern::parse(pattern).unwrap().matches(host), expected, "{pattern} {host}");
        }
        for bad in [
            "",
            "*",
            "*.",
            ".*",
            "a b",
            "exa*mple.org",
            "*.*",
            "http://",
            "a/b",
            "-a.org",
            "ftp://a.org",
            "http://a.org/",
            "a.org:",
            "a.org:0",
            "a.org:080",
            "a.org:+80",
            "a.org:65536",
            "a.org:80:80",
            "http://http://a.org",
            "u@a.org",
            "https://u:p@a.org",
            "ws://a.org",
        ] {
            assert_eq!(DomainPattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn scheme_and_port_narrow_a_pattern_and_default_ports_are_implied() {
        for (pattern, url, expected) in [
            ("example.org", "https://example.org/", true),
            ("example.org", "http://example.org/", true),
            ("example.org", "http://example.org:80/", true),
            ("example.org", "wss://example.org/live", true),
            ("example.org", "http://example.org:8081/", false),
            ("example.org", "https://example.org:80/", false),
            ("example.org", "http://example.org:443/", false),
            ("https://example.org", "https://example.org/", true),
            ("https://example.org", "wss://example.org/", true),
            ("https://example.org", "http://example.org/", false),
            ("https://example.org", "https://example.org:8443/", false),
            ("http://example.org", "ws://example.org/", true),
            ("http://example.org", "https://example.org/", false),
            ("https://example.org:8443", "https://example.org:8443/", true),
            ("https://example.org:8443", "https://example.org/", false),
            ("https://example.org:8443", "http://example.org:8443/", false),
            ("example.org:8443", "https://example.org:8443/", true),
            ("example.org:8443", "http://example.org:8443/", true),
            ("example.org:8443", "https://example.org/", false),
            ("https://*.example.org:8443", "https://a.example.org:8443/", true),
            ("https://*.example.org:8443", "https://a.example.org/", false),
            ("https://admin.*", "https://admin.example.org/", true),
            ("https://admin.*", "http://admin.example.org/", false),
        ] {
            let endpoint = Endpoint::of(url).unwrap();
            assert_eq!(DomainPattern::parse(pattern).unwrap().covers(&endpoint), expected, "{pattern} {url}");
        }
        assert_eq!(DomainPattern::parse("https://a.org:443"), DomainPattern::parse("https://A.org"));
    }

    #[test]
    fn the_pattern_of_an_endpoint_covers_it_and_names_it() {
        for (url, text, others) in [
            ("https://news.test/", "news.test", &["http://news.test/"][..]),
            ("http://news.test:8081/", "http://news.test:8081", &[]),
        ] {
            let endpoint = Endpoint::of(url).unwrap();
            let pattern = DomainPattern::exact(&endpoint).unwrap();
            assert_eq!((pattern.as_str(), pattern.is_exact()), (text, true));
            let covered = |url: &str| pattern.covers(&Endpoint::of(url).unwrap());
            assert!(covered(url) && others.iter().all(|url| covered(url)), "{url}");
            assert!(pattern.endpoints().contains(&endpoint) && pattern.endpoints().len() == 1 + others.len());
        }
        assert_eq!(DomainPattern::exact(&Endpoint::of("http://[::1]/").unwrap()), None);
    }

    #[test]
    fn a_relay_needs_an_exact_pattern() {
        let allowed = |pattern: &str, url: &str| {
            let patterns = [DomainPattern::parse(pattern).unwrap()];
            first_allowing(&patterns, &Endpoint::of(url).unwrap()).is_some()
        };
        assert!(!allowed("*.translate.goog", "https://example-org.translate.goog/"));
        assert!(!allowed("*.archive.org", "https://web.archive.org/web/2020/http://example.org/"));
        assert!(allowed("web.archive.org", "https://web.archive.org/web/2020/http://example.org/"));
        assert!(allowed("*.archive.org", "https://blog.archive.org/"));
    }
}
