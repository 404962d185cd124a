//! Phrases of labels, as data in `phrases.txt`: verbs together with what they are done to.

use super::EffectClass;
use crate::lexicon::{fold_latin, normalize};
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cancel,
    Passing,
    Close,
    Store,
    Affirm,
    Ordinary,
    Generic,
    Class(EffectClass),
}

const KINDS: [(&str, Kind); 12] = [
    ("generic", Kind::Generic),
    ("affirm", Kind::Affirm),
    ("ordinary", Kind::Ordinary),
    ("cancel", Kind::Cancel),
    ("passing", Kind::Passing),
    ("close", Kind::Close),
    ("store", Kind::Store),
    ("account", Kind::Class(EffectClass::Account)),
    ("destroy", Kind::Class(EffectClass::Destroy)),
    ("pay", Kind::Class(EffectClass::Pay)),
    ("send", Kind::Class(EffectClass::Send)),
    ("power", Kind::Class(EffectClass::Power)),
];

struct Phrase {
    kind: Kind,
    /// English words are verbs at the beginning of a label and nouns elsewhere: "Order history", "Last export".
    leads: bool,
    is_stem: bool,
    is_whole: bool,
    /// Scripts that are written without spaces.
    anywhere: bool,
}

struct Phrases {
    finder: AhoCorasick,
    phrases: Vec<Phrase>,
}

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    let (mut texts, mut phrases) = (Vec::new(), Vec::new());
    let mut kind = None;
    for line in include_str!("phrases.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        } else if let (Some(kind), Some((language, list))) = (kind, line.split_once(": ")) {
            for written in list.split(", ") {
                let bare = written.trim_start_matches('=').trim_end_matches('*');
                let leads = language == "en" && matches!(kind, Kind::Class(_) | Kind::Ordinary);
                texts.push(fold(bare));
                phrases.push(Phrase {
                    kind,
                    leads,
                    is_stem: written.ends_with('*'),
                    is_whole: written.starts_with('='),
                    anywhere: bare.chars().any(is_unspaced),
                });
            }
        }
    }
    #[expect(clippy::expect_used, reason = "the list is part of the program, and a test builds it")]
    let finder = AhoCorasick::new(texts).expect("the list is far below the limits");
    Phrases { finder, phrases }
});

fn fold(text: &str) -> String {
    let plain = normalize(text);
    if plain.is_ascii() { plain } else { fold_latin(&plain).swap_remove(0) }
}

/// The verbs of other languages than English that are one word each, as addresses have them; and whether a word may only
/// begin so.
pub(super) fn foreign_words() -> Vec<(EffectClass, String, bool)> {
    let (mut found, mut class) = (Vec::new(), None);
    for line in include_str!("phrases.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
            class = if let Some(Kind::Class(class)) = kind { Some(class) } else { None };
        } else if let (Some(class), Some((language, list))) = (class, line.split_once(": ")) {
            let verbs = list.split(", ").filter(|it| language != "en" && !it.contains(' '));
            found.extend(verbs.map(|it| (class, fold(it.trim_matches(['*', '='])), it.ends_with('*'))));
        }
    }
    found
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// Whether the text before a phrase says nothing by itself: "Yes, cancel it".
fn is_lead_in(text: &str) -> bool {
    const WORDS: [&str; 12] =
        ["yes", "ok", "please", "confirm", "now", "i", "want", "to", "and", "save", "review", "agree"];
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .all(|word| WORDS.contains(&word))
}

/// What the phrases of a label say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PhraseReading {
    /// The strictest class that they speak of.
    pub class: Option<EffectClass>,
    /// They end something, such as an order.
    pub cancels: bool,
    /// They say yes to a question.
    pub affirms: bool,
    /// They have a word of ordinary work.
    pub is_ordinary: bool,
    /// They end a form or a dialog of any kind.
    pub is_generic: bool,
}

impl PhraseReading {
    /// Whether anything is known of the label.
    pub fn is_verb(self) -> bool {
        self.class.is_some() || self.affirms || self.is_ordinary || self.is_generic
    }
}

pub(super) fn judge(label: &str) -> PhraseReading {
    let text = fold(label);
    let mut reading = PhraseReading::default();
    // Consent banners ask to allow, to accept and to approve.
    if text.contains("cookie") {
        return PhraseReading { is_ordinary: true, ..reading };
    }
    let list = &*PHRASES;
    let (mut cancels, mut passing, mut closes, mut store) = (None, false, false, false);
    let mut best: Option<EffectClass> = None;
    for hit in list.finder.find_overlapping_iter(&text) {
        let phrase = &list.phrases[hit.pattern().as_usize()];
        let begins = !text[..hit.start()].chars().next_back().is_some_and(char::is_alphanumeric);
        let ends = !text[hit.end()..].chars().next().is_some_and(char::is_alphanumeric);
        let fits = if phrase.is_whole {
            hit.start() == 0 && hit.end() == text.len()
        } else {
            phrase.anywhere || begins && (ends || phrase.is_stem)
        };
        if !fits || phrase.leads && !is_lead_in(&text[..hit.start()]) {
            continue;
        }
        match phrase.kind {
            Kind::Cancel => cancels = Some((hit.start(), hit.end(), phrase.anywhere)),
            Kind::Passing => passing = true,
            Kind::Close => closes = true,
            Kind::Store => store = true,
            Kind::Affirm => reading.affirms |= hit.start() == 0,
            Kind::Ordinary => reading.is_ordinary = true,
            Kind::Generic => reading.is_generic = true,
            Kind::Class(class) if best.is_none_or(|best| class.severity() > best.severity()) => {
                best = Some(class);
            }
            Kind::Class(_) => {}
        }
    }
    if closes && store {
        return PhraseReading { class: Some(EffectClass::Account), ..reading };
    }
    let cancelled = cancels.is_some_and(|(start, end, unspaced)| {
        // The ending of a verb is nothing to cancel.
        const ENDINGS: [&str; 5] = ["する", "します", "하기", "합니다", "하다"];
        let rest = text[end..].trim();
        let after = match ENDINGS.iter().find_map(|ending| rest.strip_prefix(ending)) {
            Some(after) => after,
            None if unspaced => rest,
            None => text[end..].trim_start_matches(char::is_alphanumeric),
        };
        let has_more = |part: &str| part.chars().any(char::is_alphanumeric);
        !passing && (has_more(after) || has_more(&text[..start]))
    });
    // Alone it closes a form.
    reading.is_ordinary |= cancels.is_some() && !cancelled;
    // "Cancel the order" orders nothing.
    reading.cancels = cancelled;
    let best = best.filter(|class| !(cancelled && *class == EffectClass::Pay));
    reading.class = best.or_else(|| cancelled.then_some(EffectClass::Destroy));
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_kind_and_a_language() {
        let mut has_kind = false;
        for line in include_str!("phrases.txt").lines().filter(|it| !it.is_empty() && !it.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                assert!(KINDS.iter().any(|(known, _)| *known == name), "{name}");
                has_kind = true;
                continue;
            }
            let (language, list) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            assert!(has_kind && language.len() == 2, "{line}");
            assert!(
                list.split(", ")
                    .all(|it| it.trim_matches(['*', '=', ' ']).chars().count() >= 2 || !it.is_ascii())
            );
        }
    }

    #[test]
    fn cancelling_needs_something_to_cancel() {
        for label in [
            "Cancel",
            "Abbrechen",
            "Annuler",
            "Anuluj",
            "Cancel edit",
            "キャンセル",
            "Close",
            "Accept cookies",
        ] {
            assert_eq!(judge(label).class, None, "{label}");
        }
        for label in
            ["Cancel my stay", "Annuler la réservation", "Anuluj rezerwację", "예약 취소", "Yes, cancel it"]
        {
            assert_eq!(judge(label).class, Some(EffectClass::Destroy), "{label}");
        }
        for label in ["Hesabı kapat", "Закрыть аккаунт", "Sulje tili", "회원 탈퇴", "Log out of all devices"]
        {
            assert_eq!(judge(label).class, Some(EffectClass::Account), "{label}");
        }
        for label in
            ["Order history", "Last export", "Environment", "Public profile", "Rotate image", "Merge cells"]
        {
            assert_eq!(judge(label).class, None, "{label}");
        }
    }
}
