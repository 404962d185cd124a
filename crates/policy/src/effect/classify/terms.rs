//! The vocabulary of addresses, operations and field names: identifiers split into words, each with its uses.

use super::{EffectClass, phrases};
use crate::lexicon::{self, Meaning, Meanings, fold_latin};
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word is used for: one bit for each heading of `terms.txt`.
pub(super) type Uses = u64;

macro_rules! uses {
    ($($name:ident = $heading:literal, $bit:literal;)*) => {
        $(pub(super) const $name: Uses = 1 << $bit;)*
        const HEADINGS: &[(&str, Uses)] = &[$(($heading, $name)),*];
    };
}

uses! {
    DESTROY = "destroy", 0;
    WEAK = "weak", 1;
    SEND = "send", 2;
    PAY = "pay", 3;
    POWER = "power", 4;
    MAKE = "make", 6;
    CHANGE = "change", 7;
    EXECUTE = "execute", 8;
    SEND_NOUN = "sendnoun", 9;
    PAY_NOUN = "paynoun", 10;
    POWER_NOUN = "powernoun", 11;
    LOGIN = "login", 12;
    GUARD = "guard", 13;
    ACCOUNT = "account", 14;
    CANCELLED = "cancelled", 15;
    ORDINARY = "ordinary", 16;
    NESTED = "nested", 17;
    ORDINARY_VERB = "ordinaryverb", 18;
    READ = "read", 19;
    TELEMETRY = "telemetry", 20;
    SOCKET = "socket", 21;
    FILLER = "filler", 22;
    AUTH = "auth", 23;
    DOCS = "docs", 24;
    STEP = "step", 25;
    CANCEL = "cancel", 26;
    CLOSING = "closing", 27;
    PASSWORD = "password", 28;
    AMOUNT = "amount", 29;
    PAYEE = "payee", 30;
    RENEWED = "renewed", 31;
    LEAD_DESTROY = "leaddestroy", 5;
    LEAD_SEND = "leadsend", 32;
    LEAD_PAY = "leadpay", 33;
    LEAD_POWER = "leadpower", 34;
    DESTROY_NOUN = "destroynoun", 35;
    STATE_FIELD = "statefield", 36;
    GONE = "gone", 37;
    PUBLIC = "public", 38;
    PAID = "paid", 39;
    GRANTED = "granted", 40;
    WHOLLY = "wholly", 41;
    BIN = "bin", 42;
    OPERATION_FIELD = "operationfield", 43;
    QUERIED = "queried", 44;
    CART = "cart", 45;
    DEAL = "deal", 46;
    PREMISES = "premises", 47;
    UI_NOUN = "uinoun", 48;
    OPENS = "opens", 49;
    SERVICE_FIELD = "servicefield", 50;
    LIGHT = "light", 51;
    GENERIC = "generic", 52;
    KNOWN = "known", 53;
    TYPED = "typed", 54;
}

/// Uses of a word that can make a GET consequential.
pub(super) const TRIGGERS: Uses =
    DESTROY | WEAK | SEND | PAY | POWER | LEAD | POWER_NOUN | EXECUTE | PAY_NOUN | CANCEL | CLOSING;

/// Verbs where they lead a name or end an address, nouns elsewhere.
pub(super) const LEAD: Uses = LEAD_DESTROY | LEAD_SEND | LEAD_PAY | LEAD_POWER;

const LONGEST_WORD: usize = 32;
const MOST_WORDS: usize = 24;
/// Shorter words of other languages are too often something else in an address.
const SHORTEST_FOREIGN: usize = 4;
/// The same for verbs of labels, which may be the beginning of a word.
const SHORTEST_VERB: usize = 6;
/// Words of labels that mean something else in addresses.
const NOT_IN_ADDRESSES: [&str; 25] = [
    "benachrichtig",
    "publica",
    "dona",
    "manda",
    "ordina",
    "compra",
    "plaatsen",
    "posten",
    "buchen",
    "leeren",
    "todo",
    "transfer",
    "paga",
    "kosz",
    "koop",
    "stuur",
    "paylas",
    "trade",
    "data",
    "koszyk",
    "envie",
    "export",
    "leer",
    "mandar",
    "genera",
];

struct Vocabulary {
    words: HashMap<Box<str>, Uses>,
    exact: HashMap<Box<str>, Uses>,
    /// Beginnings of words, by their first letters.
    stems: HashMap<Box<str>, Vec<(Box<str>, Uses)>>,
}

/// Each stem has at least this many letters.
const STEM_KEY: usize = 3;

impl Vocabulary {
    fn by_stem(&self, word: &str) -> Option<Uses> {
        let stems = self.stems.get(word.get(..STEM_KEY)?)?;
        let found = stems.iter().filter(|(stem, _)| word.starts_with(&**stem));
        let uses = found.fold(0, |all, (_, uses)| all | uses);
        (uses != 0).then_some(uses)
    }
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let mut vocabulary = Vocabulary { words: HashMap::new(), exact: HashMap::new(), stems: HashMap::new() };
    let mut bit = 0;
    for line in include_str!("terms.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            bit = HEADINGS.iter().find(|(heading, _)| *heading == name).map_or(0, |(_, bit)| *bit);
            continue;
        }
        for word in line.split_whitespace() {
            if let Some(word) = word.strip_prefix('=') {
                *vocabulary.exact.entry(word.into()).or_default() |= bit;
            } else if let Some(stem) = word.strip_suffix('*') {
                let key = stem.get(..STEM_KEY).unwrap_or(stem);
                vocabulary.stems.entry(key.into()).or_default().push((stem.into(), bit));
            } else {
                *vocabulary.words.entry(word.into()).or_default() |= bit;
            }
        }
    }
    for (meaning, bit) in [(Meaning::Destroy, DESTROY), (Meaning::Send, SEND), (Meaning::Pay, PAY)] {
        for word in lexicon::foreign_words(meaning) {
            for folded in fold_latin(word) {
                let fits = folded.len() >= SHORTEST_FOREIGN && folded.bytes().all(|b| b.is_ascii_lowercase());
                if fits && !NOT_IN_ADDRESSES.contains(&folded.as_str()) {
                    *vocabulary.words.entry(folded.into()).or_default() |= bit;
                }
            }
        }
    }
    // Verbs of labels stand in addresses as well.
    for (class, word, is_stem) in phrases::foreign_words() {
        let bit = match class {
            EffectClass::Destroy => DESTROY,
            EffectClass::Send => SEND,
            EffectClass::Pay => PAY,
            EffectClass::Power => POWER,
            _ => continue,
        };
        let fits = word.len() >= SHORTEST_VERB && word.bytes().all(|b| b.is_ascii_lowercase());
        if !fits || NOT_IN_ADDRESSES.contains(&word.as_str()) {
            continue;
        }
        if is_stem {
            let key = word[..STEM_KEY].into();
            vocabulary.stems.entry(key).or_default().push((word.into(), bit));
        } else {
            *vocabulary.words.entry(word.into()).or_default() |= bit;
        }
    }
    vocabulary
});

/// The uses of a word in lower case.
pub(super) fn uses_of(word: &str) -> Uses {
    let vocabulary = &*VOCABULARY;
    let exact = vocabulary.exact.get(word).copied().unwrap_or(0);
    let known = vocabulary.words.get(word).copied();
    let plural = || {
        let singular = word.strip_suffix('s').filter(|it| it.len() > 2 && !it.ends_with('s'))?;
        // `beneficiaries`
        let by_y = || vocabulary.words.get(format!("{}y", singular.strip_suffix("ie")?).as_str());
        let found = vocabulary.words.get(singular).or_else(by_y).copied();
        // Verbs have no plural: `deletes` is none, and `pays` is a country in French.
        found.map(|uses| uses & !(DESTROY | WEAK | SEND | PAY | POWER | MAKE | CHANGE | EXECUTE | READ))
    };
    exact | known.unwrap_or(0) | plural().unwrap_or(0) | vocabulary.by_stem(word).unwrap_or(0)
}

#[derive(Clone, Debug)]
pub(super) struct Word {
    pub text: String,
    pub uses: Uses,
}

impl Word {
    pub fn is(&self, uses: Uses) -> bool {
        self.uses & uses != 0
    }

    fn new(text: String) -> Word {
        let mut uses = uses_of(&text);
        if !text.is_ascii() {
            let meanings = Meanings::of(&text);
            for (meaning, bit) in [
                (Meaning::Destroy, DESTROY),
                (Meaning::Send, SEND),
                (Meaning::Pay, PAY),
                (Meaning::Account, ACCOUNT),
                (Meaning::Search, READ),
            ] {
                uses |= if meanings.has(meaning) { bit } else { 0 };
            }
            uses |= fold_latin(&text).iter().map(|folded| uses_of(folded)).fold(0, |all, one| all | one);
        }
        if uses == 0 {
            uses = uses_of_compound(&text);
        }
        Word { text, uses }
    }
}

/// `deleteitem` and `itemdelete`, written without a boundary.
fn uses_of_compound(text: &str) -> Uses {
    const VERBS: [&str; 6] = ["delete", "remove", "destroy", "revoke", "erase", "purge"];
    const INFLECTIONS: [&str; 10] = ["", "d", "r", "s", "rs", "able", "ds", "dat", "dby", "don"];
    for verb in VERBS {
        let follows = text.strip_prefix(verb).is_some_and(|rest| !INFLECTIONS.contains(&rest));
        let leads = text.strip_suffix(verb).is_some_and(|front| front.len() > 2 && front != "undo");
        if follows || leads {
            return DESTROY;
        }
    }
    // `reinvite`, `bulksend`, `autopay` are what their verb is; `uninvite`, `disinvite` take away.
    const CLASSES: Uses = DESTROY | SEND | PAY | POWER | CANCEL;
    const PREFIXES: [&str; 8] = ["re", "auto", "bulk", "mass", "force", "quick", "batch", "pre"];
    const TAKING: [&str; 2] = ["un", "dis"];
    let verb = |prefix: &&str| {
        let rest = text.strip_prefix(*prefix).filter(|rest| rest.len() >= 4)?;
        VOCABULARY.words.get(rest).map(|uses| uses & CLASSES).filter(|uses| *uses != 0)
    };
    if let Some(uses) = PREFIXES.iter().find_map(verb) {
        return uses;
    }
    if TAKING.iter().find_map(verb).is_some() {
        return DESTROY;
    }
    const SENT: [&str; 6] = ["message", "mail", "email", "msg", "sms", "reply"];
    let sent = text.strip_prefix("send").is_some_and(|rest| SENT.contains(&rest));
    if sent { SEND } else { 0 }
}

/// Splits an identifier at punctuation, changes of case and digits, and joins what is one word: `api-key`, `sign-in`.
pub(super) fn words(identifier: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for part in parts(identifier) {
        if words.len() >= MOST_WORDS {
            break;
        }
        let word = Word::new(part.to_lowercase());
        if word.uses == 0
            && let Some(found) = split_joined(&word.text)
        {
            words.extend(found);
            continue;
        }
        // `mot-de-passe` is one word too.
        if let [.., first, second] = &words[..] {
            let joined = format!("{}{}{}", first.text, second.text, word.text);
            if joined.len() <= LONGEST_WORD && VOCABULARY.words.contains_key(joined.as_str()) {
                words.truncate(words.len() - 2);
                words.push(Word::new(joined));
                continue;
            }
        }
        let joined = words.last().map(|last| format!("{}{}", last.text, word.text));
        let joined = joined.filter(|text| text.len() <= LONGEST_WORD && is_joined(text));
        match (joined, words.last_mut()) {
            (Some(text), Some(last)) => {
                let is_known = VOCABULARY.words.contains_key(text.as_str());
                let singular = text.strip_suffix('s').filter(|_| !is_known).map(str::to_owned);
                *last = Word::new(singular.unwrap_or(text));
            }
            _ => words.push(word),
        }
    }
    words
}

/// `cancelorder`, `messagesend`, `clusterrolebindings`: known words, written without a boundary.
fn split_joined(text: &str) -> Option<Vec<Word>> {
    const SHORTEST: usize = 7;
    const WHOLE: [&str; 5] = ["payload", "payloads", "paypal", "newspaper", "makeup"];
    let is_plain = text.bytes().all(|byte| byte.is_ascii_lowercase()) && text.len() <= LONGEST_WORD;
    if text.len() < SHORTEST || !is_plain || WHOLE.contains(&text) {
        return None;
    }
    split_known(text, 2)
}

fn split_known(text: &str, splits: usize) -> Option<Vec<Word>> {
    const SHORTEST_PART: usize = 3;
    /// Others of three letters begin too many words: `newsletter`.
    const SHORT_VERBS: [&str; 6] = ["add", "del", "ban", "set", "get", "pay"];
    let known = |part: &str| {
        let words = &VOCABULARY.words;
        words.get(part).or_else(|| words.get(part.strip_suffix('s').unwrap_or(part))).copied()
    };
    (SHORTEST_PART..text.len().saturating_sub(SHORTEST_PART)).rev().find_map(|at| {
        let (first, second) = text.split_at(at);
        let is_short = first.len() == SHORTEST_PART && !SHORT_VERBS.contains(&first);
        known(first).filter(|_| !is_short && second.len() > SHORTEST_PART)?;
        let begins = |rest: Vec<Word>| [vec![Word::new(first.to_owned())], rest].concat();
        match known(second) {
            Some(_) => Some(begins(vec![Word::new(second.to_owned())])),
            None if splits > 1 => split_known(second, splits - 1).map(begins),
            None => None,
        }
    })
}

fn is_joined(text: &str) -> bool {
    let vocabulary = &*VOCABULARY;
    let singular = text.strip_suffix('s').unwrap_or(text);
    vocabulary.words.contains_key(text) || vocabulary.words.contains_key(singular)
}

fn parts(identifier: &str) -> impl Iterator<Item = &str> {
    let pieces =
        identifier.split(|c: char| !c.is_alphanumeric() && !is_mark(c)).filter(|part| !part.is_empty());
    pieces.flat_map(|piece| {
        let mut rest = piece;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (part, after) = rest.split_at(boundary(rest));
            rest = after;
            Some(part)
        })
    })
}

/// Vowel signs and the like of Indic scripts and Thai belong to the letter before.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{97f}' | '\u{e00}'..='\u{e7f}')
}

/// Where the first word of a piece ends: `deleteItem`, `HTTPServer`, `item3`.
fn boundary(piece: &str) -> usize {
    let mut letters = piece.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, letter)) = letters.next() {
        if let Some(before) = before {
            let next_is_lower = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
            let rises =
                letter.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
            if rises || letter.is_ascii_digit() != before.is_ascii_digit() {
                return at;
            }
        }
        before = Some(letter);
    }
    piece.len()
}

/// Whether a segment is the name of one thing among many: a number, a UUID, a hash, a long token.
pub(in crate::effect) fn is_id(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if bytes.is_empty() || digits == 0 {
        return bytes.len() >= 32 && bytes.iter().all(u8::is_ascii_alphanumeric);
    }
    let is_hex = bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    digits == bytes.len()
        || is_hex && bytes.len() >= 8
        || bytes.len() >= 16
            && digits >= 3
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_~=.".contains(b))
        || digits * 2 >= bytes.len() && bytes.len() >= 4
        || is_prefixed_number(segment)
}

/// `pi_3`, `u17`, `PROJ-12`, `(3)`.
fn is_prefixed_number(segment: &str) -> bool {
    let number = segment.trim_end_matches(')').trim_end_matches(|c: char| c.is_ascii_digit());
    let prefix = number.trim_end_matches(['_', '-', '(', '.', '~', '\'']);
    let is_version = matches!(prefix, "v" | "V") && segment.len() <= 3;
    number.len() < segment.len() && prefix.len() <= 5 && uses_of(&prefix.to_lowercase()) == 0 && !is_version
}
