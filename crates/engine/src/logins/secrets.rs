//! The secrets of a signed-in session: the injected ones, the sealed ones, and those that its sites issued later.
//!
//! Sealed secrets are not in the browser. One that is found in a text of the session is noted, and the gate withholds
//! every reply about that document. One that the agent supplies does not get there: see `guesses`.

use super::guesses::{Guesses, shapes};
use super::redeem::ReleasedCredentials;
use browser::{MaskSecrets, ScreenshotMask, TextRedactor};
use egress::Seal;
use policy::{Action, Document, Key};
use redact::{JoinedFragments, MASK, Redacted, Redactor, SHORTEST_COMPARED, Secret};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// Limits on remembered site-issued values: their number and total bytes. The oldest are dropped first; sites have
/// usually replaced them by then. The redactor needs about a hundred bytes per byte of a secret.
const MAX_ISSUED: usize = 1_000;
const MAX_ISSUED_BYTES: usize = 64 * 1024;
const MAX_ISSUED_LENGTH: usize = 8 * 1024;
/// How much of what the agent supplied is remembered: its latest texts, which may make up a secret together.
const MAX_SUPPLIED_BYTES: usize = 64 * 1024;

/// Documents whose replies are withheld; the oldest makes room.
const MAX_WITHHELD: usize = 256;
/// Bytes of a text whose words are looked at as pieces.
const MAX_WORDS_BYTES: usize = 64 * 1024;
/// A shorter value of a sealed credential is on a page by chance.
const SHORTEST_SEALED: usize = 8;

/// The redactor of clean sessions.
static NO_SECRETS: LazyLock<Redactor> = LazyLock::new(Redactor::default);

/// The secrets of one session. A clean session has none.
#[derive(Default)]
pub struct SessionSecrets {
    known: Option<RwLock<KnownSecrets>>,
    /// A sealed secret was found since the last reply.
    found_sealed: AtomicBool,
    /// The open page is one of those below.
    is_page_withheld: AtomicBool,
    /// Documents in which a sealed secret was found. Nothing of them is shown: the page may take the value apart.
    withheld: Mutex<VecDeque<Document>>,
    /// What the proxy replaces.
    seal: Option<Arc<Seal>>,
    /// The cookie values that were last kept for each login, after its site changed them.
    rotated: Mutex<BTreeMap<usize, Vec<Secret>>>,
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
    /// Issued secrets that the agent supplied itself. They are not looked for, and not learnt again.
    guessed: Vec<Secret>,
    guesses: Guesses,
    /// The shapes of the sealed ones.
    shapes: Vec<Vec<char>>,
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
                // A phrase, or a short value, may be on a page by chance. It is not in the browser, so it is not looked for.
                sealed.extend(own.into_iter().filter(|secret| is_looked_for(secret.expose_secret())));
            } else {
                injected.extend(own);
            }
            open.extend(credential.open_values().into_iter().map(Secret::duplicate));
        }
        let mut secrets = SessionSecrets::new(injected, open);
        secrets.seal = Some(Arc::clone(&released.sealed.seal));
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
        let is_known = |known: &KnownSecrets, value: &Secret| {
            known.sealed.iter().any(|sealed| sealed.expose_secret() == value.expose_secret())
        };
        let fresh: Vec<Secret> = values.into_iter().filter(|value| !is_known(&known, value)).collect();
        if fresh.is_empty() {
            return;
        }
        for value in fresh {
            known.injected.retain(|injected| injected.expose_secret() != value.expose_secret());
            known.issued.retain(|issued| issued.expose_secret() != value.expose_secret());
            known.sealed.push(value);
        }
        // Injected ones stay; of those that sites set since, the latest.
        let excess = known.sealed.len().saturating_sub(MAX_ISSUED);
        known.sealed.drain(..excess);
        known.shapes = shapes(&known.sealed);
        known.build();
    }

    /// Replaces whole sealed secrets in what the agent supplies with an action: what it sends and what it looks for.
    pub fn replace_guesses(&self, action: &mut Action) {
        let Some(known) = &self.known else { return };
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        let KnownSecrets { redactor, guesses, shapes, sealed, .. } = &mut *known;
        if sealed.is_empty() && self.seal.is_none() {
            return;
        }
        let find = |text: &str| {
            let sealed = redactor.find(text).into_iter().filter(|found| found.is_sealed);
            let mut ranges: Vec<Range<usize>> = sealed.map(|found| found.range).collect();
            // What is too short for the redactor, the proxy replaces.
            ranges.extend(self.seal.iter().flat_map(|seal| seal.find_secrets(text)));
            joined(ranges)
        };
        let mut has_new_shapes = false;
        action.replace_texts(&mut |how, text| {
            let new = guesses.replace(how, text, &find);
            has_new_shapes |= guesses.note_shapes(how, new.as_deref().unwrap_or(text), shapes);
            new
        });
        if has_new_shapes {
            known.rebuild_mask();
        }
    }

    /// Redacts a reply to the agent, and shows what it supplied where a decoy stands for that.
    pub fn redact_reply(&self, text: String) -> Redacted {
        self.restore_supplied(self.redact_owned(text))
    }

    /// Shows what the agent supplied where a decoy stands for that.
    pub fn restore_supplied(&self, text: Redacted) -> Redacted {
        match self.known() {
            Some(known) => known.guesses.restore(text),
            None => text,
        }
    }

    /// Notes what the agent supplies with an action. An issued secret that it supplies is no longer looked for: the reply
    /// would differ from that to any other text.
    pub fn note_supplied(&self, action: &Action) {
        let Some(known) = &self.known else { return };
        let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.issued.is_empty() {
            known.note_supplied(&supplied_text(action));
        }
    }

    /// Whether a sealed secret was found since this was last asked.
    pub fn take_found_sealed(&self) -> bool {
        self.found_sealed.swap(false, Ordering::Relaxed)
    }

    /// Notes which document is open, and whether a sealed secret was found in it.
    pub fn note_page(&self, document: Document) {
        let mut withheld = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        if self.found_sealed.load(Ordering::Relaxed) && !withheld.contains(&document) {
            withheld.push_back(document);
            if withheld.len() > MAX_WITHHELD {
                withheld.pop_front();
            }
        }
        self.is_page_withheld.store(withheld.contains(&document), Ordering::Relaxed);
    }

    /// Whether replies about the open page, and pictures of it, are withheld.
    pub fn is_page_withheld(&self) -> bool {
        self.is_page_withheld.load(Ordering::Relaxed)
    }

    /// Notes the values to which a login's cookies were changed. Returns whether they are others than the last time.
    pub fn note_rotation(&self, login: usize, values: Vec<Secret>) -> bool {
        let mut rotated = self.rotated.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &Vec<Secret>| {
            known.len() == values.len()
                && known.iter().zip(&values).all(|(one, other)| one.expose_secret() == other.expose_secret())
        };
        if rotated.get(&login).is_some_and(is_same) {
            return false;
        }
        rotated.insert(login, values);
        true
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
        let redacted = self.redact_known(&known, text);
        let ranges = self.find_in_words(&known, redacted.as_str());
        let redacted = if ranges.is_empty() { redacted } else { redacted.mask_ranges(ranges, MASK) };
        mask_credentials(&known, redacted)
    }

    fn redact_known(&self, known: &KnownSecrets, text: String) -> Redacted {
        self.note_found(known, &text);
        known.redactor.redact_owned(text)
    }

    /// Secrets whose pieces are words of the text, with others between them: a row of a table in one line.
    fn find_in_words(&self, known: &KnownSecrets, text: &str) -> Vec<Range<usize>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if text.len() > MAX_WORDS_BYTES || words.len() < 3 {
            return Vec::new();
        }
        let starts = words.iter().map(|word| word.as_ptr() as usize - text.as_ptr() as usize);
        let found = known.redactor.find_in_fragments(&words);
        if found.iter().flatten().any(|found| found.is_sealed) {
            self.found_sealed.store(true, Ordering::Relaxed);
        }
        let shares = starts.zip(found);
        shares
            .flat_map(|(start, found)| {
                found.into_iter().map(move |found| start + found.range.start..start + found.range.end)
            })
            .collect()
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
        let found = known.redactor.find_in_fragments(texts);
        if found.iter().flatten().any(|found| found.is_sealed) {
            self.found_sealed.store(true, Ordering::Relaxed);
        }
        let is_open = |range: &Range<usize>| {
            known.open.iter().any(|open| open.expose_secret() == &joined.text()[range.clone()])
        };
        let named = policy::credential::find_named(joined.text()).into_iter();
        let labelled = policy::credential::find_labelled(joined.text()).into_iter();
        let keys = named.chain(labelled).filter(|range| !is_open(range));
        let found = found.into_iter().enumerate();
        let mut shares: Vec<(usize, Range<usize>)> =
            found.flat_map(|(text, found)| found.into_iter().map(move |found| (text, found.range))).collect();
        for range in keys {
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
            guesses: Guesses::default(),
            shapes: Vec::new(),
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
        let (guessed, issued): (VecDeque<_>, VecDeque<_>) = self.issued.drain(..).partition(is_guessed);
        self.issued = issued;
        if !guessed.is_empty() {
            self.guessed.extend(guessed);
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
        self.mask = ScreenshotMask::only_secrets().with_texts(self.guesses.shaped()).with_secrets(all);
    }

    fn is_new(&self, value: &str) -> bool {
        let fits = (SHORTEST_COMPARED..=MAX_ISSUED_LENGTH).contains(&value.len());
        let own = self.injected.iter().chain(&self.issued).chain(&self.sealed);
        let mut known = own.chain(&self.open).chain(&self.guessed);
        fits && !known.any(|secret| secret.expose_secret() == value)
    }
}

/// Masks text that looks like a credential.
fn mask_credentials(known: &KnownSecrets, redacted: Redacted) -> Redacted {
    let is_open = |range: &Range<usize>| {
        known.open.iter().any(|open| open.expose_secret() == &redacted.as_str()[range.clone()])
    };
    let ranges = policy::credential::find_all(redacted.as_str());
    let ranges: Vec<_> = ranges.into_iter().filter(|range| !is_open(range)).collect();
    if ranges.is_empty() { redacted } else { redacted.mask_ranges(ranges, MASK) }
}

/// Whether a value of a sealed credential is looked for in replies.
fn is_looked_for(value: &str) -> bool {
    value.len() >= SHORTEST_SEALED && !value.contains(char::is_whitespace)
}

/// In order, and joined where they overlap.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Masks texts of pages for the driver.
struct SessionTextRedactor(Arc<SessionSecrets>);

impl MaskSecrets for SessionTextRedactor {
    fn mask(&self, text: &str) -> Option<String> {
        // Words of one element are looked at together with those of its neighbours.
        let known = self.0.known()?;
        let redacted = mask_credentials(&known, self.0.redact_known(&known, text.to_owned()));
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
mod tests;
