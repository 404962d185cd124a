//! The secrets of a signed-in session: the injected ones, and those that its sites issued later.

use super::redeem::ReleasedCredentials;
use browser::{ScreenshotMask, TextRedactor};
use redact::{MASK, Redacted, Redactor, SHORTEST_SECRET, Secret};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard};

/// Limits on remembered site-issued values: their number and total bytes. The oldest are dropped first; sites have
/// usually replaced them by then. The redactor needs about a hundred bytes per byte of a secret.
const MAX_ISSUED: usize = 1_000;
const MAX_ISSUED_BYTES: usize = 64 * 1024;
const MAX_ISSUED_LENGTH: usize = 8 * 1024;

/// The redactor of clean sessions.
static NO_SECRETS: LazyLock<Redactor> = LazyLock::new(Redactor::default);

/// The secrets of one session. A clean session has none.
#[derive(Default)]
pub struct SessionSecrets(Option<RwLock<KnownSecrets>>);

struct KnownSecrets {
    redactor: Redactor,
    mask: ScreenshotMask,
    injected: Vec<Secret>,
    issued: VecDeque<Secret>,
    /// Values that the operator declared as not secret.
    open: Vec<Secret>,
}

impl SessionSecrets {
    pub fn of(released: &ReleasedCredentials) -> SessionSecrets {
        let (mut injected, mut open) = (Vec::new(), Vec::new());
        for login in &released.logins {
            let credential = &login.credential;
            injected.extend(credential.secrets().into_iter().map(|(_, secret)| secret.duplicate()));
            if let Some(basic) = &credential.basic {
                injected.push(basic.pair());
            }
            open.extend(credential.open_values().into_iter().map(Secret::duplicate));
        }
        SessionSecrets(Some(RwLock::new(KnownSecrets::new(injected, open))))
    }

    #[cfg(test)]
    pub fn knowing(secrets: &[&str]) -> SessionSecrets {
        let injected: Vec<_> = secrets.iter().map(|text| Secret::new((*text).to_owned())).collect();
        SessionSecrets(Some(RwLock::new(KnownSecrets::new(injected, Vec::new()))))
    }

    /// Whether the session has no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Redacts known secrets, and text that looks like a credential.
    pub fn redact(&self, text: &str) -> Redacted {
        self.redact_owned(text.to_owned())
    }

    /// The same for a text that is not needed any more; a clean session copies nothing.
    pub fn redact_owned(&self, text: String) -> Redacted {
        let Some(known) = self.known() else { return NO_SECRETS.redact_owned(text) };
        let redacted = known.redactor.redact_owned(text);
        let is_open = |range: &Range<usize>| {
            known.open.iter().any(|open| open.expose_secret() == &redacted.as_str()[range.clone()])
        };
        let ranges = policy::credential::find_all(redacted.as_str());
        let ranges: Vec<_> = ranges.into_iter().filter(|range| !is_open(range)).collect();
        if ranges.is_empty() { redacted } else { redacted.mask_ranges(ranges, MASK) }
    }

    /// The same as a callback for the driver.
    pub fn text_redactor(self: &Arc<Self>) -> TextRedactor {
        let secrets = Arc::clone(self);
        Arc::new(move |text| {
            let redacted = secrets.redact(text);
            (redacted.as_str() != text).then(|| redacted.into_string())
        })
    }

    /// Adds values that a site issued. Returns whether any of them was new.
    pub fn add_issued(&self, values: impl IntoIterator<Item = Secret>) -> bool {
        let Some(known) = &self.0 else { return false };
        let fresh: Vec<Secret> = {
            let known = known.read().unwrap_or_else(PoisonError::into_inner);
            values.into_iter().filter(|value| known.is_new(value.expose_secret())).collect()
        };
        if fresh.is_empty() {
            return false;
        }
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        known.add(fresh);
        true
    }

    /// The mask for screenshots that an agent gets: secret fields, and every place where a secret is drawn.
    pub fn screenshot_mask(&self) -> ScreenshotMask {
        match self.known() {
            None => ScreenshotMask::only_secrets(),
            Some(known) => known.mask.clone(),
        }
    }

    fn known(&self) -> Option<RwLockReadGuard<'_, KnownSecrets>> {
        // The lists stay consistent across a panic.
        self.0.as_ref().map(|known| known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownSecrets {
    fn new(injected: Vec<Secret>, open: Vec<Secret>) -> KnownSecrets {
        let (redactor, mask) = (Redactor::default(), ScreenshotMask::only_secrets());
        let mut known = KnownSecrets { redactor, mask, injected, issued: VecDeque::new(), open };
        known.build();
        known
    }

    fn build(&mut self) {
        self.redactor = Redactor::new(self.injected.iter().chain(&self.issued));
        self.rebuild_mask();
    }

    fn add(&mut self, fresh: Vec<Secret>) {
        self.redactor.learn(&fresh);
        self.issued.extend(fresh);
        let mut bytes: usize = self.issued.iter().map(|one| one.expose_secret().len()).sum();
        let mut dropped = false;
        while self.issued.len() > MAX_ISSUED || bytes > MAX_ISSUED_BYTES {
            bytes -= self.issued.pop_front().map_or(bytes, |one| one.expose_secret().len());
            dropped = true;
        }
        if dropped { self.build() } else { self.rebuild_mask() }
    }

    fn rebuild_mask(&mut self) {
        let all = self.injected.iter().chain(&self.issued).map(Secret::expose_secret);
        self.mask = ScreenshotMask::only_secrets().with_secrets(all);
    }

    fn is_new(&self, value: &str) -> bool {
        let fits = (SHORTEST_SECRET..=MAX_ISSUED_LENGTH).contains(&value.len());
        let mut known = self.injected.iter().chain(&self.issued).chain(&self.open);
        fits && !known.any(|secret| secret.expose_secret() == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: String) -> Secret {
        Secret::new(text)
    }

    #[test]
    fn issued_secrets_are_redacted_and_the_oldest_dropped_first() {
        let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
        assert!(secrets.add_issued([secret("handed-out-51be20".into())]));
        assert!(!secrets.add_issued([secret("handed-out-51be20".into()), secret("tiny".into())]));
        assert_eq!(secrets.redact("a injected-7f3a9c b handed-out-51be20 c"), "a [redacted] b [redacted] c");
        let many = (0..10).map(|n| secret(format!("{n}-{}", "q7".repeat(MAX_ISSUED_LENGTH / 2 - 4))));
        assert!(secrets.add_issued(many));
        assert_eq!(secrets.redact("injected-7f3a9c handed-out-51be20"), "[redacted] handed-out-51be20");
        let known = secrets.known().unwrap();
        assert!(known.issued.iter().map(|one| one.expose_secret().len()).sum::<usize>() <= MAX_ISSUED_BYTES);
    }

    #[test]
    fn a_clean_session_redacts_nothing() {
        assert_eq!(SessionSecrets::default().redact("token=q8w7e6r5t4y3u2i1o0"), "token=q8w7e6r5t4y3u2i1o0");
        assert!(!SessionSecrets::default().add_issued([secret("handed-out-51be20".into())]));
    }

    #[test]
    fn text_that_looks_like_a_credential_is_redacted() {
        let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
        assert_eq!(secrets.redact("api_key = q8W7e6R5t4Y3u2I1o0Pa"), "api_key = [redacted]");
    }
}
