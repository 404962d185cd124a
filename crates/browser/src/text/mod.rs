//! Text from pages: invisible characters removed, bounded, and kept apart from the driver's own words.

mod page_text;
mod redaction;

pub use page_text::{AttributedText, FENCE_BYTES, PageText, RedactedPageText, mark_page_text, page_block};
pub(crate) use redaction::{HTML_SLACK, Limit, MAX_DECODED_TEXT, MAX_URL, TextCutter};
pub use redaction::{MaskSecrets, ScriptTextLimits, TEXT_SLACK, TextRedactor};

use redact::is_invisible;
use url::Url;

const MAX_SCHEME: usize = 32;

/// The visible characters in one line; a line break becomes a space.
pub(crate) fn visible_line(text: &str) -> String {
    // A page has up to a hundred thousand texts, and most are plain ASCII.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if matches!(c, '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .filter(|c| !is_invisible(*c))
        .collect()
}

/// The page script's sign for a line break that is kept.
const LINE_BREAK: char = '\u{2028}';

/// The visible characters, with the line breaks that the page script kept.
pub(crate) fn visible_lines(text: &str) -> String {
    if !text.contains([LINE_BREAK, '\n']) {
        return visible_line(text);
    }
    let lines: Vec<String> = text.split([LINE_BREAK, '\n']).map(visible_line).collect();
    lines.join("\n")
}

/// The last character boundary within the first `limit` bytes. Text of a page is cut by [`TextCutter`] instead.
pub(crate) fn cut_at(text: &str, limit: usize) -> usize {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Truncates a URL to `limit` bytes without changing its origin; [`TextCutter`] masks it first. Removes user name and password: they stand before the
/// host, where a part of them could pass for one.
pub(crate) fn truncate_url(text: &str, limit: usize) -> String {
    let fits = text.len() <= limit;
    if fits && !text.contains('@') {
        return text.to_owned();
    }
    // A URL without an origin.
    let scheme_only =
        || format!("{}:", &text[..cut_at(text, MAX_SCHEME)].split(':').next().unwrap_or_default());
    // A data: URL has no site, and may hold a large image.
    if !fits && text.starts_with("data:") && !text.starts_with("data:/") {
        return text[..cut_at(text, limit)].to_owned();
    }
    let Ok(mut url) = Url::parse(text) else { return if fits { text.to_owned() } else { scheme_only() } };
    if !url.username().is_empty() || url.password().is_some() {
        if url.set_username("").and_then(|()| url.set_password(None)).is_err() {
            return scheme_only();
        }
    } else if fits {
        return text.to_owned();
    }
    let cut = &url.as_str()[..cut_at(url.as_str(), limit)];
    let site = |url: &Url| (url.origin().ascii_serialization(), url.host_str().map(str::to_owned));
    if Url::parse(cut).is_ok_and(|cut| site(&cut) == site(&url)) {
        return cut.to_owned();
    }
    url_origin(&url, limit)
}

/// The origin alone, or the scheme where there is none or it is too long.
fn url_origin(url: &Url, limit: usize) -> String {
    let scheme_only = || format!("{}:", &url.scheme()[..url.scheme().len().min(MAX_SCHEME)]);
    let origin = match url.scheme() {
        "http" | "https" => format!("{}/", url.origin().ascii_serialization()),
        "blob" => format!("blob:{}/", url.origin().ascii_serialization()),
        _ => scheme_only(),
    };
    if origin.len() > limit { scheme_only() } else { origin }
}

/// The visible characters of the first `limit` bytes, in one line: for the words of a caller, of Chromium or of the
/// driver, and for what is masked already. Text of a page is cut by [`TextCutter`] instead.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    visible_line(&text[..cut_at(text, limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("äää", 3), "ä");
        assert_eq!(cut("abc", 8), "abc");
    }

    #[test]
    fn only_visible_characters_are_kept() {
        for (text, expected) in [
            ("plain ü 漢 😀", "plain ü 漢 😀"),
            ("two\nlines\tand\u{2028}more", "two lines and more"),
            ("a\u{200b}b\u{feff}c\u{ad}d\u{2060}e", "abcde"),
            ("\u{202e}gnp.exe\u{202c}\u{2066}x\u{2069}", "gnp.exex"),
            ("hi\u{e0049}\u{e0067}\u{e007f}\u{e0100}\u{fe0f}", "hi"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("\u{fdd0}ours?\u{fdd1}", "ours?"),
        ] {
            assert_eq!(visible_line(text), expected);
        }
    }

    #[test]
    fn kept_line_breaks_stay_line_breaks() {
        for (text, expected) in [
            ("plain", "plain"),
            ("two\u{2028}lines", "two\nlines"),
            ("a\u{200b}b\u{2028}\u{2028}  c\td\u{2029}e", "ab\n\n  c d e"),
            ("again\nkept", "again\nkept"),
        ] {
            assert_eq!(visible_lines(text), expected);
        }
    }

    #[test]
    fn an_address_is_of_the_same_site_however_it_is_cut() {
        let zeros = |count: usize| "0".repeat(count);
        let posing = |before: usize, host: &str| format!("https://own.test:{}443@{host}", zeros(before - 20));
        for (text, expected) in [
            ("https://own.test/a?b#c".to_owned(), "https://own.test/a?b#c".to_owned()),
            ("https://own.test/@me".to_owned(), "https://own.test/@me".to_owned()),
            ("https://u:p@own.test/a".to_owned(), "https://own.test/a".to_owned()),
            ("https://own.test@evil.test/".to_owned(), "https://evil.test/".to_owned()),
            ("mailto:me@own.test".to_owned(), "mailto:me@own.test".to_owned()),
            ("https://me@[not an address".to_owned(), "https://me@[not an address".to_owned()),
            (posing(99, "evil.test/"), "https://evil.test/".to_owned()),
            (posing(100, "evil.test/"), "https://evil.test/".to_owned()),
            (posing(101, "evil.test/"), "https://evil.test/".to_owned()),
            (posing(5000, "evil.test/a"), "https://evil.test/a".to_owned()),
            (
                posing(5000, &format!("evil.test:81/{}", zeros(200))),
                format!("https://evil.test:81/{}", zeros(79)),
            ),
            (format!("https://own.test/{}", zeros(200)), format!("https://own.test/{}", zeros(83))),
            // Its host is longer than what is kept.
            (format!("https://own.test.{}.evil.test/", zeros(100)), "https:".to_owned()),
            (format!("https://own.test:443{}@[evil/", zeros(200)), "https:".to_owned()),
            (format!("other://own.test:443{}@evil.test/", zeros(200)), "other://evil.test/".to_owned()),
            (format!("other://own.test.{}.evil.test/", zeros(200)), "other:".to_owned()),
            (
                format!("blob:https://own.test/1#{}", zeros(200)),
                format!("blob:https://own.test/1#{}", zeros(76)),
            ),
            (
                format!("blob:https://own.test:{}443@evil.test/1", zeros(75)),
                "blob:https://evil.test/".to_owned(),
            ),
            (format!("data:text/html,{}", zeros(200)), format!("data:text/html,{}", zeros(85))),
            (format!("data://own.test:{}@evil.test/", zeros(200)), "data://evil.test/".to_owned()),
            (zeros(200), format!("{}:", zeros(32))),
        ] {
            assert_eq!(truncate_url(&text, 100), expected, "{text}");
        }
    }
}
