//! A session's sealed credentials: what the proxy swaps, where, and what it has learned since.

mod cookies;
mod credential;
mod fields;
mod headers;
mod initiator;
mod navigation;
mod places;
mod scope;
mod view;

pub(crate) use cookies::{seal_set_cookie, unseal_cookies};
pub use credential::{SealedCookie, SealedCredential, SealedHeader, SealedValue};
pub(crate) use fields::field_of;
pub(crate) use headers::{add_headers, seal_headers, seal_lines, unseal_headers, unseal_path};
pub(crate) use initiator::{Initiator, RequestKind};
pub(crate) use navigation::StartedNavigations;
pub use places::{PlaceKind, PlaceholderPlace};
pub(crate) use scope::WebOrigin;
pub use scope::{SealScope, WebScheme};
pub(crate) use view::SealView;

use crate::hosts::HostName;
use places::NotedPlaces;
use policy::Origin;
use redact::{Placeholder, Secret, SendIn};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use view::{CredentialView, LearnedCookie};

/// Values of one cookie that are kept: a browser may still send an older one.
const MAX_VALUES_PER_COOKIE: usize = 8;
/// Cookies that sites set since the session began; the oldest makes room.
const MAX_LEARNED_COOKIES: usize = 1000;
/// Bytes of their values: the search for them takes a few thousand times as many.
const MAX_LEARNED_BYTES: usize = 16 * 1024;
/// WebSockets at once that may carry the longest messages: each holds one whole in either direction.
const LONG_MESSAGE_SOCKETS: usize = 4;
/// Attempts to find a placeholder that no other value has.
const MAX_ATTEMPTS: usize = 32;

/// A session's sealed credentials. They grow by what sites set with `Set-Cookie`, within bounds.
pub struct Seal {
    view: RwLock<Arc<SealView>>,
    /// Intercepted for their effects, with nothing to swap.
    intercepted: Vec<SealScope>,
    places: NotedPlaces,
    started: StartedNavigations,
    long_messages: Arc<Semaphore>,
    unswapped: AtomicU64,
    sequence: AtomicU64,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("credentials", &self.view().credentials.len()).finish_non_exhaustive()
    }
}

impl Seal {
    pub fn new(credentials: Vec<SealedCredential>) -> Arc<Seal> {
        Seal::with_intercepted(credentials, Vec::new())
    }

    /// Intercepts further origins, whose credentials are in the browser as they are: the gate decides on their requests,
    /// and nothing of their requests, replies and cookies is changed. An origin of a sealed credential is sealed.
    pub fn with_intercepted(credentials: Vec<SealedCredential>, intercepted: Vec<SealScope>) -> Arc<Seal> {
        let credentials = credentials.into_iter().map(|credential| Arc::new(CredentialView::new(credential)));
        Arc::new(Seal {
            view: RwLock::new(Arc::new(SealView::new(credentials.collect()))),
            intercepted,
            places: NotedPlaces::default(),
            started: StartedNavigations::default(),
            long_messages: Arc::new(Semaphore::new(LONG_MESSAGE_SOCKETS)),
            unswapped: AtomicU64::new(0),
            sequence: AtomicU64::new(1),
        })
    }

    /// Whether a text holds a placeholder, raw or encoded. Short ones are not looked for.
    pub fn contains_placeholder(&self, text: &str) -> bool {
        self.view().placeholders().finds_any(text.as_bytes())
    }

    /// Where whole secrets stand in a text that an agent supplies: whatever would be swapped in a reply.
    pub fn find_secrets(&self, text: &str) -> Vec<Range<usize>> {
        self.view().sealing().find(text.as_bytes())
    }

    /// Lets a WebSocket carry the longest messages as long as it lives; none while as many do as may.
    pub(crate) fn allow_long_messages(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.long_messages).try_acquire_owned().ok()
    }

    /// Announces a navigation that the agent started: over plain HTTP nothing else tells it from one of another site.
    pub fn announce_navigation(&self, url: &str) {
        self.started.announce(url);
    }

    /// Announces that the agent goes back or forward.
    pub fn announce_history(&self) {
        self.started.announce_again();
    }

    /// The secret that a placeholder stands for.
    pub fn resolve(&self, placeholder: &str) -> Option<Secret> {
        let view = self.view();
        let mut pairs = view.pairs();
        pairs.find(|(_, known)| known.as_str() == placeholder).map(|(secret, _)| secret.duplicate())
    }

    /// The secret that a cookie's placeholder stands for. Exact where short placeholders are alike.
    pub fn resolve_cookie(&self, name: &str, host: &str, placeholder: &str) -> Option<Secret> {
        let host = HostName::parse(host.strip_prefix('.').unwrap_or(host))?;
        let view = self.view();
        let mut known =
            view.credentials.iter().flat_map(|credential| &credential.cookies).map(|known| &known.cookie);
        let is_it = |cookie: &&SealedCookie| {
            cookie.name == name && cookie.placeholder.as_str() == placeholder && cookie.matches_host(&host)
        };
        known.find(is_it).map(|cookie| cookie.value.duplicate())
    }

    /// Where placeholders left as such.
    pub fn places(&self) -> Vec<PlaceholderPlace> {
        self.places.list()
    }

    /// Replies that could not be rewritten and were passed on as they came.
    pub fn unswapped(&self) -> u64 {
        self.unswapped.load(Ordering::Relaxed)
    }

    /// Lets a credential's values go to one more place.
    pub fn allow(&self, credential: &str, send_in: SendIn) {
        self.change(|credentials| {
            for known in credentials.iter_mut().filter(|known| *known.id == *credential) {
                let mut changed = known.changed();
                if !changed.send_in.contains(&send_in) {
                    changed.send_in.push(send_in.clone());
                }
                *known = Arc::new(changed);
            }
        });
    }

    /// Whether requests of an origin pass the gate: it is sealed, or intercepted for its effects.
    pub fn intercepts(&self, origin: &Origin) -> bool {
        WebOrigin::of(origin).is_some_and(|origin| self.covers(&origin))
    }

    pub(crate) fn covers(&self, origin: &WebOrigin) -> bool {
        self.view().has_in_scope(origin) || self.intercepted.iter().any(|scope| scope.contains(origin))
    }

    pub(crate) fn view(&self) -> Arc<SealView> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn started(&self) -> &StartedNavigations {
        &self.started
    }

    /// `address`: path and query of the request, in its first line.
    fn follow_redirect(&self, origin: &WebOrigin, address: &[u8], location: &str) {
        let path_and_query = address.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if let Ok(path_and_query) = std::str::from_utf8(path_and_query) {
            self.started.follow(origin, path_and_query, location);
        }
    }

    pub(crate) fn count_unswapped(&self) {
        self.unswapped.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes each credential that has a placeholder in `bytes`, as leaving at a place.
    pub(crate) fn note(
        &self,
        view: &SealView,
        bytes: &[u8],
        kind: PlaceKind,
        path: &str,
        field: Option<&str>,
    ) {
        for owner in view.owners_in(bytes) {
            self.places.note(&owner, kind, path, field);
        }
    }

    /// Keeps a cookie that a site set, and returns what the browser gets for its value.
    pub(crate) fn learn_cookie(&self, origin: &WebOrigin, cookie: SetCookieValue<'_>) -> Placeholder {
        let mut lock = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let SetCookieValue { name, value, host, host_only, http_only, same_site } = cookie;
        let is_same = |known: &SealedCookie| {
            known.name == name && known.host == host && known.value.expose_secret() == value
        };
        let known = lock.in_scope(origin).flat_map(|credential| &credential.cookies);
        if let Some(known) = known.map(|known| &known.cookie).find(|known| is_same(known)) {
            return known.placeholder.clone();
        }
        let secret = Secret::new(value.to_owned());
        let placeholder = lock
            .pairs()
            .find(|(known, _)| known.expose_secret() == value)
            .map_or_else(|| unused_placeholder(&lock, &secret), |(_, placeholder)| placeholder.clone());
        let mut credentials = lock.credentials.clone();
        let has_name =
            |known: &Arc<CredentialView>| known.cookies.iter().any(|known| known.cookie.name == name);
        let in_scope = |known: &&mut Arc<CredentialView>| known.scope.contains(origin);
        let named = credentials.iter().position(|known| known.scope.contains(origin) && has_name(known));
        let owner = match named {
            Some(index) => credentials.get_mut(index),
            None => credentials.iter_mut().find(in_scope),
        };
        if let Some(owner) = owner {
            let mut changed = owner.changed();
            let cookie = SealedCookie {
                name: name.to_owned(),
                host: host.clone(),
                host_only,
                value: secret,
                placeholder: placeholder.clone(),
                http_only,
                same_site,
            };
            let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
            changed.cookies.push(Arc::new(LearnedCookie { cookie, sequence }));
            forget_older(&mut changed, name, &host);
            *owner = Arc::new(changed);
            forget_oldest(&mut credentials);
            *lock = Arc::new(SealView::new(credentials));
        }
        placeholder
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<CredentialView>>)) {
        let mut lock = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let mut credentials = lock.credentials.clone();
        change(&mut credentials);
        *lock = Arc::new(SealView::new(credentials));
    }
}

/// A cookie as a `Set-Cookie` line sets it.
pub(crate) struct SetCookieValue<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
    pub(crate) host: String,
    pub(crate) host_only: bool,
    pub(crate) http_only: bool,
    pub(crate) same_site: redact::SameSite,
}

/// Short values have few placeholders: two of them must not be mistaken for each other.
fn unused_placeholder(view: &SealView, secret: &Secret) -> Placeholder {
    let mut placeholder = Placeholder::for_secret(secret);
    for _ in 0..MAX_ATTEMPTS {
        if view.pairs().all(|(_, known)| *known != placeholder) {
            break;
        }
        placeholder = Placeholder::for_secret(secret);
    }
    placeholder
}

/// Never one of the credential's own: a site may show it for as long as the session lasts.
fn forget_older(credential: &mut CredentialView, name: &str, host: &str) {
    let is_value =
        |known: &LearnedCookie| known.sequence > 0 && known.cookie.name == name && known.cookie.host == host;
    let values = credential.cookies.iter().filter(|known| is_value(known)).count();
    let mut excess = values.saturating_sub(MAX_VALUES_PER_COOKIE);
    credential.cookies.retain(|known| {
        let dropped = excess > 0 && is_value(known);
        excess -= usize::from(dropped);
        !dropped
    });
}

fn forget_oldest(credentials: &mut [Arc<CredentialView>]) {
    let all = credentials.iter().flat_map(|credential| &credential.cookies);
    let mut learned: Vec<(u64, usize)> = all
        .filter(|known| known.sequence > 0)
        .map(|known| (known.sequence, known.cookie.value.expose_secret().len()))
        .collect();
    learned.sort_unstable_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
    let mut bytes = 0;
    let fits = |(_, length): &&(u64, usize)| {
        bytes += length;
        bytes <= MAX_LEARNED_BYTES
    };
    // The newest is always kept.
    let kept = learned.iter().take(MAX_LEARNED_COOKIES).take_while(fits).count().max(1);
    let Some((oldest_kept, _)) = learned.get(kept - 1).filter(|_| kept < learned.len()) else { return };
    for credential in credentials {
        let is_old = |known: &Arc<LearnedCookie>| (1..*oldest_kept).contains(&known.sequence);
        if credential.cookies.iter().any(is_old) {
            let mut changed = credential.changed();
            changed.cookies.retain(|known| !is_old(known));
            *credential = Arc::new(changed);
        }
    }
}
