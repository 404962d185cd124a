//! `Cookie` and `Set-Cookie`: placeholders in the browser, values at the site.

use super::scope::{WebOrigin, is_within};
use super::{Initiator, PlaceKind, RequestKind, Seal, SealView, SetCookieValue};
use crate::hosts::HostName;
use hyper::header::{COOKIE, HeaderMap, HeaderValue};
use jiff::{Timestamp, fmt::rfc2822};
use redact::SameSite;
use std::borrow::Cow;

/// Swaps each cookie whose value is its placeholder, the whole of it and under its own name.
pub(crate) fn unseal_cookies(
    headers: &mut HeaderMap,
    seal: &Seal,
    view: &SealView,
    origin: &WebOrigin,
    path: &str,
    (initiator, kind): (Initiator, RequestKind),
) {
    let lines: Vec<HeaderValue> = headers.get_all(COOKIE).iter().cloned().collect();
    if lines.is_empty() {
        return;
    }
    headers.remove(COOKIE);
    for line in lines {
        let mut swapped = Vec::with_capacity(line.len());
        for (index, pair) in line.as_bytes().split(|byte| *byte == b';').enumerate() {
            if index > 0 {
                swapped.push(b';');
            }
            match swap_pair(pair, view, origin, (initiator, kind)) {
                Some((before, value)) => {
                    swapped.extend_from_slice(before);
                    swapped.extend_from_slice(value.value.expose_secret().as_bytes());
                }
                None => {
                    seal.note(view, pair, PlaceKind::Cookie, path, cookie_name(pair));
                    swapped.extend_from_slice(pair);
                }
            }
        }
        // A value that cannot stand in a header leaves the line as the browser sent it.
        let mut value = HeaderValue::from_maybe_shared(bytes::Bytes::from(swapped)).unwrap_or(line);
        value.set_sensitive(true);
        headers.append(COOKIE, value);
    }
}

/// What stands before the value, and the cookie whose value belongs there.
fn swap_pair<'a, 'v>(
    pair: &'a [u8],
    view: &'v SealView,
    origin: &WebOrigin,
    (initiator, kind): (Initiator, RequestKind),
) -> Option<(&'a [u8], &'v super::SealedCookie)> {
    let equals = pair.iter().position(|byte| *byte == b'=');
    let value_at = equals.map_or(pair.len() - pair.trim_ascii_start().len(), |equals| equals + 1);
    let (before, value) = pair.split_at(value_at);
    let name = pair[..equals.unwrap_or(0)].trim_ascii();
    let mut known =
        view.in_scope(origin).flat_map(|credential| &credential.cookies).map(|known| &known.cookie);
    let found = known.find(|cookie| {
        cookie.name.as_bytes() == name
            && cookie.placeholder.as_str().as_bytes() == value
            && cookie.matches_host(&origin.host)
            && initiator.permits_cookie(cookie.same_site, kind)
    })?;
    Some((before, found))
}

fn cookie_name(pair: &[u8]) -> Option<&str> {
    let name = pair.split(|byte| *byte == b'=').next()?;
    std::str::from_utf8(name.trim_ascii()).ok()
}

/// A `Set-Cookie` line as the browser gets it. Cookies of an injected name and HttpOnly ones get a placeholder, and
/// their value is a secret from then on. `now` is the time by the site's clock, which its dates are compared with.
pub(crate) fn seal_set_cookie(
    line: &HeaderValue,
    seal: &Seal,
    origin: &WebOrigin,
    now: Timestamp,
) -> HeaderValue {
    // Bytes that are no UTF-8 are read as Latin-1 to see what cookie it is.
    let latin1 = || line.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    let written = std::str::from_utf8(line.as_bytes()).map_or_else(|_| Cow::Owned(latin1()), Cow::Borrowed);
    let view = seal.view();
    // An origin that is intercepted for its effects alone keeps its cookies.
    if !view.has_in_scope(origin) {
        return line.clone();
    }
    let parsed = SetCookieLine::parse(&written, &origin.host, now);
    let is_sealed_name = || {
        let mut known = view.in_scope(origin).flat_map(|credential| &credential.cookies);
        known.any(|known| known.cookie.name == parsed.cookie.name)
    };
    // A value without a letter or a digit hides nothing, and one that is deleted is no login.
    let is_empty = !parsed.cookie.value.contains(char::is_alphanumeric);
    if is_empty || parsed.is_expired || !(parsed.cookie.http_only || is_sealed_name()) {
        return line.clone();
    }
    if matches!(written, Cow::Owned(_)) {
        // No placeholder can stand for it, and the browser must not hold it: it does not get the cookie.
        seal.count_unswapped();
        return HeaderValue::from_static("");
    }
    let SetCookieLine { before, after, cookie, .. } = parsed;
    let placeholder = seal.learn_cookie(origin, cookie);
    let sealed = [before, placeholder.as_str(), after].concat();
    HeaderValue::from_bytes(sealed.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// A `Set-Cookie` line in its parts.
struct SetCookieLine<'a> {
    before: &'a str,
    after: &'a str,
    cookie: SetCookieValue<'a>,
    is_expired: bool,
}

impl<'a> SetCookieLine<'a> {
    /// A pair without an equals sign is a value without a name.
    fn parse(line: &'a str, host: &HostName, now: Timestamp) -> SetCookieLine<'a> {
        let (pair, after) = line.split_at(line.find(';').unwrap_or(line.len()));
        let value_at = pair.find('=').map_or(0, |equals| equals + 1);
        let name = pair[..value_at].trim_end_matches('=').trim();
        let value = pair[value_at..].trim();
        let start = value_at + pair[value_at..].len() - pair[value_at..].trim_start().len();
        let (before, rest) = line.split_at(start);
        let after_value = &rest[value.len()..];
        let mut parsed = SetCookieLine {
            before,
            after: after_value,
            cookie: SetCookieValue {
                name,
                value,
                host: host.to_string(),
                host_only: true,
                http_only: false,
                same_site: SameSite::Lax,
            },
            is_expired: false,
        };
        let mut max_age = None;
        let mut expires = None;
        for attribute in after.split(';').skip(1) {
            let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "httponly" => parsed.cookie.http_only = true,
                "samesite" => parsed.cookie.same_site = SameSite::parse(value).unwrap_or_default(),
                "domain" => parsed.set_domain(value, host),
                "max-age" => max_age = Some(is_past_age(value)),
                "expires" => expires = Some(parse_date(value).is_some_and(|date| date < now)),
                _ => {}
            }
        }
        parsed.is_expired = max_age.or(expires).unwrap_or(false);
        parsed
    }

    /// A domain that the host is not below makes browsers drop the cookie; here it stays the host's own.
    fn set_domain(&mut self, domain: &str, host: &HostName) {
        let domain = domain.strip_prefix('.').unwrap_or(domain);
        if let Some(parsed) = HostName::parse(domain).filter(|_| is_within(host, domain)) {
            self.cookie.host = parsed.to_string();
            self.cookie.host_only = false;
        }
    }
}

/// What is no number of seconds counts as the future: browsers ignore it and keep the cookie.
fn is_past_age(seconds: &str) -> bool {
    let digits = seconds.strip_prefix('-').unwrap_or(seconds);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (seconds.starts_with('-') || digits.bytes().all(|byte| byte == b'0'))
}

/// The two forms of a date that servers write; another one counts as the future.
pub(super) fn parse_date(date: &str) -> Option<Timestamp> {
    let spaced = date.replace('-', " ");
    rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(&spaced).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_cookie_line_is_read_as_browsers_read_it() {
        let host = HostName::parse("www.app.test").unwrap();
        let now = Timestamp::now();
        for (line, name, value, domain, host_only, http_only, same_site, expired) in [
            ("a=b", "a", "b", "www.app.test", true, false, SameSite::Lax, false),
            (" a = b ; HttpOnly", "a", "b", "www.app.test", true, true, SameSite::Lax, false),
            (
                "a=b=c; Domain=.App.test; SameSite=None",
                "a",
                "b=c",
                "app.test",
                false,
                false,
                SameSite::None,
                false,
            ),
            ("a=b; domain=other.test", "a", "b", "www.app.test", true, false, SameSite::Lax, false),
            (
                "a=\"b c\"; samesite=STRICT",
                "a",
                "\"b c\"",
                "www.app.test",
                true,
                false,
                SameSite::Strict,
                false,
            ),
            ("a=; Max-Age=0", "a", "", "www.app.test", true, false, SameSite::Lax, true),
            ("a=b; Max-Age=-1", "a", "b", "www.app.test", true, false, SameSite::Lax, true),
            (
                "a=b; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "a",
                "b",
                "www.app.test",
                true,
                false,
                SameSite::Lax,
                false,
            ),
            (
                "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                "a",
                "b",
                "www.app.test",
                true,
                false,
                SameSite::Lax,
                true,
            ),
            (
                "a=b; Expires=Thu, 01-Jan-1970 00:00:10 GMT",
                "a",
                "b",
                "www.app.test",
                true,
                false,
                SameSite::Lax,
                true,
            ),
            (
                "a=b; Expires=Fri, 31 Dec 9998 23:59:59 GMT",
                "a",
                "b",
                "www.app.test",
                true,
                false,
                SameSite::Lax,
                false,
            ),
            ("a=b; Expires=nonsense", "a", "b", "www.app.test", true, false, SameSite::Lax, false),
        ] {
            let parsed = SetCookieLine::parse(line, &host, now);
            let cookie = &parsed.cookie;
            assert_eq!((cookie.name, cookie.value, cookie.host.as_str()), (name, value, domain), "{line}");
            assert_eq!((cookie.host_only, cookie.http_only), (host_only, http_only), "{line}");
            assert_eq!((cookie.same_site, parsed.is_expired), (same_site, expired), "{line}");
            assert_eq!(format!("{}{}{}", parsed.before, value, parsed.after), line);
        }
        for (attributes, expected) in [
            ("Max-Age=-1", true),
            ("Max-Age=-", false),
            ("Max-Age=-abc", false),
            ("Max-Age=0x", false),
            ("Max-Age=00", true),
            ("Max-Age=0; Max-Age=60", false),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT; Expires=nonsense", false),
            ("Max-Age=abc; Expires=Thu, 01 Jan 1970 00:00:00 GMT", false),
        ] {
            let line = format!("a=b; {attributes}");
            assert_eq!(SetCookieLine::parse(&line, &host, now).is_expired, expected, "{attributes}");
        }
        // A server whose clock is a day late sets a cookie for an hour.
        let expires = "a=b; Expires=Thu, 01 Jan 2026 01:00:00 GMT";
        let late = parse_date("Thu, 01 Jan 2026 00:00:00 GMT").unwrap();
        assert!(!SetCookieLine::parse(expires, &host, late).is_expired);
        assert!(SetCookieLine::parse(expires, &host, now).is_expired);
        let nameless = SetCookieLine::parse("only a value ; HttpOnly", &host, now);
        assert_eq!((nameless.cookie.name, nameless.cookie.value), ("", "only a value"));
    }
}
