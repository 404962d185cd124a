//! Rejects an invalid injection before any part of it reaches the browser.

use super::{InjectedCookie, InjectedHeaders, InjectedStorage, Injection};
use crate::error::BrowserError;
use policy::{Origin, WebUrl};

const MAX_COOKIES: usize = 1000;
/// Each costs a page load, though no network request.
const MAX_STORAGES: usize = 32;
const MAX_HEADER_ORIGINS: usize = 64;
/// Names and values of all headers for one origin; servers accept little more.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Headers that Chromium sets itself, by rules that an injection must not bypass.
const BROWSER_HEADERS: [&str; 9] = [
    "cookie",
    "host",
    "origin",
    "referer",
    "content-length",
    "connection",
    "transfer-encoding",
    "upgrade",
    "te",
];

impl Injection {
    pub(crate) fn validate(&self) -> Result<(), BrowserError> {
        for (count, most, what) in [
            (self.cookies.len(), MAX_COOKIES, "cookies"),
            (self.storage.len(), MAX_STORAGES, "stores"),
            (self.headers.len(), MAX_HEADER_ORIGINS, "headers"),
        ] {
            if count > most {
                return Err(BrowserError::not_injected(
                    format!("{count} {what}"),
                    format!("at most {most} are allowed"),
                ));
            }
        }
        self.cookies.iter().try_for_each(InjectedCookie::validate)?;
        self.storage.iter().try_for_each(InjectedStorage::validate)?;
        for (at, headers) in self.headers.iter().enumerate() {
            headers.validate()?;
            if self.headers[..at].iter().any(|other| other.origin == headers.origin) {
                return Err(BrowserError::not_injected(headers.describe(), "it occurs twice"));
            }
        }
        Ok(())
    }
}

impl InjectedCookie {
    pub(crate) fn describe(&self) -> String {
        format!("the cookie {:?} for {}", self.name, self.domain.as_ref().unwrap_or(&self.host))
    }

    fn validate(&self) -> Result<(), BrowserError> {
        let host = WebUrl::parse(&format!("https://{}/", self.host));
        // A host that parses differently would set the cookie on another site.
        if host.is_ok_and(|url| url.host() == self.host) {
            Ok(())
        } else {
            Err(BrowserError::not_injected(self.describe(), "its host is no host name"))
        }
    }
}

impl InjectedStorage {
    fn validate(&self) -> Result<(), BrowserError> {
        if is_web(&self.origin) {
            return Ok(());
        }
        Err(BrowserError::not_injected(
            format!("the stores of {}", self.origin),
            "only web sites have stores",
        ))
    }
}

impl InjectedHeaders {
    fn describe(&self) -> String {
        format!("the headers for {}", self.origin)
    }

    fn validate(&self) -> Result<(), BrowserError> {
        let refused = |why: String| Err(BrowserError::not_injected(self.describe(), why));
        if !is_web(&self.origin) {
            return refused("only web sites take headers".to_owned());
        }
        if self.origin.as_str().starts_with("http:") && !self.allow_plain_http {
            return refused("headers are sent over https: only".to_owned());
        }
        let mut bytes = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let name = line.name.to_ascii_lowercase();
            let value = line.value.expose_secret();
            bytes += name.len() + value.len();
            if name.is_empty() || !name.bytes().all(is_token) {
                return refused(format!("{:?} is not a header name", line.name));
            }
            let is_browser_header = BROWSER_HEADERS.contains(&&*name);
            if is_browser_header || name.starts_with("sec-") || name.starts_with("proxy-") {
                return refused(format!("{} is set by the browser alone", line.name));
            }
            // Chromium would not continue a request with an invalid value, and it would hang.
            if value.trim() != value
                || !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
            {
                return refused(format!("the value of {} is not plain text", line.name));
            }
            if self.lines[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                return refused(format!("{} occurs twice", line.name));
            }
        }
        if bytes > MAX_HEADER_BYTES {
            return refused(format!("they have {bytes} bytes; at most {MAX_HEADER_BYTES} are allowed"));
        }
        Ok(())
    }
}

fn is_web(origin: &Origin) -> bool {
    WebUrl::parse(origin.as_str()).is_ok_and(|url| url.origin() == *origin)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::InjectedEntry;
    use redact::Secret;

    fn header(origin: &str, name: &str, value: &str, allow_plain_http: bool) -> InjectedHeaders {
        let lines = vec![InjectedEntry::new(name, Secret::new(value.to_owned()))];
        InjectedHeaders { origin: Origin::of(origin), lines, allow_plain_http }
    }

    #[test]
    fn headers_are_plain_text_for_a_web_origin_over_tls_unless_plain_http_is_allowed() {
        for (origin, name, value, plain, refused) in [
            ("https://own.test", "X-Key", "hunter2", false, None),
            ("http://own.test", "X-Key", "hunter2", true, None),
            ("http://own.test", "X-Key", "hunter2", false, Some("over https: only")),
            ("file:///etc", "X-Key", "hunter2", true, Some("web sites")),
            ("https://own.test", "", "hunter2", false, Some("not a header name")),
            ("https://own.test", "X Key", "hunter2", false, Some("not a header name")),
            ("https://own.test", "X-Key:", "hunter2", false, Some("not a header name")),
            ("https://own.test", "Cookie", "hunter2", false, Some("browser alone")),
            ("https://own.test", "SEC-Fetch-Site", "hunter2", false, Some("browser alone")),
            ("https://own.test", "X-Key", "hunter2\r\nX-Other: 1", false, Some("plain text")),
            ("https://own.test", "X-Key", " hunter2", false, Some("plain text")),
            ("https://own.test", "X-Key", "hunter2é", false, Some("plain text")),
            ("https://own.test", "X-Key", &"hunter2".repeat(5000), false, Some("bytes")),
        ] {
            let injection =
                Injection { headers: vec![header(origin, name, value, plain)], ..Injection::default() };
            let result = injection.validate().map_err(|error| format!("{error} {error:?}"));
            let fits = match (&result, refused) {
                (Ok(()), None) => true,
                (Err(message), Some(part)) => message.contains(part) && !message.contains("hunter2"),
                _ => false,
            };
            assert!(fits, "{origin} {name}: {result:?}");
        }
    }

    #[test]
    fn duplicates_and_excess_are_rejected() {
        let own = || header("https://own.test", "X-Key", "1", false);
        let twice = Injection { headers: vec![own(), own()], ..Injection::default() };
        assert!(twice.validate().is_err_and(|error| error.to_string().contains("twice")));
        let mut line_twice = own();
        line_twice.lines.push(InjectedEntry::new("x-key", Secret::new("2".to_owned())));
        assert!(line_twice.validate().is_err_and(|error| error.to_string().contains("twice")));
        let store =
            || InjectedStorage { origin: Origin::of("https://a.test"), local: vec![], session: vec![] };
        let many = Injection {
            storage: std::iter::repeat_with(store).take(MAX_STORAGES + 1).collect(),
            ..Injection::default()
        };
        assert!(many.validate().is_err_and(|error| error.to_string().contains("at most")));
    }
}
