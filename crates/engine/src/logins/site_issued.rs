//! Values that a site issues to a signed-in session: finds the secrets among them and the rotated cookies.

use super::redeem::{Login, ReleasedCredentials};
use browser::{IssuedCookie, IssuedResponse, ResponseKind, SiteIssuedSecrets};
use redact::Secret;
use serde_json::Value as Json;
use std::ops::Range;
use std::rc::Rc;
use vault::{Cookie, Host, Value};
use zeroize::Zeroizing;

/// Maximum number of strings scanned in one stored value.
const MAX_STRINGS_PER_VALUE: usize = 1_000;
/// Within one response, which may be a list of everything that there is.
const MAX_STRINGS_PER_RESPONSE: usize = 50_000;
/// Maximum number of secrets from one response. A response with more is a catalogue and must not displace others.
const MAX_SECRETS_PER_RESPONSE: usize = 100;
const MIN_TOKEN_LENGTH: usize = 8;
/// Minimum length of a string that is scanned for credentials.
const MIN_SCAN_LENGTH: usize = 16;
/// A string of this length without white space is a token, whatever its characters.
const LONG_TOKEN: usize = 20;

/// The issued values that may authorize: HTTP-only cookies, and values that look like tokens.
pub fn secrets(issued: &SiteIssuedSecrets) -> Vec<Secret> {
    let mut found = Vec::new();
    for cookie in &issued.cookies {
        let value = cookie.value.expose_secret();
        if cookie.http_only || is_token(value) {
            found.push(Secret::new(value.to_owned()));
        }
    }
    for passed in &issued.header_values {
        add_tokens(passed.value.expose_secret(), &mut found);
    }
    for entry in &issued.storage_entries {
        add_tokens(entry.value.expose_secret(), &mut found);
    }
    for response in &issued.responses {
        add_from_response(response, &mut found);
    }
    found
}

/// Replaces placeholders in cookies that were read out of the browser by the secrets they stand for. Takes cookies of
/// sealed logins out whose value stands for none: a placeholder that is not known any more is no value. Returns the
/// secrets, which are sealed like those that were injected.
pub fn unseal(released: &ReleasedCredentials, issued: &mut SiteIssuedSecrets) -> Vec<Secret> {
    let seal = &released.sealed.seal;
    let is_sealed = |cookie: &IssuedCookie| {
        let mut sealed = released.logins.iter().filter(|login| login.credential.is_sealed);
        sealed.any(|login| login.credential.cookies.iter().any(|old| is_same(login, old, cookie)))
    };
    let mut secrets = Vec::new();
    issued.cookies.retain_mut(|cookie| {
        match seal.resolve_cookie(&cookie.name, &cookie.domain, cookie.value.expose_secret()) {
            Some(secret) => {
                secrets.push(secret.duplicate());
                cookie.value = secret;
                true
            }
            None => !is_sealed(cookie),
        }
    });
    secrets
}

/// Cookies of each login whose values the site has changed.
pub fn rotated(released: &ReleasedCredentials, issued: &SiteIssuedSecrets) -> Vec<(usize, Vec<Cookie>)> {
    let mut all = Vec::new();
    for (number, login) in released.logins.iter().enumerate() {
        let changed = login.credential.cookies.iter().filter_map(|old| {
            let new = issued.cookies.iter().find(|new| is_same(login, old, new))?;
            (new.value.expose_secret() != old.value.text.expose_secret()).then(|| replaced(old, new))
        });
        let changed: Vec<Cookie> = changed.collect();
        if !changed.is_empty() {
            all.push((number, changed));
        }
    }
    all
}

fn is_same(login: &Login, old: &Cookie, new: &IssuedCookie) -> bool {
    let host = login.credential.domain.as_str();
    let reaches = new.domain == host || old.domain.as_ref().map(Host::as_str) == Some(new.domain.as_str());
    old.name == new.name && old.path == new.path && reaches
}

/// The stored cookie with the site's new value and expiry.
fn replaced(old: &Cookie, new: &IssuedCookie) -> Cookie {
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

/// Adds what a response names or formats as a token. In pages and scripts only named tokens count, because they contain
/// many token-like strings.
fn add_from_response(response: &IssuedResponse, found: &mut Vec<Secret>) {
    let text = response.body.expose_secret();
    let most = found.len() + MAX_SECRETS_PER_RESPONSE;
    match (response.kind, document(text)) {
        (_, Some(document)) => {
            for (name, text) in strings(document, MAX_STRINGS_PER_RESPONSE) {
                if found.len() == most {
                    return;
                }
                if name.is_some_and(|name| policy::credential::is_credential_name(&name)) && is_token(&text) {
                    found.push(Secret::new(text.to_string()));
                } else if text.len() >= MIN_SCAN_LENGTH {
                    add_ranges(&text, &policy::credential::find_all(&text), found, most);
                }
            }
        }
        (ResponseKind::Data, None) => add_ranges(text, &policy::credential::find_all(text), found, most),
        (ResponseKind::Document, None) => {
            add_ranges(text, &policy::credential::find_named(text), found, most)
        }
    }
}

fn add_ranges(text: &str, ranges: &[Range<usize>], found: &mut Vec<Secret>, most: usize) {
    let room = most - found.len();
    found.extend(ranges.iter().take(room).map(|place| Secret::new(text[place.clone()].to_owned())));
}

/// Parses a text as JSON, after removing the prefix that some sites add against script inclusion.
fn document(text: &str) -> Option<Json> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let text = [")]}'", ")]}',", "for(;;);", "while(1);"].iter().fold(text, |text, guard| {
        text.strip_prefix(guard).map_or(text, |rest| rest.trim_start_matches([',', '\n', '\r', ' ']))
    });
    text.starts_with(['{', '[', '"']).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The strings of a JSON document, each with the name of its field or of its list's field.
fn strings(document: Json, most: usize) -> impl Iterator<Item = (Option<Rc<str>>, Zeroizing<String>)> {
    let mut waiting: Vec<(Option<Rc<str>>, Json)> = vec![(None, document)];
    std::iter::from_fn(move || {
        while let Some((name, next)) = waiting.pop() {
            match next {
                Json::String(text) => return Some((name, Zeroizing::new(text))),
                Json::Array(items) => waiting.extend(items.into_iter().map(|item| (name.clone(), item))),
                Json::Object(fields) => {
                    waiting.extend(fields.into_iter().map(|(name, value)| (Some(Rc::from(name)), value)));
                }
                _ => {}
            }
        }
        None
    })
    .take(most)
}

/// Adds the value if it is a token, and the tokens in a JSON value.
fn add_tokens(text: &str, found: &mut Vec<Secret>) {
    if is_token(text) {
        found.push(Secret::new(text.to_owned()));
    }
    let inside = document(text).into_iter().flat_map(|document| strings(document, MAX_STRINGS_PER_VALUE));
    found.extend(inside.filter(|(_, text)| is_token(text)).map(|(_, text)| Secret::new(text.to_string())));
}

/// Whether a text is a token: mixed letters and digits, or long without white space. Words, numbers and addresses are not.
pub fn is_token(text: &str) -> bool {
    let has = |kind: fn(&char) -> bool| text.chars().any(|c| kind(&c));
    let in_one_piece = !text.chars().any(|c| c.is_whitespace() || matches!(c, '{' | '[' | '<'));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let is_word = text.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '_'));
    let is_address = text.starts_with("http://") || text.starts_with("https://") || text.starts_with('/');
    in_one_piece
        && !is_address
        && text.len() >= MIN_TOKEN_LENGTH
        && (mixed || (text.len() >= LONG_TOKEN && !is_word && has(char::is_ascii_alphabetic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_addresses_are_not_tokens() {
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

    fn secrets_in_response(kind: ResponseKind, body: &str) -> Vec<String> {
        let mut found = Vec::new();
        add_from_response(&IssuedResponse { kind, body: Secret::new(body.to_owned()) }, &mut found);
        found.iter().map(|one| one.expose_secret().to_owned()).collect()
    }

    #[test]
    fn of_a_reply_what_it_calls_a_token_or_looks_like_one_is_a_secret() {
        let random = "q8W7e6R5t4Y3u2I1o0PaZ";
        for (body, expected) in [
            (r#"{"access_token": "k3y-of-7"}"#.to_owned(), vec!["k3y-of-7"]),
            (r#"{"data": {"csrfToken": "a1b2c3d4", "name": "Ada 1815"}}"#.to_owned(), vec!["a1b2c3d4"]),
            (
                r#"[{"session": {"id": "x9", "tokens": ["t0ken-one", "t0ken-two"]}}]"#.to_owned(),
                vec!["t0ken-two", "t0ken-one"],
            ),
            (format!(r#"{{"value": "{random}"}}"#), vec![random]),
            (format!(r#")]}}',{}{{"value": "{random}"}}"#, "\n"), vec![random]),
            (format!("\"{random}\""), vec![random]),
            (format!("plain words and {random}"), vec![random]),
            (
                r#"{"id": "order-2026-0001", "made": "2026-11-16T12:00:00Z", "isbn": "978-3-16-148410-0"}"#
                    .to_owned(),
                vec![],
            ),
            (
                r#"{"token_type": "Bearer", "author": "Kafka1883", "url": "/item/42/comments"}"#.to_owned(),
                vec![],
            ),
            (r#"{"id": "a81bc81b-dead-4e5d-abff-90865d1e13b1"}"#.to_owned(), vec![]),
        ] {
            assert_eq!(secrets_in_response(ResponseKind::Data, &body), expected, "{body}");
        }
    }

    #[test]
    fn of_a_page_only_what_it_names_is_a_secret() {
        let random = "q8W7e6R5t4Y3u2I1o0PaZ";
        for (body, is_one) in [
            (format!("<meta name='csrf-token' content='{random}'>"), true),
            (format!("<input type=hidden name=csrfmiddlewaretoken value=\"{random}\">"), true),
            (format!("<input value={random} type=hidden name=authenticity_token>"), true),
            (format!("<script>window.state = {{accessToken: '{random}'}}</script>"), true),
            (format!("<script src=/app.{random}.js></script><p id={random}>x"), false),
            (format!("<input type=hidden name=page value='{random}'>"), false),
        ] {
            assert_eq!(
                secrets_in_response(ResponseKind::Document, &body),
                is_one.then_some(random).into_iter().collect::<Vec<_>>(),
                "{body}"
            );
        }
    }

    #[test]
    fn a_reply_full_of_tokens_adds_no_more_than_its_share() {
        let many: Vec<String> = (0..1000).map(|n| format!("t0ken-{n:04}")).collect();
        let body = serde_json::json!({ "tokens": many }).to_string();
        assert_eq!(secrets_in_response(ResponseKind::Data, &body).len(), MAX_SECRETS_PER_RESPONSE);
    }

    #[test]
    fn tokens_are_found_inside_documents() {
        let mut found = Vec::new();
        add_tokens(r#"{"user": {"name": "Ada", "tokens": ["q7w8e9r0t1y2"]}, "theme": "dark"}"#, &mut found);
        let texts: Vec<&str> = found.iter().map(Secret::expose_secret).collect();
        assert_eq!(texts, ["q7w8e9r0t1y2"]);
    }
}
