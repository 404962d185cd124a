//! Sites whose requests are decided on in the browser.

use crate::cdp::protocol as p;
use policy::Endpoint;

/// One origin, or a host with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedSite {
    pub endpoint: Endpoint,
    /// The operator granted the whole site.
    pub with_subdomains: bool,
}

impl DecidedSite {
    pub fn contains(&self, endpoint: &Endpoint) -> bool {
        let Endpoint { scheme, host, port } = &self.endpoint;
        let is_below = || endpoint.host.strip_suffix(host.as_str()).is_some_and(|front| front.ends_with('.'));
        let is_host = endpoint.host == *host || self.with_subdomains && is_below();
        is_host && endpoint.scheme == *scheme && endpoint.port == *port
    }

    /// Patterns for `Fetch` that match every URL of the site, also with a user name or with a dot behind the host. They may
    /// match others as well.
    pub(super) fn patterns(&self) -> Vec<p::RequestPattern> {
        let Endpoint { scheme, host, port } = &self.endpoint;
        let port = if *port == scheme.default_port() { String::new() } else { format!(":{port}") };
        let below = self.with_subdomains.then_some("*.");
        let pattern = |front: &str, dot: &str| p::RequestPattern {
            url_pattern: format!("{}://{front}{host}{dot}{port}/*", scheme.as_str()),
            resource_type: None,
            request_stage: "Request",
        };
        let fronts = [Some(""), Some("*@"), below].into_iter().flatten();
        fronts.flat_map(|front| [pattern(front, ""), pattern(front, ".")]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(address: &str, with_subdomains: bool) -> DecidedSite {
        DecidedSite { endpoint: Endpoint::of(address).unwrap(), with_subdomains }
    }

    #[test]
    fn a_site_contains_its_own_scheme_host_and_port() {
        for (address, with_subdomains, url, expected) in [
            ("https://own.test", false, "https://own.test/a?b", true),
            ("https://own.test", false, "https://own.test:443/", true),
            ("https://own.test", false, "https://u:p@own.test/", true),
            ("https://own.test", false, "wss://own.test/socket", true),
            ("https://own.test", false, "http://own.test/", false),
            ("https://own.test", false, "https://own.test:8443/", false),
            ("https://own.test", false, "https://a.own.test/", false),
            ("https://own.test", false, "https://evil.test/@own.test/", false),
            ("https://own.test", true, "https://a.b.own.test/", true),
            ("https://own.test", true, "https://notown.test/", false),
            ("https://own.test", true, "https://own.test.evil.test/", false),
            ("http://own.test:8080", false, "http://own.test:8080/", true),
            ("http://own.test:8080", false, "http://own.test/", false),
            ("https://own.test", false, "https://own.test./", true),
        ] {
            let endpoint = Endpoint::of(url).unwrap();
            assert_eq!(site(address, with_subdomains).contains(&endpoint), expected, "{address} {url}");
        }
    }

    #[test]
    fn patterns_leave_a_default_port_out_and_cover_user_names_and_subdomains() {
        for (address, with_subdomains, expected) in [
            (
                "http://own.test:8080",
                false,
                &[
                    "http://own.test:8080/*",
                    "http://own.test.:8080/*",
                    "http://*@own.test:8080/*",
                    "http://*@own.test.:8080/*",
                ][..],
            ),
            (
                "https://own.test",
                true,
                &[
                    "https://own.test/*",
                    "https://own.test./*",
                    "https://*@own.test/*",
                    "https://*@own.test./*",
                    "https://*.own.test/*",
                    "https://*.own.test./*",
                ],
            ),
        ] {
            let found: Vec<String> =
                site(address, with_subdomains).patterns().into_iter().map(|one| one.url_pattern).collect();
            assert_eq!(found, expected, "{address}");
        }
    }
}
