//! Navigations that wait for a person. The tab keeps its page meanwhile: Chromium lets nobody read a page that is being
//! left, and the person and the agent have to see it.
//!
//! Whoever holds the request keeps it and answers 204. Once it is released, the next navigation to its address stands in
//! for it, and what leaves is the kept request.

use crate::effect::PermittedEffect;
use crate::effect_gate::NavigationTicket;
use policy::EffectRequest;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Navigations that one session keeps. The oldest makes room: its answer has come too late.
const MAX_KEPT: usize = 16;
/// How long a released navigation waits for the tab to go there.
const REPLAY_WAIT: Duration = Duration::from_secs(20);

/// A request that is kept, with whatever its keeper needs to send it.
pub trait KeptNavigation {
    fn request(&self) -> &EffectRequest;
}

/// The navigations that one holder of requests keeps for a session.
pub struct DeferredNavigations<K>(Mutex<Kept<K>>);

struct Kept<K> {
    waiting: HashMap<NavigationTicket, K>,
    released: Vec<(ReleasedNavigation<K>, Instant)>,
}

/// A kept request that may leave: the permit is for exactly its bytes.
pub struct ReleasedNavigation<K> {
    pub kept: K,
    pub permit: PermittedEffect,
}

impl<K> Default for DeferredNavigations<K> {
    fn default() -> DeferredNavigations<K> {
        DeferredNavigations(Mutex::new(Kept { waiting: HashMap::new(), released: Vec::new() }))
    }
}

impl<K> fmt::Debug for DeferredNavigations<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lock();
        f.debug_struct("DeferredNavigations")
            .field("waiting", &kept.waiting.len())
            .field("released", &kept.released.len())
            .finish()
    }
}

impl<K: KeptNavigation> DeferredNavigations<K> {
    pub fn keep(&self, ticket: NavigationTicket, navigation: K) {
        let mut kept = self.lock();
        if kept.waiting.len() >= MAX_KEPT
            && let Some(oldest) = kept.waiting.keys().min().copied()
        {
            kept.waiting.remove(&oldest);
        }
        kept.waiting.insert(ticket, navigation);
    }

    /// Lets a kept navigation leave; a permit for other bytes changes nothing. The permit comes back if the navigation is
    /// not kept here.
    #[must_use = "another holder may keep the navigation"]
    pub fn release(&self, ticket: NavigationTicket, permit: PermittedEffect) -> Option<PermittedEffect> {
        let mut kept = self.lock();
        let Some(navigation) = kept.waiting.remove(&ticket) else { return Some(permit) };
        if permit.covers(navigation.request()) {
            let until = Instant::now() + REPLAY_WAIT;
            kept.released.push((ReleasedNavigation { kept: navigation, permit }, until));
        } else {
            tracing::error!("a permit for another request was refused");
        }
        None
    }

    pub fn discard(&self, ticket: NavigationTicket) {
        self.lock().waiting.remove(&ticket);
    }

    /// Takes the released navigation to an address. It leaves once.
    pub fn take_released(&self, url: &str) -> Option<ReleasedNavigation<K>> {
        let mut kept = self.lock();
        let now = Instant::now();
        kept.released.retain(|(_, until)| *until > now);
        let at = kept.released.iter().position(|(released, _)| released.kept.request().url == url)?;
        Some(kept.released.remove(at).0)
    }
}

impl<K> DeferredNavigations<K> {
    fn lock(&self) -> MutexGuard<'_, Kept<K>> {
        // The lists stay consistent across a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
