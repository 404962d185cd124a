//! URLs that may be navigated to, and origins.

use serde::{Deserialize, Serialize};
use std::fmt;
use url::Url;

/// The longest URL that is accepted, in bytes; Chromium's own limit is 2 MB.
const MAX_BYTES: usize = 8 * 1024;

/// An `http:` or `https:` URL with a host, without a user name or password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebUrl(Url);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidUrl {
    #[error("this is not a valid address: {reason}")]
    Malformed { reason: String },
    #[error("only http: and https: addresses are opened, not {scheme}:")]
    Scheme { scheme: String },
    #[error("an address may not carry a user name or password")]
    Credentials,
    #[error("an address may have at most {MAX_BYTES} bytes; this one has {length}")]
    TooLong { length: usize },
}

impl WebUrl {
    pub fn parse(text: &str) -> Result<WebUrl, InvalidUrl> {
        let text = text.trim();
        if text.len() > MAX_BYTES {
            return Err(InvalidUrl::TooLong { length: text.len() });
        }
        let url = Url::parse(text).map_err(|e| InvalidUrl::Malformed { reason: e.to_string() })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidUrl::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidUrl::Credentials);
        }
        Ok(WebUrl(url))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host as Chromium sends it to the proxy: lower case, punycode, brackets around IPv6.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub fn origin(&self) -> Origin {
        Origin(self.0.origin().ascii_serialization())
    }
}

impl TryFrom<String> for WebUrl {
    type Error = InvalidUrl;
    fn try_from(text: String) -> Result<WebUrl, InvalidUrl> {
        WebUrl::parse(&text)
    }
}

impl From<WebUrl> for String {
    fn from(url: WebUrl) -> String {
        url.0.into()
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Scheme, host and port; `null` for an opaque origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin(String);

impl Origin {
    /// The origin of a URL; opaque if it cannot be parsed.
    pub fn of(address: &str) -> Origin {
        Origin(
            Url::parse(address).map_or_else(|_| "null".to_owned(), |url| url.origin().ascii_serialization()),
        )
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The host of a URL, if it has one.
pub(crate) fn host_of(address: &str) -> Option<String> {
    Url::parse(address).ok()?.host_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_urls_are_accepted() {
        for good in ["http://shop.test/", "https://example.org:8443/a?b#c", " HTTP://Shop.Test "] {
            assert!(WebUrl::parse(good).is_ok(), "{good}");
        }
        for scheme in [
            "data:text/html,x",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "about:blank",
            "view-source:http://a/",
            "chrome://version",
            "blob:http://a/b",
            "ftp://a/",
            "ws://a/",
        ] {
            assert!(matches!(WebUrl::parse(scheme), Err(InvalidUrl::Scheme { .. })), "{scheme}");
        }
        assert!(matches!(WebUrl::parse("shop.test"), Err(InvalidUrl::Malformed { .. })));
        assert_eq!(WebUrl::parse("http://u:p@shop.test/"), Err(InvalidUrl::Credentials));
        let long = format!("http://a/{}", "a".repeat(MAX_BYTES));
        assert!(matches!(WebUrl::parse(&long), Err(InvalidUrl::TooLong { .. })));
    }

    #[test]
    fn an_origin_without_a_host_is_opaque() {
        assert_eq!(Origin::of("http://a:80/x").as_str(), "http://a");
        assert_eq!(Origin::of("about:blank").as_str(), "null");
        assert_eq!(Origin::of("nonsense").as_str(), "null");
    }
}
