//! Redaction of a page before anything is searched or shown: a search that finds part of a secret reveals it as well.

use super::{Page, node::Node};
use crate::text::{Limit, TextCutter};
use std::sync::Arc;

/// The limits of the page script, which a session without secrets keeps to.
const MAX_NAME: Limit = Limit::Units(300);
const MAX_VALUE: Limit = Limit::Units(300);
const MAX_HREF: usize = 500;
/// In bytes, so that the smallest reply has room for it.
pub(super) const MAX_LABEL: Limit = Limit::Bytes(80);

impl Page {
    /// Masks secrets in the title and in every node, then cuts.
    pub(crate) fn redacted(mut self, text: &TextCutter) -> Page {
        for shared in &mut self.nodes {
            if shared.needs_redaction(text) {
                Arc::make_mut(shared).redact(text);
            }
        }
        self.title = text.redact_and_cut(&self.title, MAX_NAME);
        self
    }
}

impl Node {
    fn max_name(&self) -> Limit {
        if self.role == "text" { Limit::None } else { MAX_NAME }
    }

    fn needs_redaction(&self, text: &TextCutter) -> bool {
        let changes =
            |part: &Option<String>, limit| part.as_ref().is_some_and(|part| text.changes(part, limit));
        text.changes(&self.name, self.max_name())
            || changes(&self.value, MAX_VALUE)
            || changes(&self.visible_label, MAX_LABEL)
            || changes(&self.href, Limit::Bytes(MAX_HREF))
    }

    fn redact(&mut self, text: &TextCutter) {
        let cut = |part: &Option<String>, limit| part.as_ref().map(|part| text.redact_and_cut(part, limit));
        self.name = text.redact_and_cut(&self.name, self.max_name());
        self.value = cut(&self.value, MAX_VALUE);
        self.visible_label = cut(&self.visible_label, MAX_LABEL);
        self.href = self.href.as_ref().map(|href| text.redact_and_cut_url(href, MAX_HREF));
    }
}
