//! A node's text as one stretch of bytes, its name and then its value, so that it can be shown in parts.

use super::node::Node;

impl Node {
    pub fn text_len(&self) -> usize {
        self.name.len() + self.value.as_deref().map_or(0, str::len)
    }

    /// Whether a part can begin here.
    pub fn is_part_start(&self, from: usize) -> bool {
        from < self.text_len() && self.part_end(0, from) == from
    }

    /// The last place up to `to` where a part that begins at `from` can end.
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

    /// The end of the shortest part.
    pub fn first_part_end(&self, from: usize) -> usize {
        let next = if from < self.name.len() {
            self.name[from..].chars().next()
        } else {
            self.value.as_deref().and_then(|value| value[from - self.name.len()..].chars().next())
        };
        from + next.map_or(0, char::len_utf8)
    }

    /// A node with this part of the text only. The first part is the node itself, any other is plain text.
    pub fn part(&self, from: usize, to: usize) -> Node {
        let name = self.name.len();
        let mut part = Node { depth: self.depth, ..Node::default() };
        if from == 0 {
            part.role.clone_from(&self.role);
            part.reference.clone_from(&self.reference);
            part.states.clone_from(&self.states);
            self.name[..to.min(name)].clone_into(&mut part.name);
            if to > name {
                part.value = self.value.as_deref().map(|value| value[..to - name].to_owned());
            }
        } else {
            "text".clone_into(&mut part.role);
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
    fn parts_put_together_are_the_whole_text() {
        let whole = Node { name: "nämé".into(), value: Some("välue".into()), ..Node::default() };
        for step in 1..12 {
            let (mut from, mut told) = (0, String::new());
            while from < whole.text_len() {
                assert!(whole.is_part_start(from), "{from}");
                let to = whole.part_end(from, from + step).max(whole.first_part_end(from));
                let part = whole.part(from, to);
                told.push_str(&part.name);
                told.push_str(part.value.as_deref().unwrap_or_default());
                from = to;
            }
            assert_eq!(told, "nämévälue", "in steps of {step}");
        }
        for wrong in [2, whole.text_len(), 99] {
            assert!(!whole.is_part_start(wrong), "{wrong}");
        }
    }
}
