//! A session's sealed credentials at one moment, with the searches over them. A change makes a new view.

use super::credential::{SealedCookie, SealedCredential, SealedHeader, SealedValue, is_below};
use super::scope::{SealScope, WebOrigin};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::header::HeaderName;
use redact::{NamedSecret, Placeholder, Secret, SendIn, Swapper};
use std::sync::{Arc, OnceLock};

/// Parts of names of headers that carry a token by convention, so that a script may send a cookie in them that it can
/// read: `X-CSRF-Token`, `X-CSRFToken`, `Authorization`.
const TOKEN_HEADERS: &[&str] =
    &["csrf", "xsrf", "csrftoken", "xsrftoken", "auth", "authtoken", "authorization", "token", "accesstoken"];

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
            Arc::new(Swapper::sealing_named(self.pairs(), named))
        })
    }

    /// Finds placeholders that are left.
    pub(crate) fn placeholders(&self) -> &Arc<Swapper> {
        self.placeholders.get_or_init(|| {
            Arc::new(Swapper::unsealing(self.credentials.iter().flat_map(|credential| credential.pairs())))
        })
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
}

impl CredentialView {
    pub(crate) fn new(credential: SealedCredential) -> CredentialView {
        let SealedCredential { id, scope, cookies, storage, headers, send_in } = credential;
        let header_parts = headers.iter().flat_map(header_parts).map(|value| {
            let placeholder = Placeholder::for_secret(&value);
            SealedValue { value, placeholder }
        });
        let storage_out =
            Swapper::unsealing(storage.iter().map(|stored| (&stored.value, &stored.placeholder)));
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
        let values = self.storage.iter().chain(self.header_parts.iter());
        cookies.chain(values.map(|sealed| (&sealed.value, &sealed.placeholder)))
    }

    /// Placeholder to secret for a request header.
    pub(crate) fn header_out(&self, name: &HeaderName) -> &Arc<Swapper> {
        let allows = |place: &SendIn| matches!(place, SendIn::Header { name: allowed } if name.as_str().eq_ignore_ascii_case(allowed));
        let is_token_header = name.as_str().split(['-', '_']).any(|part| TOKEN_HEADERS.contains(&part));
        if is_token_header || self.send_in.iter().any(allows) { self.script_out() } else { &self.storage_out }
    }

    /// Values that a script can read: storage, and cookies that are not HttpOnly.
    pub(crate) fn script_out(&self) -> &Arc<Swapper> {
        self.script_out.get_or_init(|| {
            let readable = self.cookies.iter().filter(|known| !known.cookie.http_only);
            let cookies = readable.map(|known| (&known.cookie.value, &known.cookie.placeholder));
            let stored = self.storage.iter().map(|stored| (&stored.value, &stored.placeholder));
            Arc::new(Swapper::unsealing(cookies.chain(stored)))
        })
    }

    fn placeholders(&self) -> &Arc<Swapper> {
        self.placeholders.get_or_init(|| Arc::new(Swapper::unsealing(self.pairs())))
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
