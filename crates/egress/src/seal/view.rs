//! A session's sealed credentials at one moment, with the searches over them. A change makes a new view.

use super::credential::{SealedCookie, SealedCredential, SealedHeader, SealedValue, is_below};
use super::scope::{SealScope, WebOrigin};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderName;
use redact::{FormSet, NamedSecret, Placeholder, Secret, SendIn, SwapPair, Swapper};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// Parts of names of headers that carry a token by convention, so that a script may send a cookie in them that it can
/// read: `X-CSRF-Token`, `X-CSRFToken`, `Authorization`.
const TOKEN_HEADERS: &[&str] =
    &["csrf", "xsrf", "csrftoken", "xsrftoken", "auth", "authtoken", "authorization", "token", "accesstoken"];

/// Headers that describe the message, its sender or its way. Sites log and show them, or act on them as on an address;
/// no login is in them.
const DESCRIPTIVE_HEADERS: &[&str] = &[
    "cache-control",
    "destination",
    "forwarded",
    "from",
    "last-event-id",
    "link",
    "max-forwards",
    "pragma",
    "range",
    "slug",
    "via",
    "x-method-override",
    "x-original-uri",
    "x-original-url",
    "x-real-ip",
    "x-requested-with",
    "x-rewrite-url",
];
const DESCRIPTIVE_PREFIXES: &[&str] =
    &["accept", "content-", "if-", "sec-ch-", "sec-fetch-", "x-forwarded-", "x-http-method"];

#[derive(Clone)]
pub(crate) struct SealView {
    pub(crate) credentials: Vec<Arc<CredentialView>>,
    sealing: OnceLock<Arc<Swapper>>,
    placeholders: OnceLock<Arc<Swapper>>,
}

/// One credential. What never changes is shared by all views.
#[derive(Clone)]
pub(crate) struct CredentialView {
    pub(crate) id: Arc<str>,
    pub(crate) scope: Arc<SealScope>,
    /// Injected ones and ones that the site set since; the newest last.
    pub(crate) cookies: Vec<Arc<LearnedCookie>>,
    pub(crate) headers: Arc<[SealedHeader]>,
    pub(crate) send_in: Vec<SendIn>,
    storage: Arc<[SealedValue]>,
    /// What a site may echo of the added headers.
    header_parts: Arc<[SealedValue]>,
    storage_out: Arc<Swapper>,
    script_out: OnceLock<Arc<Swapper>>,
    placeholders: OnceLock<Arc<Swapper>>,
}

/// A cookie, and when it came to be known.
pub(crate) struct LearnedCookie {
    pub(crate) cookie: SealedCookie,
    /// 0: injected.
    pub(crate) sequence: u64,
}

impl SealView {
    pub(crate) fn new(credentials: Vec<Arc<CredentialView>>) -> SealView {
        SealView { credentials, sealing: OnceLock::new(), placeholders: OnceLock::new() }
    }

    pub(crate) fn in_scope(&self, origin: &WebOrigin) -> impl Iterator<Item = &Arc<CredentialView>> {
        self.credentials.iter().filter(|credential| credential.scope.contains(origin))
    }

    pub(crate) fn has_in_scope(&self, origin: &WebOrigin) -> bool {
        self.in_scope(origin).next().is_some()
    }

    /// Whether something in a reply of an origin may have to be swapped.
    pub(crate) fn swaps_replies_of(&self, origin: &WebOrigin) -> bool {
        self.has_in_scope(origin) || !self.sealing().is_empty()
    }

    /// Secret to placeholder, for all that comes back. All secrets, whosever reply it is.
    pub(crate) fn sealing(&self) -> &Arc<Swapper> {
        self.sealing.get_or_init(|| {
            let named = self.credentials.iter().flat_map(|credential| &credential.cookies).map(|known| {
                let SealedCookie { name, value, placeholder, .. } = &known.cookie;
                NamedSecret { name, secret: value, placeholder }
            });
            Arc::new(Swapper::sealing_named(self.swap_pairs(), named))
        })
    }

    /// Finds placeholders that are left.
    pub(crate) fn placeholders(&self) -> &Arc<Swapper> {
        self.placeholders.get_or_init(|| Arc::new(unsealing(self.pairs())))
    }

    /// Credentials with a placeholder in these bytes.
    pub(crate) fn owners_in(&self, bytes: &[u8]) -> Vec<Arc<str>> {
        if !self.placeholders().finds_any(bytes) {
            return Vec::new();
        }
        let owners = self.credentials.iter().filter(|credential| credential.placeholders().finds_any(bytes));
        owners.map(|credential| Arc::clone(&credential.id)).collect()
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Secret, &Placeholder)> {
        self.credentials.iter().flat_map(|credential| credential.pairs())
    }

    /// Those of the credentials first: the room for all their forms is theirs.
    fn swap_pairs(&self) -> impl Iterator<Item = SwapPair<'_>> {
        let all = self.credentials.iter().flat_map(|credential| credential.swap_pairs());
        let mut pairs: Vec<(u64, SwapPair<'_>)> = all.collect();
        pairs.sort_by_key(|(sequence, _)| *sequence);
        pairs.into_iter().map(|(_, pair)| pair)
    }
}

impl CredentialView {
    pub(crate) fn new(credential: SealedCredential) -> CredentialView {
        let SealedCredential { id, scope, cookies, storage, headers, send_in } = credential;
        let header_parts = headers.iter().flat_map(header_parts).map(|value| {
            let placeholder = Placeholder::for_secret(&value);
            SealedValue { value, placeholder }
        });
        let storage_out = unsealing(storage.iter().map(|stored| (&stored.value, &stored.placeholder)));
        let learned = |cookie| Arc::new(LearnedCookie { cookie, sequence: 0 });
        CredentialView {
            id: id.into(),
            scope: Arc::new(scope),
            cookies: cookies.into_iter().map(learned).collect(),
            header_parts: header_parts.collect(),
            headers: headers.into(),
            send_in,
            storage: storage.into(),
            storage_out: Arc::new(storage_out),
            script_out: OnceLock::new(),
            placeholders: OnceLock::new(),
        }
    }

    /// The same credential after a change of its cookies or of its `send_in`.
    pub(crate) fn changed(&self) -> CredentialView {
        CredentialView { script_out: OnceLock::new(), placeholders: OnceLock::new(), ..self.clone() }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Secret, &Placeholder)> {
        let cookies = self.cookies.iter().map(|known| (&known.cookie.value, &known.cookie.placeholder));
        cookies.chain(self.fixed_pairs())
    }

    fn fixed_pairs(&self) -> impl Iterator<Item = (&Secret, &Placeholder)> {
        let values = self.storage.iter().chain(self.header_parts.iter());
        values.map(|sealed| (&sealed.value, &sealed.placeholder))
    }

    /// Each with when it came to be known. A value that the site set and replaced since is looked for in the usual forms
    /// alone: a site that sets a cookie with every reply makes a new search each time.
    fn swap_pairs(&self) -> Vec<(u64, SwapPair<'_>)> {
        let mut newer = HashSet::new();
        let cookies = self.cookies.iter().rev().map(|known| {
            let SealedCookie { name, host, value, placeholder, .. } = &known.cookie;
            let is_newest = newer.insert((name.as_str(), host.as_str()));
            let forms = if is_newest || known.sequence == 0 { FormSet::All } else { FormSet::Usual };
            (known.sequence, SwapPair { secret: value, placeholder, forms })
        });
        let mut pairs: Vec<_> = cookies.collect();
        pairs.extend(self.fixed_pairs().map(|pair| (0, SwapPair::from(pair))));
        pairs
    }

    /// Placeholder to secret for a request header; `None` if it goes into that header for no credential.
    pub(crate) fn header_out(&self, name: &HeaderName) -> Option<&Arc<Swapper>> {
        let name = name.as_str();
        let allows = |place: &SendIn| matches!(place, SendIn::Header { name: allowed } if name.eq_ignore_ascii_case(allowed));
        if self.send_in.iter().any(allows) {
            return Some(self.script_out());
        }
        let describes = DESCRIPTIVE_HEADERS.contains(&name)
            || DESCRIPTIVE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        let is_token_header = name.split(['-', '_']).any(|part| TOKEN_HEADERS.contains(&part));
        match (is_token_header, describes) {
            (true, _) => Some(self.script_out()),
            (false, false) => Some(&self.storage_out),
            (false, true) => None,
        }
    }

    /// Values that a script can read: storage, and cookies that are not HttpOnly.
    pub(crate) fn script_out(&self) -> &Arc<Swapper> {
        self.script_out.get_or_init(|| {
            let readable = self.cookies.iter().filter(|known| !known.cookie.http_only);
            let cookies = readable.map(|known| (&known.cookie.value, &known.cookie.placeholder));
            let stored = self.storage.iter().map(|stored| (&stored.value, &stored.placeholder));
            Arc::new(unsealing(cookies.chain(stored)))
        })
    }

    fn placeholders(&self) -> &Arc<Swapper> {
        self.placeholders.get_or_init(|| Arc::new(unsealing(self.pairs())))
    }

    pub(crate) fn sends_in_body(&self, path: &str) -> bool {
        self.send_in
            .iter()
            .any(|place| matches!(place, SendIn::Body { path: allowed } if is_below(path, allowed)))
    }

    pub(crate) fn sends_in_url(&self, path: &str) -> bool {
        self.send_in
            .iter()
            .any(|place| matches!(place, SendIn::Url { path: allowed } if is_below(path, allowed)))
    }

    pub(crate) fn sends_in_websocket(&self, path: &str) -> bool {
        let allows =
            |place: &SendIn| matches!(place, SendIn::WebSocket { path: allowed } if is_below(path, allowed));
        self.send_in.iter().any(allows)
    }
}

/// Placeholder to secret, in the forms in which applications send values.
fn unsealing<'a>(pairs: impl Iterator<Item = (&'a Secret, &'a Placeholder)>) -> Swapper {
    Swapper::unsealing_pairs(pairs.map(|(secret, placeholder)| SwapPair {
        secret,
        placeholder,
        forms: FormSet::Usual,
    }))
}

/// A header's value, and what of it a site may show alone: the token behind the scheme, and what basic
/// authentication encodes.
fn header_parts(header: &SealedHeader) -> Vec<Secret> {
    let whole = header.value.expose_secret();
    let mut parts = vec![header.value.duplicate()];
    let Some((scheme, token)) = whole.split_once(' ') else { return parts };
    parts.push(Secret::new(token.trim().to_owned()));
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(decoded) = BASE64_STANDARD.decode(token.trim())
        && let Ok(pair) = String::from_utf8(decoded)
    {
        if let Some((_, password)) = pair.split_once(':') {
            parts.push(Secret::new(password.to_owned()));
        }
        parts.push(Secret::new(pair));
    }
    parts
}
