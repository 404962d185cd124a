//! The secrets of a signed-in session: the injected ones, the sealed ones, and those that its sites issued later.
//!
//! Sealed secrets are not in the browser. One that is found in a text of the session is noted, and the gate withholds the
//! reply. Text that the agent supplied itself never counts: a reply that differs for the right text confirms a guess.

use super::redeem::ReleasedCredentials;
use super::site_issued;
use browser::{MaskSecrets, ScreenshotMask, TextRedactor};
use policy::{Action, Key};
use redact::{JoinedFragments, MASK, Redacted, Redactor, SHORTEST_COMPARED, Secret};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard};

/// Limits on remembered site-issued values: their number and total bytes. The oldest are dropped first; sites have
/// usually replaced them by then. The redactor needs about a hundred bytes per byte of a secret.
const MAX_ISSUED: usize = 1_000;
const MAX_ISSUED_BYTES: usize = 64 * 1024;
const MAX_ISSUED_LENGTH: usize = 8 * 1024;
/// How much of what the agent supplied is remembered: its latest texts, which may make up a secret together.
const MAX_SUPPLIED_BYTES: usize = 64 * 1024;

/// The redactor of clean sessions.
static NO_SECRETS: LazyLock<Redactor> = LazyLock::new(Redactor::default);

/// The secrets of one session. A clean session has none.
#[derive(Default)]
pub struct SessionSecrets {
    known: Option<RwLock<KnownSecrets>>,
    /// A sealed secret was found since the last reply.
    found_sealed: AtomicBool,
    /// The page shows a sealed secret, as far as is known: it is not shown in pictures either.
    is_page_withheld: AtomicBool,
}

struct KnownSecrets {
    redactor: Redactor,
    mask: ScreenshotMask,
    injected: Vec<Secret>,
    /// Not in the browser.
    sealed: Vec<Secret>,
    issued: VecDeque<Secret>,
    /// The latest texts of the agent, one after the other.
    supplied: String,
    /// Secrets that the agent supplied itself. They are not looked for, and not learnt again.
    guessed: Vec<Secret>,
    /// Values that the operator declared as not secret.
    open: Vec<Secret>,
}

impl SessionSecrets {
    pub fn of(released: &ReleasedCredentials) -> SessionSecrets {
        let (mut injected, mut sealed, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for login in &released.logins {
            let credential = &login.credential;
            // The seed is sent nowhere, so the proxy does not know it: it is only masked.
            let (seed, own): (Vec<_>, Vec<_>) =
                credential.secrets().into_iter().partition(|(field, _)| field == "totp.seed");
            injected.extend(seed.into_iter().map(|(_, secret)| secret.duplicate()));
            let mut own: Vec<Secret> = own.into_iter().map(|(_, secret)| secret.duplicate()).collect();
            own.extend(credential.basic.iter().map(|basic| basic.pair()));
            if credential.is_sealed {
                // A value that is made of words may be on a page by chance. It is not in the browser, so it is not
                // looked for.
                sealed.extend(own.into_iter().filter(|secret| site_issued::is_token(secret.expose_secret())));
            } else {
                injected.extend(own);
            }
            open.extend(credential.open_values().into_iter().map(Secret::duplicate));
        }
        let secrets = SessionSecrets::new(injected, open);
        secrets.seal(sealed);
        secrets
    }

    fn new(injected: Vec<Secret>, open: Vec<Secret>) -> SessionSecrets {
        let known = Some(RwLock::new(KnownSecrets::new(injected, open)));
        SessionSecrets { known, ..SessionSecrets::default() }
    }

    #[cfg(test)]
    pub fn knowing(secrets: &[&str]) -> SessionSecrets {
        let injected: Vec<_> = secrets.iter().map(|text| Secret::new((*text).to_owned())).collect();
        SessionSecrets::new(injected, Vec::new())
    }

    /// Values that the browser does not hold: it has placeholders for them. They are masked as well, and a text that
    /// holds one means that something is wrong.
    pub fn seal(&self, values: impl IntoIterator<Item = Secret>) {
        let Some(known) = &self.known else { return };
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        for value in values {
            known.injected.retain(|injected| injected.expose_secret() != value.expose_secret());
            known.issued.retain(|issued| issued.expose_secret() != value.expose_secret());
            if !known.sealed.iter().any(|sealed| sealed.expose_secret() == value.expose_secret()) {
                known.sealed.push(value);
            }
        }
        known.build();
    }

    /// Notes what the agent supplies with an action. A sealed or issued secret that it supplies is no longer looked for:
    /// the reply would differ from that to any other text.
    pub fn note_supplied(&self, action: &Action) {
        let Some(known) = &self.known else { return };
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.sealed.is_empty() || !known.issued.is_empty() {
            known.note_supplied(&supplied_text(action));
        }
    }

    /// Whether a sealed secret was found since this was last asked.
    pub fn take_found_sealed(&self) -> bool {
        self.found_sealed.swap(false, Ordering::Relaxed)
    }

    /// Notes whether the open page shows a sealed secret: one was found, or a navigation led away from it.
    pub fn note_page(&self, has_navigated: bool) {
        if self.found_sealed.load(Ordering::Relaxed) {
            self.is_page_withheld.store(true, Ordering::Relaxed);
        } else if has_navigated {
            self.is_page_withheld.store(false, Ordering::Relaxed);
        }
    }

    /// Whether pictures of the open page are withheld.
    pub fn is_page_withheld(&self) -> bool {
        self.is_page_withheld.load(Ordering::Relaxed)
    }

    /// Whether the session has no secrets.
    pub fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// Redacts known secrets, and text that looks like a credential.
    pub fn redact(&self, text: &str) -> Redacted {
        self.redact_owned(text.to_owned())
    }

    /// The same for a text that is not needed any more; a clean session copies nothing.
    pub fn redact_owned(&self, text: String) -> Redacted {
        let Some(known) = self.known() else { return NO_SECRETS.redact_owned(text) };
        self.note_found(&known, &text);
        let redacted = known.redactor.redact_owned(text);
        let is_open = |range: &Range<usize>| {
            known.open.iter().any(|open| open.expose_secret() == &redacted.as_str()[range.clone()])
        };
        let ranges = policy::credential::find_all(redacted.as_str());
        let ranges: Vec<_> = ranges.into_iter().filter(|range| !is_open(range)).collect();
        if ranges.is_empty() { redacted } else { redacted.mask_ranges(ranges, MASK) }
    }

    /// The same for the driver.
    pub fn text_redactor(self: &Arc<Self>) -> TextRedactor {
        Arc::new(SessionTextRedactor(Arc::clone(self)))
    }

    fn note_found(&self, known: &KnownSecrets, text: &str) {
        if !known.sealed.is_empty() && known.redactor.find(text).iter().any(|found| found.is_sealed) {
            self.found_sealed.store(true, Ordering::Relaxed);
        }
    }

    /// Secrets that are split over the texts, and keys whose label is in the text before.
    fn redact_neighbours(&self, texts: &[&str]) -> Vec<(usize, String)> {
        let Some(known) = self.known() else { return Vec::new() };
        let joined = JoinedFragments::new(texts);
        let found = known.redactor.find(joined.text());
        if found.iter().any(|found| found.is_sealed) {
            self.found_sealed.store(true, Ordering::Relaxed);
        }
        let is_open = |range: &Range<usize>| {
            known.open.iter().any(|open| open.expose_secret() == &joined.text()[range.clone()])
        };
        let named = policy::credential::find_named(joined.text()).into_iter();
        let labelled = policy::credential::find_labelled(joined.text()).into_iter();
        let keys = named.chain(labelled).filter(|range| !is_open(range));
        let mut shares: Vec<(usize, Range<usize>)> = Vec::new();
        for range in found.into_iter().map(|found| found.range).chain(keys) {
            joined.split(range, |text, range| shares.push((text, range)));
        }
        shares.sort_unstable_by_key(|(text, range)| (*text, range.start, range.end));
        let mut masked: Vec<(usize, String)> = Vec::new();
        for shares in shares.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((place, text)) =
                shares.first().and_then(|(place, _)| Some((*place, texts.get(*place)?)))
            else {
                continue;
            };
            let (mut out, mut from) = (String::with_capacity(text.len()), 0);
            for (_, range) in shares {
                if range.start >= from {
                    out.push_str(&text[from..range.start]);
                    out.push_str(MASK);
                }
                from = from.max(range.end);
            }
            out.push_str(&text[from..]);
            masked.push((place, out));
        }
        masked
    }

    /// Adds values that a site issued. Returns whether any of them was new.
    pub fn add_issued(&self, values: impl IntoIterator<Item = Secret>) -> bool {
        let Some(known) = &self.known else { return false };
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
        self.known.as_ref().map(|known| known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownSecrets {
    fn new(injected: Vec<Secret>, open: Vec<Secret>) -> KnownSecrets {
        let (redactor, mask) = (Redactor::default(), ScreenshotMask::only_secrets());
        let mut known = KnownSecrets {
            redactor,
            mask,
            injected,
            sealed: Vec::new(),
            issued: VecDeque::new(),
            supplied: String::new(),
            guessed: Vec::new(),
            open,
        };
        known.build();
        known
    }

    fn build(&mut self) {
        self.redactor = Redactor::new(self.injected.iter().chain(&self.issued));
        self.redactor.learn_sealed(&self.sealed);
        self.rebuild_mask();
    }

    fn note_supplied(&mut self, text: &str) {
        self.supplied.push_str(text);
        let mut cut = self.supplied.len().saturating_sub(MAX_SUPPLIED_BYTES);
        while !self.supplied.is_char_boundary(cut) {
            cut += 1;
        }
        self.supplied.drain(..cut);
        if !self.redactor.finds_any(&self.supplied) {
            return;
        }
        let is_guessed = |secret: &Secret| Redactor::new([secret]).finds_any(&self.supplied);
        let (guessed, sealed): (Vec<_>, Vec<_>) = self.sealed.drain(..).partition(&is_guessed);
        let (issued_guessed, issued): (VecDeque<_>, VecDeque<_>) =
            self.issued.drain(..).partition(&is_guessed);
        (self.sealed, self.issued) = (sealed, issued);
        if !guessed.is_empty() || !issued_guessed.is_empty() {
            self.guessed.extend(guessed.into_iter().chain(issued_guessed));
            self.guessed.drain(..self.guessed.len().saturating_sub(MAX_ISSUED));
            self.build();
        }
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
        let all = self.injected.iter().chain(&self.issued).chain(&self.sealed);
        self.mask = ScreenshotMask::only_secrets().with_secrets(all);
    }

    fn is_new(&self, value: &str) -> bool {
        let fits = (SHORTEST_COMPARED..=MAX_ISSUED_LENGTH).contains(&value.len());
        let own = self.injected.iter().chain(&self.issued).chain(&self.sealed);
        let mut known = own.chain(&self.open).chain(&self.guessed);
        fits && !known.any(|secret| secret.expose_secret() == value)
    }
}

/// Masks texts of pages for the driver.
struct SessionTextRedactor(Arc<SessionSecrets>);

impl MaskSecrets for SessionTextRedactor {
    fn mask(&self, text: &str) -> Option<String> {
        let redacted = self.0.redact(text);
        (redacted.as_str() != text).then(|| redacted.into_string())
    }

    fn mask_neighbours(&self, texts: &[&str]) -> Vec<(usize, String)> {
        self.0.redact_neighbours(texts)
    }
}

/// Every text that an agent gives with an action. Single keys are one text together.
fn supplied_text(action: &Action) -> String {
    match action {
        Action::Type(typing) => typing.text.clone(),
        Action::Dialog(answer) => answer.text.clone().unwrap_or_default(),
        Action::Press(press) => match press.chord.key {
            Key::Character(character) => String::from(character),
            Key::Named(_) => String::new(),
        },
        // Targets, addresses, patterns, options.
        other => format!("{other:?}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Find, Pattern, Target, TypeText};

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

    fn typing(text: &str) -> Action {
        let (target, text) = (Target::Focused, text.to_owned());
        Action::Type(TypeText { target, text, clear_first: false, submit: false })
    }

    const SEALED: &str = "s:Kq7vXw2mZt9pLb4n.Yc6Rd8";

    fn sealed() -> SessionSecrets {
        let secrets = SessionSecrets::knowing(&["injected-7f3a9c", SEALED]);
        secrets.seal([secret(SEALED.into())]);
        secrets
    }

    #[test]
    fn a_sealed_secret_that_is_found_is_masked_and_noted_once() {
        let secrets = sealed();
        assert_eq!(secrets.redact("a injected-7f3a9c b"), "a [redacted] b");
        assert!(!secrets.take_found_sealed());
        assert_eq!(secrets.redact(&format!("a {SEALED} b")), "a [redacted] b");
        assert!(secrets.take_found_sealed() && !secrets.take_found_sealed());
        let halves = [&SEALED[..9], "", &SEALED[9..]];
        let masked = secrets.redact_neighbours(&halves);
        assert!(masked.len() == 2 && masked.iter().all(|(_, text)| text.contains(MASK)), "{masked:?}");
        assert!(secrets.take_found_sealed());
        // A part is any other text.
        assert_eq!(secrets.redact(&SEALED[..20]), SEALED[..20]);
        assert!(secrets.redact_neighbours(&halves[..2]).is_empty() && !secrets.take_found_sealed());
    }

    #[test]
    fn what_the_agent_supplied_comes_back_the_same_whether_it_is_right_or_wrong() {
        let wrong = "s:Jq7vXw2mZt9pLb4n.Yc6Rd8";
        let supplies: [fn(&str) -> Vec<Action>; 3] = [
            |text| vec![typing(text)],
            |text| vec![typing(&text[..9]), typing(&text[9..])],
            |text| {
                vec![Action::Find(Find { pattern: Some(Pattern::Text(text.to_owned())), ..Find::default() })]
            },
        ];
        for supply in supplies {
            let replies = [SEALED, wrong].map(|text| {
                let secrets = sealed();
                supply(text).iter().for_each(|action| secrets.note_supplied(action));
                // The browser still holds a placeholder of it.
                secrets.add_issued([secret(SEALED.into())]);
                let shown = secrets.redact(&format!("you wrote {text}")).into_string();
                let parts = secrets.redact_neighbours(&[&text[..9], &text[9..]]);
                (shown.replace(text, "it"), parts.len(), secrets.take_found_sealed())
            });
            assert_eq!(replies[0], replies[1]);
        }
    }

    #[test]
    fn a_key_is_redacted_where_the_text_beside_it_says_what_it_is() {
        let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
        let key = "a81bc81b-dead-4e5d-abff-90865d1e13b1";
        assert_eq!(secrets.redact_neighbours(&["Feed token", key, "Orders"]), [(1, MASK.to_owned())]);
        assert!(secrets.redact_neighbours(&["Order", key]).is_empty());
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
