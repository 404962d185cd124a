//! Who started a request: a page of its own origin, or another site.

use super::navigation::StartedNavigations;
use super::scope::{WebOrigin, WebScheme};
use hyper::Method;
use hyper::header::{HeaderMap, ORIGIN, REFERER, UPGRADE_INSECURE_REQUESTS};
use redact::SameSite;

/// Whose page made the browser send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Initiator {
    /// Its own origin, or the user.
    Own,
    SameSite,
    /// Nothing tells: over plain HTTP a page may leave out who it is.
    Unknown,
    CrossSite,
}

impl Initiator {
    /// Reads `Sec-Fetch-Site`, which no page can set. Chromium does not send it over plain HTTP or with a WebSocket;
    /// there `Origin` decides, then `Referer`. A WebSocket always has an `Origin`. Over plain HTTP a request with neither
    /// is the origin's own only if it is a navigation that the agent started.
    pub(crate) fn of(
        headers: &HeaderMap,
        origin: &WebOrigin,
        started: &StartedNavigations,
        path_and_query: &str,
    ) -> Initiator {
        let fetch_site = headers.get_all("sec-fetch-site").iter().map(|value| match value.as_bytes() {
            b"same-origin" | b"none" => Initiator::Own,
            b"same-site" => Initiator::SameSite,
            _ => Initiator::CrossSite,
        });
        if let Some(furthest) = fetch_site.max() {
            return furthest;
        }
        let mut named = headers.get_all(ORIGIN).iter().chain(headers.get_all(REFERER)).peekable();
        if named.peek().is_none() && origin.scheme == WebScheme::Http {
            let is_started = is_navigation(headers) && started.contains(origin, path_and_query);
            return if is_started { Initiator::Own } else { Initiator::Unknown };
        }
        let is_own = |url: &str| origin.is_origin_of(url);
        if named.all(|value| value.to_str().is_ok_and(is_own)) {
            Initiator::Own
        } else {
            Initiator::CrossSite
        }
    }

    /// Whether headers may be added and placeholders other than cookies swapped.
    pub(crate) fn is_own(self) -> bool {
        self == Initiator::Own
    }

    /// Whether a cookie that the browser sent may be swapped. What another site embeds or posts gets none, not even one
    /// that is meant for all sites; a link that is followed from there does, as in any browser. Where nothing tells who
    /// started a request, the browser does: it sends a `Lax` or `Strict` cookie to no other site's subresource.
    pub(crate) fn permits_cookie(self, same_site: SameSite, request: RequestKind) -> bool {
        match self {
            Initiator::Own | Initiator::SameSite => true,
            Initiator::Unknown => same_site != SameSite::None,
            Initiator::CrossSite => request == RequestKind::SafeNavigation,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A document at the top of a tab.
    SafeNavigation,
    Other,
}

impl RequestKind {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> RequestKind {
        let is_top = headers.get("sec-fetch-dest").is_none_or(|dest| dest.as_bytes() == b"document");
        if is_top && is_navigation(headers) && method.is_safe() {
            RequestKind::SafeNavigation
        } else {
            RequestKind::Other
        }
    }
}

/// Over plain HTTP Chromium says so by a header that it sends with navigations alone. A script can add it to a request
/// of its own, which then has an `Origin` or a `Referer` elsewhere.
fn is_navigation(headers: &HeaderMap) -> bool {
    match headers.get("sec-fetch-mode") {
        Some(mode) => mode.as_bytes() == b"navigate",
        None => headers.get(UPGRADE_INSECURE_REQUESTS).is_some_and(|value| value.as_bytes() == b"1"),
    }
}

#[cfg(test)]
mod tests {
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
            let headers = headers(lines);
            let started = StartedNavigations::default();
            assert_eq!(Initiator::of(&headers, &origin, &started, "/"), expected, "{lines:?}");
        }
    }

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)));
        lines.fold(HeaderMap::new(), |mut map, (name, value)| {
            map.append(name, value);
            map
        })
    }

    #[test]
    fn over_plain_http_only_a_navigation_of_the_agent_needs_no_sign_of_its_origin() {
        let origin =
            WebOrigin { scheme: WebScheme::Http, host: HostName::parse("app.test").unwrap(), port: 80 };
        let started = StartedNavigations::default();
        started.announce("http://app.test/a");
        let navigates = ("upgrade-insecure-requests", "1");
        for (lines, path, expected) in [
            (&[navigates][..], "/a", Initiator::Own),
            (&[navigates], "/b", Initiator::Unknown),
            // A picture on another site's page, with `referrerpolicy=no-referrer`.
            (&[], "/a", Initiator::Unknown),
            (&[("referer", "http://app.test/")], "/b", Initiator::Own),
            (&[navigates, ("referer", "http://evil.test/")], "/a", Initiator::CrossSite),
            (&[navigates, ("origin", "null")], "/a", Initiator::CrossSite),
        ] {
            assert_eq!(Initiator::of(&headers(lines), &origin, &started, path), expected, "{lines:?} {path}");
        }
    }

    #[test]
    fn only_a_document_at_the_top_is_a_safe_navigation() {
        for (method, lines, expected) in [
            (Method::GET, &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")][..], true),
            (Method::GET, &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], false),
            (Method::POST, &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")], false),
            (Method::GET, &[("sec-fetch-mode", "no-cors"), ("upgrade-insecure-requests", "1")], false),
            (Method::GET, &[("upgrade-insecure-requests", "1")], true),
            (Method::GET, &[], false),
        ] {
            let kind = RequestKind::of(&method, &headers(lines));
            assert_eq!(kind == RequestKind::SafeNavigation, expected, "{method} {lines:?}");
        }
    }

    #[test]
    fn another_site_gets_cookies_of_a_plain_navigation_alone() {
        use RequestKind::{Other, SafeNavigation};
        for (initiator, same_site, kind, expected) in [
            (Initiator::Own, SameSite::Strict, Other, true),
            (Initiator::SameSite, SameSite::Strict, Other, true),
            (Initiator::CrossSite, SameSite::Lax, SafeNavigation, true),
            (Initiator::CrossSite, SameSite::Strict, Other, false),
            (Initiator::CrossSite, SameSite::Lax, Other, false),
            (Initiator::CrossSite, SameSite::None, Other, false),
            (Initiator::Unknown, SameSite::Lax, Other, true),
            (Initiator::Unknown, SameSite::Lax, SafeNavigation, true),
            (Initiator::Unknown, SameSite::None, Other, false),
        ] {
            assert_eq!(
                initiator.permits_cookie(same_site, kind),
                expected,
                "{initiator:?} {same_site:?} {kind:?}"
            );
        }
    }
}
