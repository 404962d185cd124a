//! Secrets that sites issue to a signed-in browser, and a bounded log of those seen in response headers.

use crate::cdp::IssuedHeaders;
use policy::Origin;
use redact::{CookiePriority, SameSite, Secret};

/// Values kept between two collections.
const MAX_VALUES: usize = 512;
const MAX_VALUE_BYTES: usize = 256 * 1024;

/// Everything that sites have issued. It has no `Debug`, `Clone` or `Serialize`, nor do its parts: they hold secrets.
pub struct SiteIssuedSecrets {
    /// All cookies in the browser now, of every site.
    pub cookies: Vec<IssuedCookie>,
    /// Values from `Set-Cookie` and from headers with credential names since the last collection, whether still valid
    /// or not. Empty in a browser without injected credentials.
    pub header_values: Vec<IssuedValue>,
    /// Web storage of the documents that are open now.
    pub storage_entries: Vec<IssuedStorageEntry>,
    /// Responses of the requested origins since the last collection. Empty in a browser without injected credentials.
    pub responses: Vec<IssuedResponse>,
    /// Header values or responses were dropped: the log was full, or the connection was down.
    pub missed: bool,
    /// The lists above may be incomplete: a bound was reached, or a document did not answer.
    pub truncated: bool,
}

pub struct IssuedCookie {
    pub name: String,
    pub value: Secret,
    /// Without a leading dot.
    pub domain: String,
    /// Sent to that host alone, not to its subdomains.
    pub host_only: bool,
    pub path: String,
    /// In seconds since 1970; `None` for a session cookie.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub secure: bool,
    pub same_site: Option<SameSite>,
    pub priority: Option<CookiePriority>,
    pub partition_key: Option<String>,
}

pub struct IssuedValue {
    pub name: String,
    pub value: Secret,
}

pub struct IssuedStorageEntry {
    pub origin: Origin,
    /// `localStorage`; otherwise `sessionStorage`.
    pub local: bool,
    pub name: String,
    pub value: Secret,
}

pub struct IssuedResponse {
    pub kind: ResponseKind,
    pub body: Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseKind {
    /// A document or a script: mostly the same for every visitor.
    Document,
    /// The response to a script's request, or a message on a socket or stream.
    Data,
}

/// Values that responses have set since the last collection.
#[derive(Default)]
pub(crate) struct IssuedValueLog {
    pub values: Vec<IssuedValue>,
    bytes: usize,
    pub missed: bool,
}

impl IssuedValueLog {
    pub fn record(&mut self, headers: &IssuedHeaders) {
        self.missed |= headers.truncated;
        for (name, value) in &headers.tokens {
            // A token may follow a scheme name such as `Bearer`, and one header may hold several.
            for part in value.split([' ', ',', '\n']) {
                self.add(name, part);
            }
        }
        for line in &headers.cookies {
            let pair = line.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            self.add(name.trim(), value.trim());
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        let is_known = |known: &IssuedValue| known.name == name && known.value.expose_secret() == value;
        if value.is_empty() || self.values.iter().any(is_known) {
            return;
        }
        let bytes = name.len() + value.len();
        // When full, the newest are dropped: they are still among the browser's cookies.
        if self.values.len() == MAX_VALUES || self.bytes + bytes > MAX_VALUE_BYTES {
            self.missed = true;
            return;
        }
        self.bytes += bytes;
        self.values.push(IssuedValue { name: name.to_owned(), value: Secret::new(value.to_owned()) });
    }

    /// Responses came while nothing was recorded.
    pub fn mark_missed(&mut self) {
        self.missed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_cookies(lines: &[String]) -> IssuedHeaders {
        let joined = serde_json::json!({ "Set-Cookie": lines.join("\n") });
        serde_json::from_value(joined).unwrap()
    }

    fn pairs(log: &IssuedValueLog) -> Vec<String> {
        let values = log.values.iter();
        values.map(|cookie| format!("{}={}", cookie.name, cookie.value.expose_secret())).collect()
    }

    #[test]
    fn each_cookie_value_is_recorded_once() {
        let mut log = IssuedValueLog::default();
        let lines =
            ["a=1; Path=/; Secure", "a=2", "a=1", " b = x=y ;HttpOnly", "nameless", "gone=; Max-Age=0", ""];
        log.record(&set_cookies(&lines.map(str::to_owned)));
        assert_eq!(pairs(&log), ["a=1", "a=2", "b=x=y", "=nameless"]);
        assert!(!log.missed);
    }

    #[test]
    fn values_beyond_the_bounds_are_reported_as_missed() {
        for (count, length, kept, missed) in [
            (MAX_VALUES, 1, MAX_VALUES, false),
            (MAX_VALUES + 1, 1, MAX_VALUES, true),
            (5, 60_000, 4, true),
            (1, 70_000, 0, true),
        ] {
            let mut log = IssuedValueLog::default();
            for n in 0..count {
                log.record(&set_cookies(&[format!("{n}={}", "x".repeat(length))]));
            }
            assert_eq!((log.values.len(), log.missed), (kept, missed), "{count} of {length}");
        }
    }
}
