//! What a screenshot mask covers: typed text, secrets, and keys that a site shows.

use redact::{PhraseSet, Secret, in_utf16_units};
use std::{fmt, ops::Range};

/// The text that a screenshot must not show, besides the content of fields.
#[derive(Clone, Default)]
pub struct ScreenshotMask {
    pub(super) terms: PhraseSet,
    pub(super) is_incomplete: bool,
    pub(super) only_secrets: bool,
    /// Text that looks like a credential is masked as well.
    masks_keys: bool,
}

impl ScreenshotMask {
    /// Masks all fields, and these texts.
    pub fn typed_text<'a>(texts: impl IntoIterator<Item = &'a str>) -> ScreenshotMask {
        ScreenshotMask { terms: PhraseSet::new(texts), ..ScreenshotMask::default() }
    }

    /// Masks only secret fields, and fields that hold secrets: for a person who has to see what is about to be sent.
    pub fn only_secrets() -> ScreenshotMask {
        ScreenshotMask { only_secrets: true, ..ScreenshotMask::default() }
    }

    /// Also masks these texts, in place of those before.
    pub fn with_texts<'a>(self, texts: impl IntoIterator<Item = &'a str>) -> ScreenshotMask {
        ScreenshotMask { terms: PhraseSet::new(texts).with_secrets_of(&self.terms), ..self }
    }

    /// Also masks these secrets in every encoding, and whatever stands between their characters; and keys that a site
    /// shows, by their form. Replaces earlier secrets.
    pub fn with_secrets<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> ScreenshotMask {
        ScreenshotMask { terms: self.terms.with_secrets(secrets), masks_keys: true, ..self }
    }

    /// Shares the secrets of another mask, without building them again.
    pub fn with_secrets_of(self, other: &ScreenshotMask) -> ScreenshotMask {
        let masks_keys = self.masks_keys || other.masks_keys;
        ScreenshotMask { terms: self.terms.with_secrets_of(&other.terms), masks_keys, ..self }
    }

    /// Some typed text is no longer known: no screenshot can be masked.
    pub fn incomplete() -> ScreenshotMask {
        ScreenshotMask { is_incomplete: true, ..ScreenshotMask::default() }
    }

    /// Whether there is a text to look for.
    pub(super) fn has_terms(&self) -> bool {
        self.masks_keys || !self.terms.is_empty()
    }

    /// In UTF-16 units.
    pub(super) fn find(&self, text: &str) -> Vec<Range<u32>> {
        let mut found = self.terms.find(text);
        if self.masks_keys {
            // A zero stands between texts that are apart: a label and its value are.
            let spaced = text.replace('\0', " ");
            found.extend(in_utf16_units(&spaced, policy::credential::find_all(&spaced)));
            found.sort_unstable_by_key(|range| (range.start, range.end));
            found.dedup_by(|next, before| {
                let overlaps = next.start <= before.end;
                before.end = if overlaps { before.end.max(next.end) } else { before.end };
                overlaps
            });
        }
        found
    }
}

/// Without the terms, which may be secrets.
impl fmt::Debug for ScreenshotMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScreenshotMask").field("is_incomplete", &self.is_incomplete).finish_non_exhaustive()
    }
}
