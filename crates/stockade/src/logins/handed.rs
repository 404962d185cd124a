//! What a site hands out to a signed-in session: which of it is a secret, and what of it replaces what was put in.

use super::redeem::{Login, Released};
use browser::{HandedCookie, HandedOut};
use serde_json::Value as Json;
use vault::{Cookie, Host, Secret, Value};

/// Texts within one stored value that are looked at.
const MOST_LEAVES: usize = 1_000;
const SHORTEST_TOKEN: usize = 8;
/// From here on a text without blanks is a token, whatever it is made of.
const LONG: usize = 20;

/// All of it that could open something: cookies that scripts may not read, and whatever looks made by a machine.
pub fn secrets(handed: &HandedOut) -> Vec<Secret> {
    let mut found = Vec::new();
    for cookie in &handed.cookies {
        let value = cookie.value.expose_secret();
        if cookie.http_only || is_token(value) {
            found.push(Secret::new(value.to_owned()));
        }
    }
    for passed in &handed.passed {
        add_tokens(passed.value.expose_secret(), &mut found);
    }
    for entry in &handed.stored {
        add_tokens(entry.value.expose_secret(), &mut found);
    }
    found
}

/// Cookies of a login that the site has given other values since.
pub fn rotated(released: &Released, handed: &HandedOut) -> Vec<(usize, Vec<Cookie>)> {
    let mut all = Vec::new();
    for (number, login) in released.logins.iter().enumerate() {
        let changed = login.credential.cookies.iter().filter_map(|old| {
            let new = handed.cookies.iter().find(|new| is_same(login, old, new))?;
            (new.value.expose_secret() != old.value.text.expose_secret()).then(|| replaced(old, new))
        });
        let changed: Vec<Cookie> = changed.collect();
        if !changed.is_empty() {
            all.push((number, changed));
        }
    }
    all
}

fn is_same(login: &Login, old: &Cookie, new: &HandedCookie) -> bool {
    let host = login.credential.domain.as_str();
    let reaches = new.domain == host || old.domain.as_ref().map(Host::as_str) == Some(new.domain.as_str());
    old.name == new.name && old.path == new.path && reaches
}

/// As the operator stored it, with the site's value and time.
fn replaced(old: &Cookie, new: &HandedCookie) -> Cookie {
    let text = Secret::new(new.value.expose_secret().to_owned());
    Cookie {
        name: old.name.clone(),
        value: Value { text, is_secret: old.value.is_secret },
        domain: old.domain.clone(),
        path: old.path.clone(),
        expires: new.expires,
        http_only: old.http_only,
        secure: old.secure,
        same_site: old.same_site,
        priority: old.priority,
        partition_key: old.partition_key.clone(),
    }
}

/// A value is a token, or a document with tokens in it.
fn add_tokens(text: &str, found: &mut Vec<Secret>) {
    if is_token(text) {
        found.push(Secret::new(text.to_owned()));
    }
    if !text.starts_with(['{', '[', '"']) {
        return;
    }
    let Ok(document) = serde_json::from_str::<Json>(text) else { return };
    let (mut left, mut waiting) = (MOST_LEAVES, vec![document]);
    while let Some(next) = waiting.pop() {
        match next {
            Json::String(text) if is_token(&text) => found.push(Secret::new(text)),
            Json::Array(items) => waiting.extend(items),
            Json::Object(fields) => waiting.extend(fields.into_iter().map(|(_, value)| value)),
            _ => {}
        }
        left -= 1;
        if left == 0 {
            return;
        }
    }
}

/// Letters and digits among each other, or long and in one piece; words, numbers and addresses are none.
fn is_token(text: &str) -> bool {
    let has = |kind: fn(&char) -> bool| text.chars().any(|c| kind(&c));
    let in_one_piece = !text.chars().any(|c| c.is_whitespace() || matches!(c, '{' | '[' | '<'));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let is_word = text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '_'));
    let is_address = text.starts_with("http://") || text.starts_with("https://") || text.starts_with('/');
    in_one_piece
        && !is_address
        && text.len() >= SHORTEST_TOKEN
        && (mixed || (text.len() >= LONG && !is_word && has(char::is_ascii_alphabetic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_told_from_a_word_a_number_and_an_address() {
        for (text, expected) in [
            ("a81bc81b-dead-4e5d-abff-90865d1e13b1", true),
            ("x9f3kk20", true),
            ("eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl", true),
            ("dark", false),
            ("en-US", false),
            ("collapsed", false),
            ("1731749230000", false),
            ("two words and 3", false),
            ("https://shop.test/a1b2c3d4", false),
            ("/item/42/comments", false),
        ] {
            assert_eq!(is_token(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_are_found_inside_documents() {
        let mut found = Vec::new();
        add_tokens(r#"{"user": {"name": "Ada", "tokens": ["q7w8e9r0t1y2"]}, "theme": "dark"}"#, &mut found);
        let texts: Vec<&str> = found.iter().map(Secret::expose_secret).collect();
        assert_eq!(texts, ["q7w8e9r0t1y2"]);
    }
}
