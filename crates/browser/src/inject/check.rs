//! What can be seen to be wrong with an injection before anything of it is put into the browser.

use super::{InjectedCookie, InjectedHeaders, InjectedStorage, Injection};
use crate::error::BrowserError;
use policy::{Origin, WebUrl};
use std::fmt::Display;

const MOST_COOKIES: usize = 1000;
/// Each costs a page load, though none of the network's.
const MOST_STORAGES: usize = 32;
const MOST_HEADER_ORIGINS: usize = 64;
/// Of the lines for one origin, names and values together; servers take little more.
const MOST_HEADER_BYTES: usize = 16 * 1024;

/// Headers that Chromium makes itself, by rules that an injection must not get round.
const CHROMIUMS_OWN: [&str; 9] = [
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

pub(super) fn not_injected(what: impl Display, why: impl Into<String>) -> BrowserError {
    BrowserError::NotInjected { what: what.to_string(), why: why.into() }
}

impl Injection {
    pub(super) fn check(&self) -> Result<(), BrowserError> {
        for (count, most, what) in [
            (self.cookies.len(), MOST_COOKIES, "cookies"),
            (self.storage.len(), MOST_STORAGES, "stores"),
            (self.headers.len(), MOST_HEADER_ORIGINS, "headers"),
        ] {
            if count > most {
                return Err(not_injected(format!("{count} {what}"), format!("{most} are the most")));
            }
        }
        self.cookies.iter().try_for_each(InjectedCookie::check)?;
        self.storage.iter().try_for_each(InjectedStorage::check)?;
        for (at, headers) in self.headers.iter().enumerate() {
            headers.check()?;
            if self.headers[..at].iter().any(|other| other.origin == headers.origin) {
                return Err(not_injected(headers.told(), "it is there twice"));
            }
        }
        Ok(())
    }
}

impl InjectedCookie {
    pub(super) fn told(&self) -> String {
        format!("the cookie {:?} for {}", self.name, self.domain.as_ref().unwrap_or(&self.host))
    }

    fn check(&self) -> Result<(), BrowserError> {
        let host = WebUrl::parse(&format!("https://{}/", self.host));
        // A host with more to it would put the cookie elsewhere.
        if host.is_ok_and(|url| url.host() == self.host) {
            Ok(())
        } else {
            Err(not_injected(self.told(), "its host is no host name"))
        }
    }
}

impl InjectedStorage {
    fn check(&self) -> Result<(), BrowserError> {
        if is_web(&self.origin) {
            return Ok(());
        }
        Err(not_injected(format!("the stores of {}", self.origin), "only web sites have stores"))
    }
}

impl InjectedHeaders {
    fn told(&self) -> String {
        format!("the headers for {}", self.origin)
    }

    fn check(&self) -> Result<(), BrowserError> {
        let refused = |why: String| Err(not_injected(self.told(), why));
        if !is_web(&self.origin) {
            return refused("only web sites take headers".to_owned());
        }
        if self.origin.as_str().starts_with("http:") && !self.allow_plain_http {
            return refused("they would travel unencrypted".to_owned());
        }
        let mut bytes = 0;
        for (at, line) in self.lines.iter().enumerate() {
            let name = line.name.to_ascii_lowercase();
            let value = line.value.expose_secret();
            bytes += name.len() + value.len();
            if name.is_empty() || !name.bytes().all(is_token) {
                return refused(format!("{:?} is no name of a header", line.name));
            }
            let chromiums_own = CHROMIUMS_OWN.contains(&&*name);
            if chromiums_own || name.starts_with("sec-") || name.starts_with("proxy-") {
                return refused(format!("{} is set by the browser alone", line.name));
            }
            // One that Chromium does not take would leave the request waiting for ever.
            if value.trim() != value
                || !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
            {
                return refused(format!("the value of {} is not plain text", line.name));
            }
            if self.lines[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                return refused(format!("{} is there twice", line.name));
            }
        }
        if bytes > MOST_HEADER_BYTES {
            return refused(format!("they have {bytes} bytes, and {MOST_HEADER_BYTES} are the most"));
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
    use crate::inject::InjectedEntry;
    use redact::Secret;

    fn header(origin: &str, name: &str, value: &str, allow_plain_http: bool) -> InjectedHeaders {
        let lines = vec![InjectedEntry::new(name, Secret::new(value.to_owned()))];
        InjectedHeaders { origin: Origin::of(origin), lines, allow_plain_http }
    }

    #[test]
    fn headers_are_plain_text_for_a_web_site_over_tls_unless_the_operator_said_otherwise() {
        for (origin, name, value, plain, refused) in [
            ("https://own.test", "X-Key", "hunter2", false, None),
            ("http://own.test", "X-Key", "hunter2", true, None),
            ("http://own.test", "X-Key", "hunter2", false, Some("unencrypted")),
            ("file:///etc", "X-Key", "hunter2", true, Some("web sites")),
            ("https://own.test", "", "hunter2", false, Some("no name")),
            ("https://own.test", "X Key", "hunter2", false, Some("no name")),
            ("https://own.test", "X-Key:", "hunter2", false, Some("no name")),
            ("https://own.test", "Cookie", "hunter2", false, Some("browser alone")),
            ("https://own.test", "SEC-Fetch-Site", "hunter2", false, Some("browser alone")),
            ("https://own.test", "X-Key", "hunter2\r\nX-Other: 1", false, Some("plain text")),
            ("https://own.test", "X-Key", " hunter2", false, Some("plain text")),
            ("https://own.test", "X-Key", "hunter2é", false, Some("plain text")),
            ("https://own.test", "X-Key", &"hunter2".repeat(5000), false, Some("bytes")),
        ] {
            let injection =
                Injection { headers: vec![header(origin, name, value, plain)], ..Injection::default() };
            let told = injection.check().map_err(|error| format!("{error} {error:?}"));
            let fits = match (&told, refused) {
                (Ok(()), None) => true,
                (Err(told), Some(part)) => told.contains(part) && !told.contains("hunter2"),
                _ => false,
            };
            assert!(fits, "{origin} {name}: {told:?}");
        }
    }

    #[test]
    fn nothing_is_there_twice_or_without_bound() {
        let own = || header("https://own.test", "X-Key", "1", false);
        let twice = Injection { headers: vec![own(), own()], ..Injection::default() };
        assert!(twice.check().is_err_and(|error| error.to_string().contains("twice")));
        let mut line_twice = own();
        line_twice.lines.push(InjectedEntry::new("x-key", Secret::new("2".to_owned())));
        assert!(line_twice.check().is_err_and(|error| error.to_string().contains("twice")));
        let store =
            || InjectedStorage { origin: Origin::of("https://a.test"), local: vec![], session: vec![] };
        let many = Injection {
            storage: std::iter::repeat_with(store).take(MOST_STORAGES + 1).collect(),
            ..Injection::default()
        };
        assert!(many.check().is_err_and(|error| error.to_string().contains("the most")));
    }
}
