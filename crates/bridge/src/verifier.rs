//! The token verifier that requests and renewals share.

use bridge::token::{Claims, Refusal, Verifier};
use std::sync::{Mutex, PoisonError};

/// Verifies tokens, for requests and for renewals.
pub struct SharedVerifier(Mutex<Verifier>);

impl SharedVerifier {
    pub fn new(verifier: Verifier) -> SharedVerifier {
        SharedVerifier(Mutex::new(verifier))
    }

    pub fn accept(&self, token: &[u8]) -> Result<Claims, Refusal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).accept(token)
    }
}
