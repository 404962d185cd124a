//! Placeholders in other request headers and in the URL, headers that the proxy adds, and secrets in reply headers.

use super::cookies::parse_date;
use super::scope::WebOrigin;
use super::{Initiator, PlaceKind, Seal, SealView, seal_set_cookie};
use bytes::Bytes;
use hyper::header::{
    AUTHORIZATION, COOKIE, DATE, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, ORIGIN, REFERER,
    SET_COOKIE, USER_AGENT,
};
use jiff::Timestamp;
use redact::Swapper;
use std::borrow::Cow;
use std::sync::Arc;

/// Headers that pages control and sites log or show.
const NEVER_SWAPPED: &[HeaderName] = &[REFERER, ORIGIN, USER_AGENT, HOST, COOKIE];

/// Swaps placeholders in request headers, where they belong; notes the others.
pub(crate) fn unseal_headers(
    headers: &mut HeaderMap,
    seal: &Seal,
    view: &SealView,
    origin: &WebOrigin,
    path: &str,
    initiator: Initiator,
) {
    for (name, value) in headers.iter_mut() {
        if *name == COOKIE {
            continue;
        }
        if initiator.is_own() && !NEVER_SWAPPED.contains(name) {
            for credential in view.in_scope(origin) {
                if let Some(swapper) = credential.header_out(name) {
                    swap_value(value, swapper, true);
                }
            }
        }
        seal.note(view, value.as_bytes(), PlaceKind::Header, path, Some(name.as_str()));
    }
}

/// Adds each credential's headers to a request that its own origin started. A page's own `Authorization` stays.
pub(crate) fn add_headers(
    headers: &mut HeaderMap,
    view: &SealView,
    origin: &WebOrigin,
    initiator: Initiator,
) {
    if !initiator.is_own() {
        return;
    }
    let authorized = headers.contains_key(AUTHORIZATION);
    let added = view.in_scope(origin).flat_map(|credential| credential.headers.iter());
    for header in added {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_str(header.value.expose_secret());
        let (Ok(name), Ok(mut value)) = (name, value) else { continue };
        if name == AUTHORIZATION && authorized {
            continue;
        }
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// Path and query as the site gets them: swapped where the operator allowed it, and noted elsewhere.
pub(crate) fn unseal_path<'a>(
    path_and_query: &'a str,
    seal: &Seal,
    view: &SealView,
    origin: &WebOrigin,
    initiator: Initiator,
) -> Cow<'a, str> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let mut swapped = Cow::Borrowed(path_and_query.as_bytes());
    for credential in view.in_scope(origin).filter(|_| initiator.is_own()) {
        if credential.sends_in_url(path)
            && let Cow::Owned(changed) = credential.script_out().swap(&swapped)
        {
            swapped = Cow::Owned(changed);
        }
    }
    seal.note(view, &swapped, PlaceKind::Url, path, None);
    match swapped {
        Cow::Borrowed(_) => Cow::Borrowed(path_and_query),
        Cow::Owned(changed) => String::from_utf8(changed).map_or(Cow::Borrowed(path_and_query), Cow::Owned),
    }
}

/// Seals the headers of a reply: cookies first, because their values are secrets in all that follows. `address` is the
/// path and query of its request, and what follows them in a second line. Returns what seals the body.
pub(crate) fn seal_headers(
    headers: &mut HeaderMap,
    seal: &Seal,
    origin: &WebOrigin,
    address: &[u8],
) -> Arc<Swapper> {
    let date = headers.get(DATE).and_then(|date| parse_date(date.to_str().ok()?));
    let now = date.unwrap_or_else(Timestamp::now);
    for (name, value) in headers.iter_mut() {
        if *name == SET_COOKIE {
            *value = seal_set_cookie(value, seal, origin, now);
        }
    }
    if let Some(location) = headers.get(LOCATION).and_then(|location| location.to_str().ok()) {
        seal.follow_redirect(origin, address, location);
    }
    let sealing = Arc::clone(seal.view().sealing());
    seal_lines(headers, &sealing);
    sealing
}

/// Swaps secrets in values. A line whose name is one is removed: a page reads names too, and there is no other to give it.
pub(crate) fn seal_lines(headers: &mut HeaderMap, sealing: &Swapper) {
    let is_secret = |name: &&HeaderName| sealing.finds_any(name.as_str().as_bytes());
    let names: Vec<HeaderName> = headers.keys().filter(is_secret).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    for value in headers.values_mut() {
        swap_value(value, sealing, false);
    }
}

fn swap_value(value: &mut HeaderValue, swapper: &Swapper, sensitive: bool) {
    if let Cow::Owned(swapped) = swapper.swap(value.as_bytes())
        && let Ok(mut swapped) = HeaderValue::from_maybe_shared(Bytes::from(swapped))
    {
        swapped.set_sensitive(sensitive);
        *value = swapped;
    }
}
