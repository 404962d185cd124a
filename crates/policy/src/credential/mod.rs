//! Whether a text looks like a credential: what an agent must never type, whoever gave it to it.
//!
//! The value is looked at where it stands. It is never copied, kept or told; a finding is a kind and no more.

mod card;
mod entropy;
mod vendors;

use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Longer texts are looked at in their first part; nobody types a novel with a key behind it by accident.
const LONGEST: usize = 256 * 1024;

/// What a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    PrivateKey,
    WebToken,
    /// A key or token in the form that one vendor gives it.
    Vendor,
    /// A password in an address, or behind a word such as `password=`.
    Named,
    Card,
    /// Letters and digits too disorderly for words.
    Random,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::PrivateKey => "a private key",
            Kind::WebToken => "a JSON web token",
            Kind::Vendor => "a vendor's key or token",
            Kind::Named => "a password or key by name",
            Kind::Card => "a card number",
            Kind::Random => "a random key or token",
        }
    }
}

/// The first kind of credential that the text looks like.
pub fn found(text: &str) -> Option<Kind> {
    let text = cut(text);
    let is = |regex: &LazyLock<Regex>| regex.is_match(text);
    if is(&PRIVATE_KEY) {
        Some(Kind::PrivateKey)
    } else if is(&WEB_TOKEN) {
        Some(Kind::WebToken)
    } else if vendors::looks_like_one(text) {
        Some(Kind::Vendor)
    } else if card::has_one(text) {
        Some(Kind::Card)
    } else if is(&IN_ADDRESS) || NAMED.captures_iter(text).any(|found| entropy::is_mixed(&found[1])) {
        Some(Kind::Named)
    } else if text.split(|c: char| !entropy::is_part(c)).any(entropy::is_random) {
        Some(Kind::Random)
    } else {
        None
    }
}

/// Where in the text something looks like a credential: in order, apart from each other. Card numbers are none, since
/// no login is made of them.
pub fn places(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for regex in [&PRIVATE_KEY_WHOLE, &WEB_TOKEN, &IN_ADDRESS] {
        found.extend(regex.find_iter(text).map(|hit| hit.range()));
    }
    found.extend(vendors::places(text));
    found.extend(named(text));
    let mut from = 0;
    for part in text.split(|c: char| !entropy::is_part(c)) {
        // Every mark that parts are split at is gone over by its own length.
        let start = from;
        from = start + part.len() + text[start + part.len()..].chars().next().map_or(0, char::len_utf8);
        if entropy::is_random(part) {
            found.push(start..start + part.len());
        }
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in found {
        match apart.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// Whether a field or a header of this name holds what opens something.
pub fn is_name_of_one(name: &str) -> bool {
    const PARTS: [&str; 14] = [
        "token",
        "secret",
        "passw",
        "apikey",
        "accesskey",
        "privatekey",
        "authkey",
        "csrf",
        "xsrf",
        "jwt",
        "bearer",
        "credential",
        "sessionid",
        "sessionkey",
    ];
    const WHOLE: [&str; 8] =
        ["sid", "auth", "xauth", "authorization", "xauthorization", "cookie", "otp", "pwd"];
    let bare: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    // What a server says of itself: `Access-Control-Allow-Credentials`.
    !bare.starts_with("accesscontrol")
        && (PARTS.iter().any(|part| bare.contains(part))
            || WHOLE.contains(&bare.as_str())
            || bare.ends_with("session"))
}

/// Where in the text something stands that the text itself calls a password, a key or a token.
pub fn named(text: &str) -> Vec<Range<usize>> {
    let patterns = [&NAMED, &NAMED_IN_TAG, &NAMED_IN_TAG_AFTER];
    let hits = patterns.into_iter().flat_map(|regex| regex.captures_iter(text).filter_map(|hit| hit.get(1)));
    hits.filter(|hit| entropy::is_mixed(hit.as_str())).map(|hit| hit.range()).collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1[A-Z0-9]{20}",
    )
});
/// With what it holds, up to its end or the text's.
static PRIVATE_KEY_WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,30}-----|\z)|AGE-SECRET-KEY-1[A-Z0-9]+",
    )
});
static WEB_TOKEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.(?:eyJ)?[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"));
/// `scheme://name:password@host`, where the password has a digit, as the `pass` of examples has not.
static IN_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'<>]{1,64}:[^\s/@'<>]*[0-9][^\s/@'<>]{3,}@[A-Za-z0-9]")
});
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:api[_-]?key|apikey|secret|token|passw(?:or)?d|passwort|pwd|access[_-]?key|account[_-]?key|auth|bearer|basic)["']?(?:\s*[:=]\s*|\s+)["']?([A-Za-z0-9+/_.~!@#$%^&*=-]{12,200})"#,
    )
});

/// A field or a line of a page's head, whose name stands before its value or after it.
static NAMED_IN_TAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\bname=["']?[a-z0-9_.-]{0,40}(?:token|csrf|xsrf|secret|nonce|api[_-]?key)[a-z0-9_.-]{0,40}["']?\s[^<>]{0,200}?\b(?:value|content)=["']?([A-Za-z0-9+/_.~!@#$%^&*=-]{12,200})"#,
    )
});
static NAMED_IN_TAG_AFTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b(?:value|content)=["']?([A-Za-z0-9+/_.~!@#$%^&*=-]{12,200})["']?\s[^<>]{0,200}?\bname=["']?[a-z0-9_.-]{0,40}(?:token|csrf|xsrf|secret|nonce|api[_-]?key)"#,
    )
});

#[expect(
    clippy::expect_used,
    reason = "the patterns are part of the program, and a test builds each of them"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the scanner is well formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_opens_something() {
        for name in
            ["X-Auth-Token", "X-User-Session", "session", "sessionId", "Authorization", "api_key", "csrf"]
        {
            assert!(is_name_of_one(name), "{name}");
        }
        for name in
            ["Access-Control-Allow-Credentials", "sessions", "author", "X-Request-Id", "side", "Content-Type"]
        {
            assert!(!is_name_of_one(name), "{name}");
        }
    }
}
