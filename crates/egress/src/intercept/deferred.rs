//! Navigations that wait for a person. The tab keeps its page meanwhile: Chromium lets nobody read a page that is being
//! left, and the person and the agent have to see it.
//!
//! The proxy keeps the request and answers 204. Once it is released, the next navigation to its address stands in for it:
//! what leaves is the kept request, with the cookies that the browser has by then.

use super::held::HeldBody;
use crate::NavigationTicket;
use audit::PermittedEffect;
use hyper::header::{COOKIE, HeaderMap};
use hyper::{Method, header};
use policy::EffectRequest;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Navigations that one session keeps. The oldest makes room: its answer has come too late.
const MAX_KEPT: usize = 16;
/// How long a released navigation waits for the tab to go there.
const REPLAY_WAIT: Duration = Duration::from_secs(20);

/// The navigations that one session keeps.
#[derive(Default)]
pub(crate) struct DeferredNavigations(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    waiting: HashMap<NavigationTicket, KeptNavigation>,
    released: Vec<ReleasedNavigation>,
}

/// A request that the proxy keeps, as the browser sent it.
pub(super) struct KeptNavigation {
    pub(super) request: EffectRequest,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: HeldBody,
}

/// A kept request that may leave.
pub(super) struct ReleasedNavigation {
    pub(super) kept: KeptNavigation,
    pub(super) permit: PermittedEffect,
    until: Instant,
}

impl std::fmt::Debug for DeferredNavigations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.lock();
        f.debug_struct("DeferredNavigations")
            .field("waiting", &kept.waiting.len())
            .field("released", &kept.released.len())
            .finish()
    }
}

impl DeferredNavigations {
    pub(super) fn keep(&self, ticket: NavigationTicket, navigation: KeptNavigation) {
        let mut kept = self.lock();
        if kept.waiting.len() >= MAX_KEPT
            && let Some(oldest) = kept.waiting.keys().min().copied()
        {
            kept.waiting.remove(&oldest);
        }
        kept.waiting.insert(ticket, navigation);
    }

    /// Lets a kept navigation leave; a permit for other bytes changes nothing.
    pub(crate) fn release(&self, ticket: NavigationTicket, permit: PermittedEffect) {
        let mut kept = self.lock();
        let Some(navigation) = kept.waiting.remove(&ticket) else { return };
        if !permit.covers(&navigation.request) {
            tracing::error!("a permit for another request was refused");
            return;
        }
        let until = Instant::now() + REPLAY_WAIT;
        kept.released.push(ReleasedNavigation { kept: navigation, permit, until });
    }

    pub(crate) fn discard(&self, ticket: NavigationTicket) {
        self.lock().waiting.remove(&ticket);
    }

    /// Takes the released navigation to an address. It leaves once.
    pub(super) fn take_released(&self, url: &str) -> Option<ReleasedNavigation> {
        let mut kept = self.lock();
        let now = Instant::now();
        kept.released.retain(|released| released.until > now);
        let at = kept.released.iter().position(|released| released.kept.request.url == url)?;
        Some(kept.released.remove(at))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // The lists stay consistent across a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptNavigation {
    /// The headers that leave: those of the kept request, with the cookies of now.
    pub(super) fn headers_with_cookies_of(&self, now: &HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.remove(COOKIE);
        for cookie in now.get_all(COOKIE) {
            headers.append(COOKIE, cookie.clone());
        }
        // The body is known as a whole.
        headers.remove(header::TRANSFER_ENCODING);
        headers
    }
}
