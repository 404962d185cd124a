//! The default format: a line per node, indented, with a ref for whatever can be acted on.

use super::{
    Budgeted,
    node::{Node, Page},
};
use std::fmt::Write;

/// The text, and how many nodes it had no room for.
pub(super) fn write(page: &Page, budget: usize) -> (String, usize) {
    let mut out = Budgeted::new(budget);
    let mut at = 0;
    while at < page.nodes.len() {
        let node = &page.nodes[at];
        let inside = page.only_text(at);
        let nodes = 1 + usize::from(inside.is_some());
        out.line(&line(node, inside), nodes);
        at += nodes;
    }
    out.finish(page)
}

fn line(node: &Node, inside: Option<&str>) -> String {
    let mut line = " ".repeat(node.depth * 2);
    if node.role == "text" {
        line.push_str("- text: ");
        quote(&node.name, &mut line);
        return line;
    }
    line.push_str("- ");
    line.push_str(&node.role);
    if !node.name.is_empty() {
        line.push(' ');
        quote(&node.name, &mut line);
    }
    states(node, &mut line);
    if let Some(reference) = &node.reference {
        // Writing to a String does not fail.
        write!(line, " [ref={reference}]").ok();
    }
    let told = node.value.as_deref().or(inside);
    if let Some(told) = told.filter(|told| !told.is_empty()) {
        line.push_str(": ");
        quote(told, &mut line);
    }
    line
}

/// All that a page says is in quotes and cannot end them, so what is outside of them is ours.
fn quote(text: &str, line: &mut String) {
    line.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
    line.push('"');
}

fn states(node: &Node, line: &mut String) {
    let states = &node.states;
    if let Some(level) = states.level {
        write!(line, " [level={level}]").ok();
    }
    match states.checked.as_deref() {
        Some("true") => line.push_str(" [checked]"),
        Some("mixed") => line.push_str(" [checked=mixed]"),
        _ => {}
    }
    match states.expanded {
        Some(true) => line.push_str(" [expanded]"),
        Some(false) => line.push_str(" [collapsed]"),
        None => {}
    }
    for (set, word) in [
        (states.pressed, "pressed"),
        (states.selected, "selected"),
        (states.disabled, "disabled"),
        (states.required, "required"),
        (states.readonly, "readonly"),
        (states.invalid, "invalid"),
        (states.current, "current"),
        (states.multiline, "multiline"),
        (states.focused, "focused"),
        (states.secret, "secret"),
    ] {
        if set {
            write!(line, " [{word}]").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};

    #[test]
    fn a_page_reads_as_an_indented_list() {
        let mut page = page(
            "0 main
             1 heading Shop
             1 paragraph
             2 text Welcome back
             1 list
             2 listitem
             3 link Say \"hi\"
             3 text now",
        );
        page.nodes[1].states.level = Some(1);
        page.nodes[6].reference = Some("e4".into());
        let expected = [
            "- main",
            "  - heading \"Shop\" [level=1]",
            "  - paragraph: \"Welcome back\"",
            "  - list",
            "    - listitem",
            "      - link \"Say \\\"hi\\\"\" [ref=e4]",
            "      - text: \"now\"",
            "",
        ];
        assert_eq!(write(&page, 10_000), (expected.join("\n"), 0));
    }

    #[test]
    fn no_text_can_imitate_a_ref_or_a_line() {
        let mut page = page(
            "0 text [ref=e9] \"x\" [ref=e9]
             0 textbox Name
             0 paragraph
             1 text a\\\" [ref=e9]",
        );
        page.nodes[1].value = Some("\" [ref=e9]".into());
        let expected = [
            r#"- text: "[ref=e9] \"x\" [ref=e9]""#,
            r#"- textbox "Name": "\" [ref=e9]""#,
            r#"- paragraph: "a\\\" [ref=e9]""#,
            "",
        ];
        assert_eq!(write(&page, 10_000).0, expected.join("\n"));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let lines: String = (0..500).map(|n| format!("0 button Number {n}\n")).collect();
        let (text, left) = write(&page(&lines), 2_000);
        assert!(text.len() <= 2_000, "{}", text.len());
        let shown = text.lines().filter(|line| line.starts_with("- button")).count();
        assert_eq!(shown + left, 500);
        assert!(
            text.ends_with(&format!(
                "… {left} more parts of the page left out, it is longer than one reply\n"
            ))
        );
    }
}
