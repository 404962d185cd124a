//! Domain patterns: one host, the subdomains of a domain, or a first label of any domain.

use std::fmt;

/// `example.org` matches that host, `*.example.org` its subdomains, `admin.*` a first label of any domain.
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

    /// `host` is in lower case and punycode. A trailing dot is ignored.
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

/// The first of these patterns that matches the host.
pub fn first_match<'p>(patterns: &'p [DomainPattern], host: &str) -> Option<&'p DomainPattern> {
    patterns.iter().find(|pattern| pattern.matches(host))
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
        for bad in ["", "*", "*.", ".*", "a b", "exa*mple.org", "*.*", "http://a", "a/b", "-a.org"] {
            assert_eq!(DomainPattern::parse(bad), None, "{bad}");
        }
    }
}
