//! Masks secrets in page text, then cuts it. Never the other way round: only whole secrets are recognized, and a cut leaves
//! a part of one.
//!
//! In a session with secrets the page script sends [`TEXT_SLACK`] characters beyond each limit, and marks where it had
//! to cut itself. In any other session it keeps to the limits, and nothing here has anything to do.

use super::{cut_at, truncate_url, url_origin, visible_line, visible_lines};
use redact::{UNAMBIGUOUS, random_text};
use serde::Serialize;
use std::{borrow::Cow, sync::Arc};
use url::Url;

/// Characters, or bytes, that are kept of a text beyond what is shown of it, until it is masked. The longest secret of a
/// session has as many.
pub const TEXT_SLACK: usize = 8 * 1024;
/// Titles, messages and URLs are cut to this size while they are decoded.
pub(crate) const MAX_DECODED_TEXT: usize = MAX_URL + TEXT_SLACK;
/// What is shown of a URL, in bytes.
pub(crate) const MAX_URL: usize = 8 * 1024;

/// The end of a text that was cut is not shown: a secret may begin there, of which a part is left.
const UNSAFE_TAIL: usize = 256;
/// The same in HTML, where a tag may stand before each character.
const UNSAFE_HTML_TAIL: usize = 3 * TEXT_SLACK;
/// Bytes of HTML that are kept beyond what is shown, until it is masked.
pub(crate) const HTML_SLACK: usize = UNSAFE_HTML_TAIL + TEXT_SLACK;

/// Masks the secrets of a session in texts of its pages. Only whole secrets count.
pub trait MaskSecrets: Send + Sync {
    /// The text without its secrets; `None` if it has none.
    fn mask(&self, text: &str) -> Option<String>;

    /// The same for texts that a page shows one after the other (cells, lines, inputs), over which a secret may be
    /// split. Returns those that change, each with its place in the list.
    fn mask_neighbours(&self, texts: &[&str]) -> Vec<(usize, String)>;
}

/// A secret that no page splits.
impl<F: Fn(&str) -> Option<String> + Send + Sync> MaskSecrets for F {
    fn mask(&self, text: &str) -> Option<String> {
        self(text)
    }

    fn mask_neighbours(&self, texts: &[&str]) -> Vec<(usize, String)> {
        texts.iter().enumerate().filter_map(|(at, text)| Some((at, self(text)?))).collect()
    }
}

pub type TextRedactor = Arc<dyn MaskSecrets>;

/// How much of a text is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// As the page script counts them, in UTF-16; a cut ends in an ellipsis.
    Units(usize),
    /// Without an ellipsis.
    Bytes(usize),
    /// It is sent in one piece, however long.
    None,
}

/// Masks texts of pages, and cuts them. All of them pass through it on their way out of the driver.
#[derive(Clone, Default)]
pub(crate) struct TextCutter {
    redactor: Option<TextRedactor>,
    /// Where the page script cut a text. Random, so that no page can forge it; empty without a redactor.
    mark: Arc<str>,
}

/// The first argument of each call of the page script, and none in a session without secrets.
#[derive(Clone, Debug, Serialize)]
pub struct ScriptTextLimits {
    slack: usize,
    mark: String,
    tail: usize,
}

impl TextCutter {
    pub fn new(redactor: TextRedactor) -> TextCutter {
        // Noncharacters, which are removed from all that is shown.
        let letters = random_text(UNAMBIGUOUS, 32);
        // A page that knew the mark could shorten its own texts, and no more.
        let letters = letters.as_deref().map_or(UNAMBIGUOUS, String::as_str);
        let mark = letters
            .chars()
            .filter_map(|letter| char::from_u32(0xfdd2 + u32::from(letter) % 29))
            .collect::<String>();
        TextCutter { redactor: Some(redactor), mark: mark.into() }
    }

    pub fn redactor(&self) -> Option<&TextRedactor> {
        self.redactor.as_ref()
    }

    pub fn script_limits(&self) -> Option<ScriptTextLimits> {
        self.redactor.as_ref().map(|_| ScriptTextLimits {
            slack: TEXT_SLACK,
            mark: self.mark.to_string(),
            tail: UNSAFE_TAIL,
        })
    }

    /// The visible characters of a text, in one line, with its mark if it has one: not masked yet.
    pub fn unmasked_line(&self, text: &str) -> String {
        match self.split_at_mark(text) {
            (text, false) => visible_line(text),
            (text, true) => visible_line(text) + &self.mark,
        }
    }

    /// The same with the line breaks that the page script kept.
    pub fn unmasked_lines(&self, text: &str) -> String {
        match self.split_at_mark(text) {
            (text, false) => visible_lines(text),
            (text, true) => visible_lines(text) + &self.mark,
        }
    }

    /// The visible characters of a text, in one line, masked and then cut.
    pub fn redact_and_cut(&self, text: &str, limit: Limit) -> String {
        self.redact_and_cut_as(visible_line, text, limit)
    }

    /// The same with its line breaks.
    pub fn redact_and_cut_lines(&self, text: &str, limit: Limit) -> String {
        self.redact_and_cut_as(visible_lines, text, limit)
    }

    fn redact_and_cut_as(&self, visible: fn(&str) -> String, text: &str, limit: Limit) -> String {
        let is_cut = matches!(limit, Limit::Bytes(_)) && is_cut_by_decoding(text);
        let (masked, is_cut) = self.mask(text, is_cut, UNSAFE_TAIL);
        let mut line = visible(&masked);
        match limit {
            Limit::Units(limit) => cut_units(&mut line, limit, is_cut),
            Limit::Bytes(limit) => line.truncate(cut_at(&line, limit)),
            Limit::None if is_cut => line.push('…'),
            Limit::None => {}
        }
        line
    }

    /// Whether [`TextCutter::redact_and_cut`] may change a visible line: a page has up to a hundred thousand, and most
    /// stay as they are.
    pub fn changes(&self, line: &str, limit: Limit) -> bool {
        let fits = match limit {
            Limit::Units(limit) | Limit::Bytes(limit) => line.len() <= limit,
            Limit::None => true,
        };
        let is_plain = fits && (line.is_ascii() || !self.split_at_mark(line).1);
        !is_plain || self.redactor.as_ref().is_some_and(|redactor| redactor.mask(line).is_some())
    }

    /// A URL, masked and then cut. Its origin stays as it is, so that policy can still decide on it.
    pub fn redact_and_cut_url(&self, url: &str, limit: usize) -> String {
        let is_cut = url.len() + 4 > limit + TEXT_SLACK;
        let (masked, _) = self.mask(url, is_cut, UNSAFE_TAIL);
        let site = |url: &str| {
            Url::parse(url)
                .ok()
                .map(|url| (url.origin().ascii_serialization(), url.host_str().map(str::to_owned)))
        };
        if let Cow::Owned(_) = masked
            && let Ok(parsed) = Url::parse(url)
            && site(&masked) != site(url)
        {
            return visible_line(&url_origin(&parsed, limit));
        }
        visible_line(&truncate_url(&masked, limit))
    }

    /// HTML, masked and then cut: each attribute, and the whole. Also returns whether the whole was cut.
    pub fn redact_and_cut_html(&self, html: &str, attribute: usize, limit: usize) -> (String, bool) {
        const ELLIPSIS: char = '…';
        let (masked, is_cut) = self.mask(html, false, UNSAFE_HTML_TAIL);
        let mut html = visible_line(&masked);
        if self.redactor.is_some() {
            html = cut_attributes(&html, attribute);
        }
        let is_cut = is_cut || html.len() > limit;
        if is_cut {
            html.truncate(cut_at(&html, limit.saturating_sub(ELLIPSIS.len_utf8())));
            html.push(ELLIPSIS);
        }
        (html, is_cut)
    }

    /// Masks a text, and drops its end if it was cut there. Also returns whether it was.
    fn mask<'a>(&self, text: &'a str, is_cut: bool, tail: usize) -> (Cow<'a, str>, bool) {
        let Some(redactor) = &self.redactor else { return (Cow::Borrowed(text), false) };
        let (raw, is_marked) = self.split_at_mark(text);
        let is_cut = is_cut || is_marked;
        let mut masked = redactor.mask(raw).map_or(Cow::Borrowed(raw), Cow::Owned);
        if is_cut {
            // What masking left of the end: nothing, if the mask of a secret is the end.
            let same = masked.chars().rev().zip(raw.chars().rev()).take(tail);
            let end: usize = same.take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum();
            let kept = masked.len() - end;
            match &mut masked {
                Cow::Borrowed(text) => *text = &text[..kept],
                Cow::Owned(text) => text.truncate(kept),
            }
        }
        (masked, is_cut)
    }

    /// The text up to where the script cut it, and whether it did.
    fn split_at_mark<'a>(&self, text: &'a str) -> (&'a str, bool) {
        match text.find(&*self.mark) {
            Some(at) if !self.mark.is_empty() => (&text[..at], true),
            _ => (text, false),
        }
    }
}

fn is_cut_by_decoding(text: &str) -> bool {
    text.len() + 4 > MAX_DECODED_TEXT
}

fn cut_units(line: &mut String, limit: usize, is_cut: bool) {
    let mut units = 0;
    let end = line.char_indices().find_map(|(at, c)| {
        units += c.len_utf16();
        (units > limit).then_some(at)
    });
    if let Some(end) = end {
        line.truncate(end);
    }
    if is_cut || end.is_some() {
        line.push('…');
    }
}

/// Cuts the values of attributes. The script escapes quotes and angle brackets, so a quote delimits a value, and no
/// value contains a bracket; a mask may have replaced one of them.
fn cut_attributes(html: &str, limit: usize) -> String {
    let mut cut = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(open) = rest.find("=\"") {
        let (before, value) = rest.split_at(open + 2);
        cut.push_str(before);
        let end = value.find(['"', '<', '>']).unwrap_or(value.len());
        let mut value_shown = value[..end].to_owned();
        cut_units(&mut value_shown, limit, false);
        cut.push_str(&value_shown);
        rest = &value[end..];
    }
    cut + rest
}

#[cfg(test)]
mod tests;
