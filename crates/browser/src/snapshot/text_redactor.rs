//! Redaction of a page before anything is searched or shown: a search that finds part of a secret reveals it as well.

use super::{Page, node::Node};
use crate::text::{Limit, TextCutter};
use redact::MASK;
use std::{collections::HashMap, sync::Arc};

/// The limits of the page script, which a session without secrets keeps to.
const MAX_NAME: Limit = Limit::Units(300);
const MAX_VALUE: Limit = Limit::Units(300);
const MAX_LONG_VALUE: Limit = Limit::Units(20_000);
const MAX_HREF: usize = 500;
/// In bytes, so that the smallest reply has room for it.
pub(super) const MAX_LABEL: Limit = Limit::Bytes(80);

impl Page {
    /// The refs of fields whose value holds a secret here and none in `masked`.
    pub(crate) fn fields_masked_in<'a>(&'a self, masked: &'a Page) -> impl Iterator<Item = &'a str> {
        let count = |node: &Node| node.value.as_ref().map_or(0, |value| value.matches(MASK).count());
        let changed =
            self.nodes.iter().zip(&masked.nodes).filter(|(before, after)| !Arc::ptr_eq(before, after));
        changed
            .filter(move |(before, after)| count(after) > count(before))
            .filter_map(|(before, _)| before.reference.as_deref())
    }

    /// Masks secrets in the title and in every node, then cuts.
    pub(crate) fn redacted(mut self, text: &TextCutter) -> Page {
        self.redact_neighbours(text);
        for shared in &mut self.nodes {
            if shared.needs_redaction(text) {
                Arc::make_mut(shared).redact(text);
            }
        }
        self.title = text.redact_and_cut(&self.title, MAX_NAME);
        self
    }

    /// Masks secrets that are split over neighbouring nodes: lines, cells, list items, inputs. A node's name repeats the
    /// texts inside it, so that names of one role are neighbours of each other, and texts are, with the fields among them.
    fn redact_neighbours(&mut self, text: &TextCutter) {
        let Some(redactor) = text.redactor() else { return };
        let mut texts = Vec::new();
        let mut values = Vec::new();
        let mut names: HashMap<&str, Vec<(usize, Part)>> = HashMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            let is_text = node.role == "text";
            if is_text || node.value.is_some() {
                texts.push((at, Part::Name));
            }
            if node.value.is_some() {
                texts.push((at, Part::Value));
                values.push((at, Part::Value));
            }
            if !is_text {
                names.entry(&node.role).or_default().push((at, Part::Name));
            }
        }
        let mut lists: Vec<Vec<(usize, Part)>> = names.into_values().collect();
        lists.extend([texts, values]);
        for list in lists.into_iter().filter(|list| list.len() > 1) {
            let parts: Vec<&str> = list.iter().map(|(at, part)| self.nodes[*at].text_of(*part)).collect();
            for (place, masked) in redactor.mask_neighbours(&parts) {
                let Some((at, part)) = list.get(place) else { continue };
                let node = Arc::make_mut(&mut self.nodes[*at]);
                match part {
                    Part::Name => node.name = masked,
                    Part::Value => node.value = Some(masked),
                }
            }
        }
    }
}

/// A text of a node that is beside that of another one.
#[derive(Clone, Copy)]
enum Part {
    Name,
    Value,
}

impl Node {
    fn text_of(&self, part: Part) -> &str {
        match part {
            Part::Name => &self.name,
            Part::Value => self.value.as_deref().unwrap_or_default(),
        }
    }

    fn max_name(&self) -> Limit {
        if self.role == "text" { Limit::None } else { MAX_NAME }
    }

    fn max_value(&self) -> Limit {
        if matches!(&*self.role, "searchbox" | "textbox") { MAX_LONG_VALUE } else { MAX_VALUE }
    }

    fn needs_redaction(&self, text: &TextCutter) -> bool {
        let changes =
            |part: &Option<String>, limit| part.as_ref().is_some_and(|part| text.changes(part, limit));
        text.changes(&self.name, self.max_name())
            || changes(&self.value, self.max_value())
            || changes(&self.visible_label, MAX_LABEL)
            || changes(&self.href, Limit::Bytes(MAX_HREF))
    }

    fn redact(&mut self, text: &TextCutter) {
        let cut = |part: &Option<String>, limit| part.as_ref().map(|part| text.redact_and_cut(part, limit));
        self.name = text.redact_and_cut_lines(&self.name, self.max_name());
        self.value = self.value.as_ref().map(|value| text.redact_and_cut_lines(value, self.max_value()));
        self.visible_label = cut(&self.visible_label, MAX_LABEL);
        self.href = self.href.as_ref().map(|href| text.redact_and_cut_url(href, MAX_HREF));
    }
}
