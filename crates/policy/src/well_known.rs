//! Well-known sensitive hosts: banks, payment services, mail, cloud consoles.

/// One host or `*.domain` a line; `#` begins a comment.
const HOSTS: &str = include_str!("well_known.txt");

/// The entry of the shipped list that the host is part of. `host` is in lower case.
pub(crate) fn find_well_known(host: &str) -> Option<&'static str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    entries().find(|entry| match entry.strip_prefix("*.") {
        Some(domain) => host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => host == *entry,
    })
}

fn entries() -> impl Iterator<Item = &'static str> {
    let lines = HOSTS.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn hosts_of_the_list_are_found_and_others_are_not() {
        for host in
            ["chase.com", "www.chase.com", "outlook.live.com", "mail.proton.me", "console.aws.amazon.com"]
        {
            assert!(find_well_known(host).is_some(), "{host}");
        }
        for host in ["notchase.com", "live.com", "aws.amazon.com", "chase.com.evil.test", "proton.me"] {
            assert!(find_well_known(host).is_none(), "{host}");
        }
        let all: Vec<&str> = entries().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.len() >= 84, "{}", all.len());
    }
}
