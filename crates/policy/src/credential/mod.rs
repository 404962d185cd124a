//! Credential detection: text that an agent must never type, whatever its source.
//!
//! The text is searched in place. It is never copied, kept or reported; a result is only a kind or a range.

mod card;
mod entropy;
mod labelled;
mod vendors;

pub use labelled::find_labelled;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Only this many bytes of a text are searched.
const SEARCHED_BYTES: usize = 256 * 1024;
/// In bytes, with its line breaks.
const LONGEST_PRIVATE_KEY: usize = 16 * 1024;

/// The kind of credential that a text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    PrivateKey,
    WebToken,
    /// A key or token in a vendor's format.
    Vendor,
    /// A password in a URL, or after a name such as `password=`.
    Named,
    Card,
    /// High-entropy letters and digits.
    Random,
}

impl CredentialKind {
    pub fn as_str(self) -> &'static str {
        match self {
            CredentialKind::PrivateKey => "a private key",
            CredentialKind::WebToken => "a JSON web token",
            CredentialKind::Vendor => "a vendor's key or token",
            CredentialKind::Named => "a password or key by name",
            CredentialKind::Card => "a card number",
            CredentialKind::Random => "a random key or token",
        }
    }
}

/// Whether the text is a card number with a valid check digit.
pub(crate) fn is_card_number(text: &str) -> bool {
    card::contains_card(text)
}

/// The first kind of credential that the text looks like.
pub fn detect(text: &str) -> Option<CredentialKind> {
    let text = truncate(text);
    let is = |regex: &LazyLock<Regex>| regex.is_match(text);
    if is(&PRIVATE_KEY) {
        Some(CredentialKind::PrivateKey)
    } else if is(&WEB_TOKEN) {
        Some(CredentialKind::WebToken)
    } else if vendors::is_match(text) {
        Some(CredentialKind::Vendor)
    } else if card::contains_card(text) {
        Some(CredentialKind::Card)
    } else if is(&IN_URL) || NAMED.captures_iter(text).any(|found| entropy::is_mixed(&found[1])) {
        Some(CredentialKind::Named)
    } else if text.split(|c: char| !entropy::is_token_char(c)).any(entropy::is_random) {
        Some(CredentialKind::Random)
    } else {
        None
    }
}

/// The ranges of the text that look like a credential, in order and disjoint. Card numbers are left out: no login
/// consists of one.
pub fn find_all(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for regex in [&AGE_KEY, &WEB_TOKEN, &IN_URL] {
        found.extend(regex.find_iter(text).map(|hit| hit.range()));
    }
    found.extend(private_keys(text));
    found.extend(vendors::find_all(text));
    found.extend(find_named(text));
    found.extend(find_labelled(text));
    let mut from = 0;
    for part in text.split(|c: char| !entropy::is_token_char(c)) {
        // Skips the separator by its own length.
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

/// Whether a field or header of this name holds a credential.
pub fn is_credential_name(name: &str) -> bool {
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
    // Response headers such as `Access-Control-Allow-Credentials`.
    !bare.starts_with("accesscontrol")
        && (PARTS.iter().any(|part| bare.contains(part))
            || WHOLE.contains(&bare.as_str())
            || bare.ends_with("session"))
}

/// The ranges of values that the text itself names as a password, key or token.
pub fn find_named(text: &str) -> Vec<Range<usize>> {
    let patterns = [&NAMED, &NAMED_IN_TAG, &NAMED_IN_TAG_AFTER];
    let hits = patterns.into_iter().flat_map(|regex| regex.captures_iter(text).filter_map(|hit| hit.get(1)));
    hits.filter(|hit| entropy::is_mixed(hit.as_str())).map(|hit| hit.range()).collect()
}

/// Private keys with their content, up to their end. One without an end is masked as far as a key is long.
fn private_keys(text: &str) -> impl Iterator<Item = Range<usize>> {
    PRIVATE_KEY_BEGIN.find_iter(text).map(|begin| {
        let mut limit = text.len().min(begin.end() + LONGEST_PRIVATE_KEY);
        while !text.is_char_boundary(limit) {
            limit -= 1;
        }
        let rest = &text[begin.end()..limit];
        begin.start()..PRIVATE_KEY_END.find(rest).map_or(limit, |end| begin.end() + end.end())
    })
}

fn truncate(text: &str) -> &str {
    let mut end = text.len().min(SEARCHED_BYTES);
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
static PRIVATE_KEY_BEGIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"));
static PRIVATE_KEY_END: LazyLock<Regex> = LazyLock::new(|| pattern(r"-----END [A-Z0-9 ]{0,30}-----"));
static AGE_KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r"AGE-SECRET-KEY-1[A-Z0-9]+"));
static WEB_TOKEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.(?:eyJ)?[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"));
/// `scheme://name:password@host`. The password has a digit, unlike the `pass` of examples.
static IN_URL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'<>]{1,64}:[^\s/@'<>]*[0-9][^\s/@'<>]{3,}@[A-Za-z0-9]")
});
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:api[_-]?key|apikey|secret|token|passw(?:or)?d|passwort|pwd|access[_-]?key|account[_-]?key|auth|bearer|basic)["']?(?:\s*[:=]\s*|\s+)["']?([A-Za-z0-9+/_.~!@#$%^&*=-]{12,200})"#,
    )
});

/// An HTML tag with a name before its value; the next one has it after.
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
    fn credential_names_are_recognized() {
        for name in
            ["X-Auth-Token", "X-User-Session", "session", "sessionId", "Authorization", "api_key", "csrf"]
        {
            assert!(is_credential_name(name), "{name}");
        }
        for name in
            ["Access-Control-Allow-Credentials", "sessions", "author", "X-Request-Id", "side", "Content-Type"]
        {
            assert!(!is_credential_name(name), "{name}");
        }
    }
}
