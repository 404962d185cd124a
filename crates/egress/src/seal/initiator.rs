//! Who started a request: a page of its own origin, or another site.

use super::scope::WebOrigin;
use hyper::Method;
use hyper::header::{HeaderMap, ORIGIN, REFERER};
use redact::SameSite;

/// Whose page made the browser send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Initiator {
    /// Its own origin, or the user.
    Own,
    SameSite,
    CrossSite,
}

impl Initiator {
    /// Reads `Sec-Fetch-Site`, which no page can set. Chromium does not send it over plain HTTP or with a WebSocket;
    /// there `Origin` decides, then `Referer`.
    pub(crate) fn of(headers: &HeaderMap, origin: &WebOrigin) -> Initiator {
        let fetch_site = headers.get_all("sec-fetch-site").iter().map(|value| match value.as_bytes() {
            b"same-origin" | b"none" => Initiator::Own,
            b"same-site" => Initiator::SameSite,
            _ => Initiator::CrossSite,
        });
        if let Some(furthest) = fetch_site.max() {
            return furthest;
        }
        let named = headers.get_all(ORIGIN).iter().chain(headers.get_all(REFERER));
        let is_own = |url: &str| origin.is_origin_of(url);
        if named.into_iter().all(|value| value.to_str().is_ok_and(is_own)) {
            Initiator::Own
        } else {
            Initiator::CrossSite
        }
    }

    /// Whether headers may be added and placeholders other than cookies swapped.
    pub(crate) fn is_own(self) -> bool {
        self == Initiator::Own
    }

    /// Whether a cookie that the browser sent may be swapped. The browser decides, but for two cases: what another
    /// site embeds, and what it posts, gets cookies that are meant for that alone.
    pub(crate) fn permits_cookie(self, same_site: SameSite, request: RequestKind) -> bool {
        match self {
            Initiator::Own | Initiator::SameSite => true,
            Initiator::CrossSite => request == RequestKind::SafeNavigation || same_site == SameSite::None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    SafeNavigation,
    Other,
}

impl RequestKind {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> RequestKind {
        let navigates = headers.get("sec-fetch-mode").is_some_and(|mode| mode.as_bytes() == b"navigate");
        if navigates && method.is_safe() { RequestKind::SafeNavigation } else { RequestKind::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope::WebScheme;
    use super::*;
    use crate::hosts::HostName;
    use hyper::header::{HeaderName, HeaderValue};

    #[test]
    fn the_initiator_is_what_the_browser_says_and_else_what_origin_and_referer_say() {
        let origin =
            WebOrigin { scheme: WebScheme::Https, host: HostName::parse("app.test").unwrap(), port: 443 };
        for (lines, expected) in [
            (&[][..], Initiator::Own),
            (&[("sec-fetch-site", "same-origin")], Initiator::Own),
            (&[("sec-fetch-site", "none")], Initiator::Own),
            (&[("sec-fetch-site", "same-site")], Initiator::SameSite),
            (&[("sec-fetch-site", "cross-site")], Initiator::CrossSite),
            (&[("sec-fetch-site", "unheard-of")], Initiator::CrossSite),
            (&[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")], Initiator::CrossSite),
            (&[("origin", "https://app.test")], Initiator::Own),
            (&[("origin", "https://app.test:8443")], Initiator::CrossSite),
            (&[("origin", "null")], Initiator::CrossSite),
            (&[("origin", "http://app.test")], Initiator::CrossSite),
            (&[("referer", "https://app.test/a?b")], Initiator::Own),
            (&[("referer", "https://evil.test/")], Initiator::CrossSite),
            (&[("origin", "https://app.test"), ("referer", "https://evil.test/")], Initiator::CrossSite),
        ] {
            let headers: HeaderMap = lines
                .iter()
                .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
                .fold(HeaderMap::new(), |mut map, (name, value)| {
                    map.append(name, value);
                    map
                });
            assert_eq!(Initiator::of(&headers, &origin), expected, "{lines:?}");
        }
    }

    #[test]
    fn another_site_gets_cookies_of_a_plain_navigation_and_those_meant_for_it() {
        use RequestKind::{Other, SafeNavigation};
        for (initiator, same_site, kind, expected) in [
            (Initiator::Own, SameSite::Strict, Other, true),
            (Initiator::SameSite, SameSite::Strict, Other, true),
            (Initiator::CrossSite, SameSite::Lax, SafeNavigation, true),
            (Initiator::CrossSite, SameSite::Strict, Other, false),
            (Initiator::CrossSite, SameSite::Lax, Other, false),
            (Initiator::CrossSite, SameSite::None, Other, true),
        ] {
            assert_eq!(
                initiator.permits_cookie(same_site, kind),
                expected,
                "{initiator:?} {same_site:?} {kind:?}"
            );
        }
    }
}
