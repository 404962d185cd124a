//! Credentials as the proxy needs them. None of these types can be printed: they hold secrets.

use super::scope::{SealScope, is_within};
use crate::hosts::HostName;
use redact::{Placeholder, SameSite, Secret, SendIn};

/// One credential.
pub struct SealedCredential {
    pub id: String,
    pub scope: SealScope,
    pub cookies: Vec<SealedCookie>,
    /// Values of local and session storage.
    pub storage: Vec<SealedValue>,
    pub headers: Vec<SealedHeader>,
    /// Further places where the operator lets its values go.
    pub send_in: Vec<SendIn>,
}

pub struct SealedCookie {
    pub name: String,
    /// The cookie's domain, without a leading dot.
    pub host: String,
    pub host_only: bool,
    pub value: Secret,
    pub placeholder: Placeholder,
    pub http_only: bool,
    pub same_site: SameSite,
}

pub struct SealedValue {
    pub value: Secret,
    pub placeholder: Placeholder,
}

/// A header that the proxy adds. The browser does not know of it.
pub struct SealedHeader {
    pub name: String,
    pub value: Secret,
}

impl SealedCookie {
    /// Whether a browser sends this cookie to a host.
    pub(crate) fn matches_host(&self, host: &HostName) -> bool {
        if self.host_only {
            HostName::parse(&self.host).as_ref() == Some(host)
        } else {
            is_within(host, &self.host)
        }
    }
}

/// Whether `path` is `allowed` or below it. A path that servers may read in several ways is not.
pub(crate) fn is_below(path: &str, allowed: &str) -> bool {
    let prefix = allowed.strip_suffix('/').unwrap_or(allowed);
    let below = path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below && !is_ambiguous(path)
}

/// Dot segments, backslashes and encoded separators: `/oauth/token/../../comment` is a comment to many servers.
fn is_ambiguous(path: &str) -> bool {
    let lower = path.to_ascii_lowercase().replace("%2e", ".");
    let hidden = ["\\", "%2f", "%5c", "%00", "%25", "//", ";"];
    hidden.iter().any(|part| lower.contains(part))
        || lower.split('/').any(|segment| segment == "." || segment == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_another_on_a_segment_boundary() {
        for (path, allowed, expected) in [
            ("/oauth/token", "/oauth/token", true),
            ("/oauth/token/", "/oauth/token", true),
            ("/oauth/token/new", "/oauth/token", true),
            ("/oauth/token/new", "/oauth/token/", true),
            ("/oauth/tokens", "/oauth/token", false),
            ("/oauth", "/oauth/token", false),
            ("/anything", "/", true),
            ("/oauth/token/../../comment", "/oauth/token", false),
            ("/oauth/token/%2e%2E/comment", "/oauth/token", false),
            ("/oauth/token/..%2fcomment", "/oauth/token", false),
            ("/oauth/token/%252e%252e/c", "/oauth/token", false),
            ("/oauth/token\\..\\comment", "/oauth/token", false),
            ("/oauth/token/;/x", "/oauth/token", false),
            ("//oauth/token", "/", false),
        ] {
            assert_eq!(is_below(path, allowed), expected, "{path} {allowed}");
        }
    }
}
