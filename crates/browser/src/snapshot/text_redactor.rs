//! Redaction of a page before anything is searched or shown: a search that finds part of a secret reveals it as well.

use super::Page;
use std::sync::Arc;

/// Returns the text without its secrets; `None` if it has none.
pub type TextRedactor = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl Page {
    /// Removes secrets from the title and from every node.
    pub(crate) fn redacted(mut self, redact: &TextRedactor) -> Page {
        for shared in &mut self.nodes {
            let texts = [
                Some(&shared.name),
                shared.value.as_ref(),
                shared.href.as_ref(),
                shared.visible_label.as_ref(),
            ];
            if !texts.into_iter().flatten().any(|text| redact(text).is_some()) {
                continue;
            }
            let node = Arc::make_mut(shared);
            let texts =
                [Some(&mut node.name), node.value.as_mut(), node.href.as_mut(), node.visible_label.as_mut()];
            for text in texts.into_iter().flatten() {
                if let Some(redacted) = redact(text) {
                    *text = redacted;
                }
            }
        }
        if let Some(redacted) = redact(&self.title) {
            self.title = redacted;
        }
        self
    }
}
