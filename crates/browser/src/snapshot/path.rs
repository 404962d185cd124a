//! The ancestors of a node in one short line.

use super::{node::Page, outline::quote};

/// Ancestors that are listed: the outermost one and the nearest few.
const MOST_NAMED: usize = 4;
/// Characters of an ancestor's name.
const MOST_OF_A_NAME: usize = 16;
/// The longest path, in bytes.
const LONGEST: usize = 110;

/// `main > table "Orders" > row`; empty at the top level.
pub(super) fn path(page: &Page, at: usize) -> String {
    path_above(page, at, page.nodes[at].depth)
}

/// The path of a node with this depth that would come directly before node `at`.
pub(super) fn path_above(page: &Page, at: usize, depth: usize) -> String {
    let named: Vec<String> = ancestors_above(page, at, depth).iter().map(|at| words(page, *at)).collect();
    let Some((outermost, inner)) = named.split_last() else { return String::new() };
    let inner_first =
        |count: usize| inner[..count].iter().rev().fold(String::new(), |told, one| told + " > " + one);
    // The nearest ancestors say the most, so those between them and the outermost one are dropped first.
    for count in (1..=inner.len().min(MOST_NAMED - 1)).rev() {
        let skipped = if count < inner.len() { " > …" } else { "" };
        let told = format!("{outermost}{skipped}{}", inner_first(count));
        if told.len() <= LONGEST {
            return told;
        }
    }
    inner.first().map_or_else(|| outermost.clone(), |nearest| format!("… > {nearest}"))
}

fn words(page: &Page, at: usize) -> String {
    let node = &page.nodes[at];
    let mut words = node.role.clone();
    if !node.name.is_empty() {
        words.push(' ');
        quote(&node.name.chars().take(MOST_OF_A_NAME).collect::<String>(), &mut words);
    }
    words
}

/// Ancestors from the parent up.
pub(super) fn ancestors(page: &Page, at: usize) -> Vec<usize> {
    ancestors_above(page, at, page.nodes[at].depth)
}

fn ancestors_above(page: &Page, at: usize, mut depth: usize) -> Vec<usize> {
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
    fn a_path_is_short_however_deep_a_node_is() {
        let mut lines =
            String::from("0 main\n1 table Orders of this \"year\" and of the last\n2 row\n3 link x\n");
        let small = page(&lines);
        assert_eq!(path(&small, 0), "");
        assert_eq!(path(&small, 3), "main > table \"Orders of this \\\"\" > row");
        for depth in 4..60 {
            lines.push_str(&format!("{depth} listitem ääääääääääääääääääääää{depth}\n"));
        }
        let deep = page(&lines);
        let told = path(&deep, deep.nodes.len() - 1);
        assert!(told.starts_with("main > …") && told.len() <= LONGEST + 6, "{} {told}", told.len());
    }
}
