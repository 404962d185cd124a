//! A node's text as one sequence of bytes, its name and then its value, so that it can be rendered in parts.

use super::node::Node;
use crate::text::cut;

/// Longer words may be split, in bytes.
const MAX_WORD_BYTES: usize = 40;
/// Bytes of the visible label beside a part of the name.
const LABEL_BESIDE_PART_BYTES: usize = 16;

impl Node {
    pub fn text_len(&self) -> usize {
        self.name.len() + self.value.as_deref().map_or(0, str::len)
    }

    /// Whether a part can begin at this offset.
    pub fn is_part_start(&self, from: usize) -> bool {
        from < self.text_len() && self.part_end(0, from) == from
    }

    /// The last offset up to `to` where a part that begins at `from` can end.
    /// Only the first part of a node holds some of both name and value.
    pub fn part_end(&self, from: usize, to: usize) -> usize {
        let name = self.name.len();
        if to <= name {
            return floor(&self.name, to);
        }
        if from > 0 && from < name {
            return name;
        }
        name + self.value.as_deref().map_or(0, |value| floor(value, to - name))
    }

    /// The same offset, or the end of a word shortly before it.
    pub fn word_end(&self, from: usize, to: usize) -> usize {
        let name = self.name.len();
        let (text, start) = match self.value.as_deref() {
            Some(value) if to > name => (value, name),
            _ => (self.name.as_str(), 0),
        };
        if to >= self.text_len() || to == name {
            return to;
        }
        let part = &text[from.max(start) - start..to - start];
        match part.rfind([' ', '\n']) {
            Some(space) if part.len() - space <= MAX_WORD_BYTES => to - (part.len() - space) + 1,
            _ => to,
        }
    }

    /// End of the shortest part.
    pub fn min_part_end(&self, from: usize) -> usize {
        let next = if from < self.name.len() {
            self.name[from..].chars().next()
        } else {
            self.value.as_deref().and_then(|value| value[from - self.name.len()..].chars().next())
        };
        from + next.map_or(0, char::len_utf8)
    }

    /// The node with this part of its text. The first part is the node itself, any other is plain text.
    pub fn part(&self, from: usize, to: usize) -> Node {
        let name = self.name.len();
        let mut part = Node { depth: self.depth, ..Node::default() };
        if from == 0 {
            part.role.clone_from(&self.role);
            part.reference.clone_from(&self.reference);
            part.states.clone_from(&self.states);
            // Without room for the name there is no room for the whole label either.
            let label_bytes = if to < self.text_len() { LABEL_BESIDE_PART_BYTES } else { usize::MAX };
            part.visible_label = self.visible_label.as_deref().map(|label| cut(label, label_bytes));
            self.name[..to.min(name)].clone_into(&mut part.name);
            if to > name {
                part.value = self.value.as_deref().map(|value| value[..to - name].to_owned());
            }
        } else {
            "text".clone_into(&mut part.role);
            part.states.unseen = self.states.unseen;
            part.states.hidden = self.states.hidden;
            let text = match self.value.as_deref() {
                Some(value) if from >= name => &value[from - name..to - name],
                _ => &self.name[from..to],
            };
            text.clone_into(&mut part.name);
        }
        part
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_parts_are_the_whole_text() {
        let whole = Node { name: "nä mé".into(), value: Some("vä l ue".into()), ..Node::default() };
        for step in 1..12 {
            let (mut from, mut joined) = (0, String::new());
            while from < whole.text_len() {
                assert!(whole.is_part_start(from), "{from}");
                let to = whole.part_end(from, from + step).max(whole.min_part_end(from));
                let to = whole.word_end(from, to);
                assert!(to > from, "{from} {to}");
                let part = whole.part(from, to);
                joined.push_str(&part.name);
                joined.push_str(part.value.as_deref().unwrap_or_default());
                from = to;
            }
            assert_eq!(joined, "nä mévä l ue", "in steps of {step}");
        }
        for wrong in [2, whole.text_len(), 99] {
            assert!(!whole.is_part_start(wrong), "{wrong}");
        }
    }
}
