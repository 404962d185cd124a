//! The ancestors of a node in one short line.

use super::{node::Page, outline::push_quoted};

/// Ancestors that are listed: the outermost one and the nearest few.
const MAX_ANCESTORS: usize = 4;
/// Characters of an ancestor's name.
const MAX_NAME_CHARS: usize = 16;
/// The longest path, in bytes.
const MAX_BYTES: usize = 110;

/// `main > table "Orders" > row`; empty at the top level.
pub(super) fn ancestor_path(page: &Page, at: usize) -> String {
    ancestor_path_at(page, at, page.nodes[at].depth)
}

/// The path of a node with this depth that would come directly before node `at`.
pub(super) fn ancestor_path_at(page: &Page, at: usize, depth: usize) -> String {
    let labels: Vec<String> = ancestors_at(page, at, depth).iter().map(|at| label(page, *at)).collect();
    let Some((outermost, inner)) = labels.split_last() else { return String::new() };
    let inner_first = |count: usize| {
        inner[..count].iter().rev().fold(String::new(), |joined, label| joined + " > " + label)
    };
    // The nearest ancestors say the most, so those between them and the outermost one are dropped first.
    for count in (1..=inner.len().min(MAX_ANCESTORS - 1)).rev() {
        let skipped = if count < inner.len() { " > …" } else { "" };
        let path = format!("{outermost}{skipped}{}", inner_first(count));
        if path.len() <= MAX_BYTES {
            return path;
        }
    }
    inner.first().map_or_else(|| outermost.clone(), |nearest| format!("… > {nearest}"))
}

fn label(page: &Page, at: usize) -> String {
    let node = &page.nodes[at];
    let mut label = node.role.clone();
    if !node.name.is_empty() {
        label.push(' ');
        push_quoted(&node.name.chars().take(MAX_NAME_CHARS).collect::<String>(), &mut label);
    }
    label
}

/// Ancestors from the parent up.
pub(super) fn ancestors(page: &Page, at: usize) -> Vec<usize> {
    ancestors_at(page, at, page.nodes[at].depth)
}

fn ancestors_at(page: &Page, at: usize, mut depth: usize) -> Vec<usize> {
    let mut found = Vec::new();
    for above in (0..at).rev() {
        if depth == 0 {
            break;
        }
        if page.nodes[above].depth < depth {
            depth = page.nodes[above].depth;
            found.push(above);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};

    #[test]
    fn a_path_is_short_at_any_depth() {
        let mut lines =
            String::from("0 main\n1 table Orders of this \"year\" and of the last\n2 row\n3 link x\n");
        let small = page(&lines);
        assert_eq!(ancestor_path(&small, 0), "");
        assert_eq!(ancestor_path(&small, 3), "main > table \"Orders of this \\\"\" > row");
        for depth in 4..60 {
            lines.push_str(&format!("{depth} listitem ääääääääääääääääääääää{depth}\n"));
        }
        let deep = page(&lines);
        let path = ancestor_path(&deep, deep.nodes.len() - 1);
        assert!(path.starts_with("main > …") && path.len() <= MAX_BYTES + 6, "{} {path}", path.len());
    }
}
