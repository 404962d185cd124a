//! Lists of domains: one host, what is under a domain, or a first label anywhere.

use std::fmt;

/// `example.org` for that host, `*.example.org` for what is under it, `admin.*` for a first label anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainPattern(String);

impl DomainPattern {
    pub fn parse(text: &str) -> Option<DomainPattern> {
        let text = text.to_ascii_lowercase();
        let bare = text.strip_prefix("*.").or_else(|| text.strip_suffix(".*")).unwrap_or(&text);
        is_host_name(bare).then_some(DomainPattern(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `host` as a browser names it: lower case and punycode. A dot at its end changes nothing.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        if let Some(domain) = self.0.strip_prefix("*.") {
            return host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
        }
        if let Some(label) = self.0.strip_suffix(".*") {
            return host.strip_prefix(label).is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'));
        }
        self.0 == host
    }
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first of these patterns that a host answers to.
pub fn listed<'p>(patterns: &'p [DomainPattern], host: &str) -> Option<&'p DomainPattern> {
    patterns.iter().find(|pattern| pattern.matches(host))
}

/// Letters, digits and inner hyphens, in labels of at most 63, as a browser sends them to a proxy.
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
    fn a_pattern_is_a_host_what_is_under_it_or_a_first_label() {
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
        for bad in ["", "*", "*.", ".*", "a b", "exa*mple.org", "*.*", "http://a", "a/b", "-a.org"] {
            assert_eq!(DomainPattern::parse(bad), None, "{bad}");
        }
    }
}
