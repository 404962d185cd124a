//! Where in the page something stands: its ancestors, in one short line.

use super::{node::Page, outline::quote};

/// Ancestors that are named: the outermost one and the last few.
const MOST_NAMED: usize = 4;
/// What of an ancestor's name is told, in characters.
const MOST_OF_A_NAME: usize = 16;
/// The longest line, in bytes; roles and names are far shorter as a rule.
const LONGEST: usize = 110;

/// `main > table "Orders" > row`, or nothing for what is at the top.
pub(super) fn path(page: &Page, at: usize) -> String {
    let ancestors = ancestors(page, at);
    let mut told = String::new();
    let skipped = ancestors.len().saturating_sub(MOST_NAMED);
    for (place, ancestor) in ancestors.iter().rev().enumerate() {
        if skipped > 0 && place == 1 {
            told.push_str(" > …");
        }
        if place > 0 && place <= skipped {
            continue;
        }
        let node = &page.nodes[*ancestor];
        let mut words = node.role.clone();
        if !node.name.is_empty() {
            words.push(' ');
            quote(&node.name.chars().take(MOST_OF_A_NAME).collect::<String>(), &mut words);
        }
        if told.len() + words.len() + 3 > LONGEST {
            told.push_str(" > …");
            break;
        }
        if place > 0 {
            told.push_str(" > ");
        }
        told.push_str(&words);
    }
    told
}

/// From the parent up.
pub(super) fn ancestors(page: &Page, at: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut depth = page.nodes[at].depth;
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
