//! What must not leave a signed-in session: what was put into it, and what its sites handed out since.

use super::redeem::Released;
use browser::{ScreenshotMask, TextRedactor};
use redact::{MASK, Redactor, SHORTEST_SECRET, Secret};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// Values that a site handed out and that are remembered, and their bytes together; beyond it the oldest are forgotten,
/// which by then have long been replaced by others. To look for a byte of a secret takes a hundred.
const MOST_LEARNED: usize = 1_000;
const MOST_LEARNED_BYTES: usize = 64 * 1024;
const LARGEST_LEARNED: usize = 8 * 1024;

/// The secrets of one session; none, if it is clean.
#[derive(Default)]
pub struct Secrets(Option<RwLock<Known>>);

struct Known {
    redactor: Redactor,
    cover: ScreenshotMask,
    injected: Vec<Secret>,
    learned: VecDeque<Secret>,
    /// Values that give nothing away, by the operator's word.
    open: Vec<Secret>,
}

impl Secrets {
    pub fn of(released: &Released) -> Secrets {
        let (mut injected, mut open) = (Vec::new(), Vec::new());
        for login in &released.logins {
            let credential = &login.credential;
            injected.extend(credential.secrets().into_iter().map(|(_, secret)| secret.duplicate()));
            if let Some(basic) = &credential.basic {
                injected.push(basic.pair());
            }
            open.extend(credential.open_values().into_iter().map(Secret::duplicate));
        }
        Secrets(Some(RwLock::new(Known::new(injected, open))))
    }

    #[cfg(test)]
    pub fn knowing(secrets: &[&str]) -> Secrets {
        let injected: Vec<_> = secrets.iter().map(|text| Secret::new((*text).to_owned())).collect();
        Secrets(Some(RwLock::new(Known::new(injected, Vec::new()))))
    }

    /// Whether there is anything to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The text without secrets, and without what looks like one though nobody knew it.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = self.known() else { return Cow::Borrowed(text) };
        let known_gone = known.redactor.mask(text);
        let places = policy::credential::find_all(&known_gone);
        if places.is_empty() {
            return known_gone;
        }
        let mut out = String::with_capacity(known_gone.len());
        let mut from = 0;
        for place in places {
            out.push_str(&known_gone[from..place.start]);
            let is_open = known.open.iter().any(|open| open.expose_secret() == &known_gone[place.clone()]);
            out.push_str(if is_open { &known_gone[place.clone()] } else { MASK });
            from = place.end;
        }
        out.push_str(&known_gone[from..]);
        Cow::Owned(out)
    }

    /// The same, for the driver, which looks for words in pages.
    pub fn mask(self: &Arc<Self>) -> TextRedactor {
        let secrets = Arc::clone(self);
        Arc::new(move |text| match secrets.text(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked),
        })
    }

    /// Adds what a site handed out; whether there was anything new.
    pub fn learn(&self, values: impl IntoIterator<Item = Secret>) -> bool {
        let Some(known) = &self.0 else { return false };
        let fresh: Vec<Secret> = {
            let known = known.read().unwrap_or_else(PoisonError::into_inner);
            values.into_iter().filter(|value| known.is_news(value.expose_secret())).collect()
        };
        if fresh.is_empty() {
            return false;
        }
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        known.add(fresh);
        true
    }

    /// What no picture may show that an agent gets: secret fields, and these words wherever they are drawn.
    pub fn cover(&self) -> ScreenshotMask {
        match self.known() {
            None => ScreenshotMask::only_secrets(),
            Some(known) => known.cover.clone(),
        }
    }

    fn known(&self) -> Option<RwLockReadGuard<'_, Known>> {
        // Lists of secrets are whole after any panic.
        self.0.as_ref().map(|known| known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    fn new(injected: Vec<Secret>, open: Vec<Secret>) -> Known {
        let (redactor, cover) = (Redactor::default(), ScreenshotMask::only_secrets());
        let mut known = Known { redactor, cover, injected, learned: VecDeque::new(), open };
        known.build();
        known
    }

    fn build(&mut self) {
        self.redactor = Redactor::new(self.injected.iter().chain(&self.learned));
        self.cover_all();
    }

    fn add(&mut self, fresh: Vec<Secret>) {
        self.redactor.learn(&fresh);
        self.learned.extend(fresh);
        let mut bytes: usize = self.learned.iter().map(|one| one.expose_secret().len()).sum();
        let mut forgets = false;
        while self.learned.len() > MOST_LEARNED || bytes > MOST_LEARNED_BYTES {
            bytes -= self.learned.pop_front().map_or(bytes, |one| one.expose_secret().len());
            forgets = true;
        }
        if forgets { self.build() } else { self.cover_all() }
    }

    fn cover_all(&mut self) {
        let all = self.injected.iter().chain(&self.learned).map(Secret::expose_secret);
        self.cover = ScreenshotMask::only_secrets().with_secrets(all);
    }

    fn is_news(&self, value: &str) -> bool {
        let fits = (SHORTEST_SECRET..=LARGEST_LEARNED).contains(&value.len());
        let mut known = self.injected.iter().chain(&self.learned).chain(&self.open);
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
    fn what_is_learned_is_told_no_more_and_the_oldest_is_forgotten_first() {
        let secrets = Secrets::knowing(&["injected-7f3a9c"]);
        assert!(secrets.learn([secret("handed-out-51be20".into())]));
        assert!(!secrets.learn([secret("handed-out-51be20".into()), secret("tiny".into())]));
        assert_eq!(secrets.text("a injected-7f3a9c b handed-out-51be20 c"), "a [redacted] b [redacted] c");
        let many = (0..10).map(|n| secret(format!("{n}-{}", "q7".repeat(LARGEST_LEARNED / 2 - 4))));
        assert!(secrets.learn(many));
        assert_eq!(secrets.text("injected-7f3a9c handed-out-51be20"), "[redacted] handed-out-51be20");
        let known = secrets.known().unwrap();
        assert!(
            known.learned.iter().map(|one| one.expose_secret().len()).sum::<usize>() <= MOST_LEARNED_BYTES
        );
    }

    #[test]
    fn a_clean_session_tells_everything() {
        assert_eq!(Secrets::default().text("token=q8w7e6r5t4y3u2i1o0"), "token=q8w7e6r5t4y3u2i1o0");
        assert!(!Secrets::default().learn([secret("handed-out-51be20".into())]));
    }

    #[test]
    fn what_looks_like_a_credential_goes_unless_the_operator_said_it_is_none() {
        let secrets = Secrets::knowing(&["injected-7f3a9c"]);
        assert_eq!(secrets.text("api_key = q8W7e6R5t4Y3u2I1o0Pa"), "api_key = [redacted]");
    }
}
