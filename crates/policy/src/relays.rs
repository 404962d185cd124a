//! Relays: hosts that fetch other sites on request. Whoever may reach one may reach any site through it.

/// One host or `*.domain` a line; `#` begins a comment.
const RELAYS: &str = include_str!("relays.txt");

/// Whether the host is a known relay. `host` is in lower case.
pub fn is_relay(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    entries().any(|entry| match entry.strip_prefix("*.") {
        Some(domain) => host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => host == entry,
    })
}

fn entries() -> impl Iterator<Item = &'static str> {
    let lines = RELAYS.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entry_is_a_host_or_a_domain_and_stands_once() {
        let all: Vec<&str> = entries().collect();
        for entry in &all {
            let name = entry.strip_prefix("*.").unwrap_or(entry);
            let is_label = |label: &str| {
                !label.is_empty()
                    && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            };
            assert!(name.contains('.') && name.split('.').all(is_label), "{entry}");
        }
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.len() >= 40, "{}", all.len());
    }

    #[test]
    fn relays_are_known_by_host_and_by_domain() {
        for host in [
            "translate.google.com",
            "example-org.translate.goog",
            "web.archive.org",
            "webcache.googleusercontent.com",
            "example-org.cdn.ampproject.org",
            "cors-anywhere.herokuapp.com",
            "r.jina.ai",
            "web.archive.org.",
        ] {
            assert!(is_relay(host), "{host}");
        }
        for host in [
            "example.org",
            "google.com",
            "nottranslate.goog",
            "archive.org",
            "translate.google.com.evil.test",
        ] {
            assert!(!is_relay(host), "{host}");
        }
    }
}
