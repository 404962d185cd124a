//! Origins that a credential is for.

use crate::hosts::HostName;
use policy::Origin;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebScheme {
    Http,
    Https,
}

impl WebScheme {
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

/// Where a credential may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealScope {
    Origin(Origin),
    /// The operator granted a whole site: this host and its subdomains.
    Site {
        scheme: WebScheme,
        host_suffix: String,
        port: u16,
    },
}

impl SealScope {
    pub(crate) fn contains(&self, origin: &WebOrigin) -> bool {
        match self {
            SealScope::Origin(own) => *own == origin.to_origin(),
            SealScope::Site { scheme, host_suffix, port } => {
                *scheme == origin.scheme && *port == origin.port && is_within(&origin.host, host_suffix)
            }
        }
    }
}

/// The origin that a request goes to, in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebOrigin {
    pub(crate) scheme: WebScheme,
    pub(crate) host: HostName,
    pub(crate) port: u16,
}

impl WebOrigin {
    /// An origin of the web; `None` for an opaque one.
    pub(crate) fn of(origin: &Origin) -> Option<WebOrigin> {
        let url = url::Url::parse(origin.as_str()).ok()?;
        let scheme = match url.scheme() {
            "https" => WebScheme::Https,
            "http" => WebScheme::Http,
            _ => return None,
        };
        let port = url.port().unwrap_or(scheme.default_port());
        Some(WebOrigin { scheme, host: HostName::parse(url.host_str()?)?, port })
    }

    pub(crate) fn to_origin(&self) -> Origin {
        Origin::of(&self.to_string())
    }

    /// Whether a `Host` or `:authority` names this origin.
    pub(crate) fn is_authority(&self, authority: &str) -> bool {
        let split = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let (host, port) = match split {
            Some((host, port)) => {
                let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
                (host, port.parse().ok().filter(|_| is_number))
            }
            None => (authority, Some(self.scheme.default_port())),
        };
        port == Some(self.port) && HostName::parse(host).as_ref() == Some(&self.host)
    }

    /// Whether a serialized origin or a URL is of this origin.
    pub(crate) fn is_origin_of(&self, url: &str) -> bool {
        Origin::of(url) == self.to_origin()
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.as_str(), self.host, self.port)
    }
}

/// Whether a host is `suffix` or below it. An address has nothing below it.
pub(crate) fn is_within(host: &HostName, suffix: &str) -> bool {
    let Some(suffix) = HostName::parse(suffix.strip_prefix('.').unwrap_or(suffix)) else { return false };
    match (host, &suffix) {
        (HostName::Name(host), HostName::Name(suffix)) => {
            host == suffix || host.strip_suffix(suffix.as_str()).is_some_and(|front| front.ends_with('.'))
        }
        (host, suffix) => host == suffix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(scheme: WebScheme, host: &str, port: u16) -> WebOrigin {
        WebOrigin { scheme, host: HostName::parse(host).unwrap(), port }
    }

    #[test]
    fn an_origin_scope_is_one_scheme_host_and_port() {
        let scope = SealScope::Origin(Origin::of("https://app.test"));
        for (scheme, host, port, expected) in [
            (WebScheme::Https, "app.test", 443, true),
            (WebScheme::Https, "APP.test", 443, true),
            (WebScheme::Https, "app.test", 8443, false),
            (WebScheme::Http, "app.test", 443, false),
            (WebScheme::Http, "app.test", 80, false),
            (WebScheme::Https, "www.app.test", 443, false),
            (WebScheme::Https, "app.test.evil.test", 443, false),
        ] {
            assert_eq!(scope.contains(&origin(scheme, host, port)), expected, "{scheme:?} {host} {port}");
        }
    }

    #[test]
    fn a_site_scope_has_subdomains_and_nothing_that_only_ends_alike() {
        let suffix = "app.test".to_owned();
        let scope = SealScope::Site { scheme: WebScheme::Https, host_suffix: suffix, port: 443 };
        for (host, expected) in
            [("app.test", true), ("a.b.app.test", true), ("myapp.test", false), ("app.test.evil", false)]
        {
            assert_eq!(scope.contains(&origin(WebScheme::Https, host, 443)), expected, "{host}");
        }
        assert!(!scope.contains(&origin(WebScheme::Https, "app.test", 444)));
        let address =
            SealScope::Site { scheme: WebScheme::Http, host_suffix: "127.0.0.1".to_owned(), port: 80 };
        assert!(address.contains(&origin(WebScheme::Http, "127.0.0.1", 80)));
        assert!(!address.contains(&origin(WebScheme::Http, "1.127.0.0.1.test", 80)));
    }

    #[test]
    fn an_authority_is_compared_by_host_and_port() {
        let plain = origin(WebScheme::Https, "app.test", 443);
        let odd = origin(WebScheme::Https, "[::1]", 8443);
        for (of, authority, expected) in [
            (&plain, "app.test", true),
            (&plain, "App.Test:443", true),
            (&plain, "app.test:80", false),
            (&plain, "app.test:", false),
            (&plain, "app.test:+443", false),
            (&plain, "user@app.test", false),
            (&plain, "evil.test", false),
            (&plain, "", false),
            (&odd, "[::1]:8443", true),
            (&odd, "[::1]", false),
        ] {
            assert_eq!(of.is_authority(authority), expected, "{authority}");
        }
    }
}
