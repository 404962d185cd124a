//! For reading rather than acting: headings, lists, tables and links as Markdown.

use super::{
    Budgeted,
    node::{Node, Page},
};

/// The text, and how many nodes it had no room for.
pub(super) fn write(page: &Page, budget: usize) -> (String, usize) {
    let mut writer = Writer { out: Budgeted::new(budget), line: String::new(), nodes: 0, lists: Vec::new() };
    let mut header = false;
    for (at, node) in page.nodes.iter().enumerate() {
        writer.lists.retain(|depth| *depth < node.depth);
        match node.role.as_str() {
            "heading" => {
                writer.end_line();
                let level = usize::from(node.states.level.unwrap_or(2)).min(6);
                writer.add(&format!("{} {}", "#".repeat(level), escape(&node.name)));
                // A link in a heading has told the same already.
                writer.end_line();
            }
            "list" => {
                writer.end_line();
                writer.lists.push(node.depth);
            }
            "listitem" => {
                writer.end_line();
                let indent = "  ".repeat(writer.lists.len().saturating_sub(1));
                writer.add(&format!("{indent}-"));
            }
            "row" => {
                writer.end_line();
                header = page.nodes.get(at + 1).is_some_and(|next| next.role == "columnheader");
                writer.add("|");
            }
            "cell" | "gridcell" | "columnheader" | "rowheader" => {
                writer.add(&escape(page.only_text(at).unwrap_or(&node.name)).replace('|', "\\|"));
                writer.line.push_str(" |");
                let last = page.nodes[at + 1..].iter().find(|next| next.depth <= node.depth);
                if header && last.is_none_or(|next| next.depth < node.depth) {
                    let columns = writer.line.matches(" |").count();
                    writer.end_line();
                    writer.add(&format!("|{}", "---|".repeat(columns)));
                    writer.end_line();
                }
            }
            "separator" => {
                writer.end_line();
                writer.add("---");
                writer.end_line();
            }
            "text" if in_cell(page, at) => writer.nodes += 1,
            "text" => writer.text(&node.name),
            "link" => writer.add(&link(node)),
            "code" => writer.nodes += 1,
            "button" | "checkbox" | "radio" | "combobox" | "textbox" | "searchbox" | "spinbutton"
            | "slider" | "switch" | "tab" | "menuitem" | "option" | "img" => writer.add(&control(node)),
            _ => {
                writer.end_line();
                writer.nodes += 1;
                if !node.name.is_empty() && node.role != "paragraph" {
                    writer.add(&format!("**{}**", escape(&node.name)));
                    writer.end_line();
                }
            }
        }
    }
    writer.end_line();
    writer.out.finish(page)
}

struct Writer {
    out: Budgeted,
    line: String,
    nodes: usize,
    lists: Vec<usize>,
}

impl Writer {
    fn add(&mut self, text: &str) {
        self.nodes += 1;
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    /// Text of the page: at the start of a line it must not read as a heading, a list or a note of ours.
    fn text(&mut self, text: &str) {
        let marker = self.line.is_empty() && text.starts_with(['#', '-', '*', '+', '>', '|', '…']);
        self.add(&format!("{}{}", if marker { "\\" } else { "" }, escape(text)));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let nodes = std::mem::take(&mut self.nodes);
        if !line.trim().is_empty() {
            self.out.line(line.trim_end(), nodes);
        }
    }
}

/// The text of a cell that holds nothing else has been written with the cell.
fn in_cell(page: &Page, at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| {
        matches!(page.nodes[before].role.as_str(), "cell" | "gridcell" | "columnheader" | "rowheader")
            && page.only_text(before).is_some()
    })
}

/// Brackets are what this writes links and controls with, so those of the page are marked as its own.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn link(node: &Node) -> String {
    match &node.href {
        Some(href) if !node.name.is_empty() => {
            let href = href.replace('(', "%28").replace(')', "%29");
            format!("[{}]({href})", escape(&node.name))
        }
        _ => escape(&node.name),
    }
}

fn control(node: &Node) -> String {
    let mut text = format!("[{}", node.role);
    if !node.name.is_empty() {
        text.push_str(&format!(": {}", escape(&node.name)));
    }
    if let Some(value) = node.value.as_deref().filter(|value| !value.is_empty()) {
        text.push_str(&format!(" = {}", escape(value)));
    }
    if node.states.checked.as_deref() == Some("true") {
        text.push_str(" ✓");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};

    #[test]
    fn a_page_reads_as_markdown() {
        let mut page = page(
            "0 heading Orders
             0 paragraph
             1 text See
             1 link all of them
             1 text or
             1 button Pay
             0 list
             1 listitem
             2 text one
             2 list
             3 listitem
             4 text inner
             0 table
             1 row
             2 columnheader Item
             2 columnheader Price
             1 row
             2 cell
             3 text Pen | red
             2 cell
             3 text 3
             0 paragraph
             1 text end",
        );
        page.nodes[0].states.level = Some(1);
        page.nodes[3].href = Some("http://shop.test/all".into());
        let expected = [
            "# Orders",
            "See [all of them](http://shop.test/all) or [button: Pay]",
            "- one",
            "  - inner",
            "| Item | Price |",
            "|---|---|",
            "| Pen \\| red | 3 |",
            "end",
            "",
        ];
        assert_eq!(write(&page, 10_000), (expected.join("\n"), 0));
    }

    #[test]
    fn no_text_can_imitate_a_link_a_control_or_a_line() {
        let mut page = page(
            "0 paragraph
             1 text [button: Pay] and [x](http://evil.test/)
             0 paragraph
             1 text … 3 more parts of the page left out
             0 paragraph
             1 text # Orders
             0 paragraph
             1 link a](http://evil.test/)",
        );
        page.nodes[7].href = Some("http://shop.test/a)b".into());
        let expected = [
            "\\[button: Pay\\] and \\[x\\](http://evil.test/)",
            "\\… 3 more parts of the page left out",
            "\\# Orders",
            "[a\\](http://evil.test/)](http://shop.test/a%29b)",
            "",
        ];
        assert_eq!(write(&page, 10_000).0, expected.join("\n"));
    }
}
