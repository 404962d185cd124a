//! Keys that look like ids and digests: UUIDs and hex of the usual lengths. They count where a label beside them or the
//! address around them says what they are.

use super::{entropy, pattern};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Fewer characters of hex are a short id.
const MIN_HEX_IN_URL: usize = 16;

/// The ranges of keys after a label such as "Feed token", and in addresses that are secret themselves: feeds, calendars,
/// webhooks.
pub fn find_labelled(text: &str) -> Vec<Range<usize>> {
    let labelled = LABELLED.captures_iter(text).filter_map(|hit| hit.get(1)).map(|hit| hit.range());
    let in_urls = SECRET_URL.find_iter(text).flat_map(|url| keys_in_url(url.as_str(), url.start()));
    labelled.chain(in_urls).collect()
}

fn keys_in_url(url: &str, offset: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for part in url.split(['/', '?', '&', '=', '#', '.']) {
        let place = |range: Range<usize>| offset + start + range.start..offset + start + range.end;
        let is_key = |hex: &regex::Match| {
            hex.len() >= MIN_HEX_IN_URL && hex.as_str().bytes().any(|b| b.is_ascii_digit())
        };
        let before = found.len();
        found.extend(HEX_RUN.find_iter(part).filter(is_key).map(|run| place(run.range())));
        if found.len() == before && (entropy::is_uuid(part) || entropy::is_random(part)) {
            found.push(place(0..part.len()));
        }
        start += part.len() + 1;
    }
    found
}

/// At most forty characters stand between the label and the key: punctuation, "is", a line break, the end of a cell.
static LABELLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?is)(?:\bkeys?|api[ _-]?key|token|secret|passwor[dt]|passcode|credential|licen[cs]e|webhook|jeton|schl\u{fc}ssel|clave|chiave|chave|\u{43a}\u{43b}\u{44e}\u{447}|\u{442}\u{43e}\u{43a}\u{435}\u{43d})s?\b.{0,40}?\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32})\b",
    )
});
/// Who knows such an address may read what is behind it.
static SECRET_URL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b(?:https?|webcals?|feed)://[^\s\x00'"<>]*?(?:feed|rss|atom|ical|\.ics|calendar|webhook|hooks|private|subscri)[^\s\x00'"<>]*"#,
    )
});
static HEX_RUN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9a-fA-F]+"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_digests_are_keys_where_something_says_so() {
        let uuid = "a81bc81b-dead-4e5d-abff-90865d1e13b1";
        let (md5, sha1) = ("d41d8cd98f00b204e9800998ecf8427e", "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12");
        let sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        for (text, expected) in [
            (format!("API key\n{uuid}"), vec![uuid]),
            (format!("Your personal access token is: {sha1}"), vec![sha1]),
            (format!("Client secret (shown once)\n\n{md5}"), vec![md5]),
            (format!("Schlüssel: {sha256}"), vec![sha256]),
            (format!("https://cal.test/ical/{md5}/basic.ics"), vec![md5]),
            (format!("webcal://cal.test/private-{md5}/x"), vec![md5]),
            (format!("https://hub.test/feeds/ada?t={uuid}&n=5"), vec![uuid]),
            (format!("https://hooks.test/services/T00/{sha1}"), vec![sha1]),
            (format!("commit {sha1}"), vec![]),
            (format!("Order {uuid} was sent"), vec![]),
            (format!("https://shop.test/orders/{uuid}"), vec![]),
            (format!("monkey {md5}"), vec![]),
            (format!("A key is lost. {} {md5}", "words ".repeat(10)), vec![]),
        ] {
            let found: Vec<&str> = find_labelled(&text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
