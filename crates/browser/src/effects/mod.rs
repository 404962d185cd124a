//! Effects of granted sites whose traffic the egress proxy does not read.
//!
//! Chromium pauses their requests by CDP's `Fetch`, enabled on the browser itself: it then covers every tab, frame and
//! worker, also those that begin later, and outlives each of them. A request that the gate is concerned with is continued
//! only with an [`audit::PermittedEffect`] for exactly its bytes.
//!
//! What Chromium reports is Chromium's own word: a compromised one can evade this. The proxy cannot be evaded.

mod awaited_answers;
mod interceptor;
mod paused_request;
mod site;

pub(crate) use interceptor::{EffectInterceptor, EffectTask};
pub use site::DecidedSite;

use audit::EffectGate;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Which requests are decided on in the browser, and by whom.
pub struct EffectInterception {
    pub gate: Arc<dyn EffectGate>,
    pub sites: Vec<DecidedSite>,
    pub limits: EffectLimits,
}

/// Bounds of the requests that are held.
#[derive(Clone, Copy, Debug)]
pub struct EffectLimits {
    /// Bytes of one body.
    pub max_body_bytes: usize,
    pub max_held: usize,
    pub max_held_bytes: usize,
    /// How long a request waits until there is room for it to be held; then it is refused.
    pub room_timeout: Duration,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
