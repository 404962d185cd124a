//! What a signed-in session must not tell is taken out of its pages before anybody looks for anything in them: a search
//! that finds part of a secret tells it as well as a reply that shows it.

use crate::{browser::Browser, snapshot::Page};
use std::sync::Arc;

/// Gives a text without its secrets; nothing if it has none.
pub type Mask = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl Browser {
    /// From now on. It is asked anew at every reading, so what it knows may grow.
    pub fn hide(&self, mask: Mask) {
        self.shared.lock().mask = Some(mask);
    }

    pub(crate) fn mask(&self) -> Option<Mask> {
        self.shared.lock().mask.clone()
    }
}

impl Page {
    /// Without secrets in any of its nodes.
    pub(crate) fn without(mut self, mask: &Mask) -> Page {
        for shared in &mut self.nodes {
            let texts = [
                Some(&shared.name),
                shared.value.as_ref(),
                shared.href.as_ref(),
                shared.visible_label.as_ref(),
            ];
            if !texts.into_iter().flatten().any(|text| mask(text).is_some()) {
                continue;
            }
            let node = Arc::make_mut(shared);
            let texts =
                [Some(&mut node.name), node.value.as_mut(), node.href.as_mut(), node.visible_label.as_mut()];
            for text in texts.into_iter().flatten() {
                if let Some(masked) = mask(text) {
                    *text = masked;
                }
            }
        }
        if let Some(masked) = mask(&self.title) {
            self.title = masked;
        }
        self
    }
}
