//! The Markdown format, for reading rather than acting: headings, lists, tables and links.

use super::{
    layout::{FormatCost, Layout, LayoutItem},
    node::{Node, Page},
};

pub(super) struct MarkdownFormat;

impl FormatCost for MarkdownFormat {
    /// Only list items are indented; their cost includes it.
    const INDENT: usize = 0;
    const INLINES_TEXT: bool = false;
    /// Two line ends: before the fold and after it.
    const FOLD_OVERHEAD: usize = 2;

    fn cost(node: &Node, _inside: Option<&str>) -> usize {
        let markup = block_markup(node).unwrap_or_else(|| markup(node));
        let overhead = match node.role.as_str() {
            "listitem" => NODE_OVERHEAD + 2 * MAX_LIST_LEVEL,
            "row" => CELL_OVERHEAD,
            role if is_cell(role) => CELL_OVERHEAD,
            _ => NODE_OVERHEAD,
        };
        // A pipe in a cell is escaped.
        markup.text.len() + markup.text.matches('|').count() + overhead
    }
}

/// Nested lists are indented up to this level.
const MAX_LIST_LEVEL: usize = 8;
/// Characters that give a line a meaning in Markdown or in this format.
const LINE_MARKERS: [char; 7] = ['#', '-', '*', '+', '>', '|', '…'];
/// The space or escape before a node, and the line ends before and after it.
const NODE_OVERHEAD: usize = 3;
/// Plus the pipe after a cell and its part of the header rule; for a row, its first pipe and that of its rule.
const CELL_OVERHEAD: usize = NODE_OVERHEAD + " |".len() + "---|".len();

pub(super) fn render(page: &Page, layout: &Layout, serial: u64) -> String {
    let mut writer = Writer::default();
    for item in &layout.items {
        match item {
            LayoutItem::Node { at, depth, .. } => {
                let is_header_row = page.nodes.get(at + 1).is_some_and(|next| next.role == "columnheader");
                writer.push_node(&page.nodes[*at], *depth, is_header_row);
            }
            LayoutItem::Part { at, depth, from, to } => {
                writer.push_node(&page.nodes[*at].part(*from, *to), *depth, false)
            }
            LayoutItem::Fold { depth, fold } => {
                writer.close(*depth);
                writer.end_line();
                writer.push_text(&fold.render_line(serial));
                writer.end_line();
            }
        }
    }
    writer.close(0);
    writer.end_line();
    writer.text
}

/// Text that a node adds, and how it breaks lines.
struct Markup {
    text: String,
    flow: Flow,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Continues the present line.
    Inline,
    /// Starts a line.
    StartsLine,
    /// Is a line of its own.
    OwnLine,
}

fn markup(node: &Node) -> Markup {
    let line = |text: String, flow| Markup { text: with_value(text, node), flow };
    match node.role.as_str() {
        "heading" => {
            let level = usize::from(node.states.level.unwrap_or(2)).clamp(1, 6);
            line(format!("{} {}", "#".repeat(level), escaped_name(node)), Flow::OwnLine)
        }
        "listitem" => line(format!("-{}", strong_name(node)), Flow::StartsLine),
        "row" => line(format!("|{}", strong_name(node)), Flow::StartsLine),
        "separator" => line("---".to_owned(), Flow::OwnLine),
        "cell" | "gridcell" | "columnheader" | "rowheader" | "text" => line(escaped_name(node), Flow::Inline),
        "link" => line(render_link(node), Flow::Inline),
        "code" => line(strong_name(node), Flow::Inline),
        "button" | "checkbox" | "radio" | "combobox" | "textbox" | "searchbox" | "spinbutton" | "slider"
        | "switch" | "tab" | "menuitem" | "option" | "img" => {
            Markup { text: render_control(node), flow: Flow::Inline }
        }
        _ if node.name.is_empty() => line(String::new(), Flow::StartsLine),
        _ => line(strong_name(node), Flow::OwnLine),
    }
}

/// Text with line breaks, as an indented block. None of its lines can pass for one of this format.
fn block_markup(node: &Node) -> Option<Markup> {
    if node.role != "text" || !node.name.contains('\n') || visibility_mark(node).is_some() {
        return None;
    }
    let lines = node.name.lines().map(|line| match line.trim_end() {
        "" => String::new(),
        line => format!("    {}", escape(line)),
    });
    Some(Markup { text: lines.collect::<Vec<_>>().join("\n"), flow: Flow::OwnLine })
}

/// A name that is not part of the page's text, such as a label.
fn strong_name(node: &Node) -> String {
    if node.name.is_empty() { String::new() } else { format!(" **{}**", escaped_name(node)) }
}

fn with_value(mut text: String, node: &Node) -> String {
    if let Some(value) = node.value.as_deref().filter(|value| !value.is_empty()) {
        text.push_str(" = ");
        text.push_str(&escape(value));
    }
    text
}

fn is_cell(role: &str) -> bool {
    matches!(role, "cell" | "gridcell" | "columnheader" | "rowheader")
}

#[derive(Default)]
struct Writer {
    text: String,
    line: String,
    /// Depths of the open lists.
    lists: Vec<usize>,
    row: Option<Row>,
    cell: Option<usize>,
}

struct Row {
    depth: usize,
    columns: usize,
    header: bool,
}

impl Writer {
    fn push_node(&mut self, node: &Node, depth: usize, is_header_row: bool) {
        self.close(depth);
        let in_cell = self.cell.is_some();
        let block = block_markup(node).filter(|_| !in_cell);
        let is_block = block.is_some();
        let markup = block.unwrap_or_else(|| markup(node));
        if markup.flow != Flow::Inline && !in_cell {
            self.end_line();
        }
        match node.role.as_str() {
            "list" => self.lists.push(depth),
            "listitem" if !in_cell => {
                let level = self.lists.len().saturating_sub(1).min(MAX_LIST_LEVEL);
                self.line.push_str(&"  ".repeat(level));
            }
            "row" if !in_cell => self.row = Some(Row { depth, columns: 0, header: is_header_row }),
            role if is_cell(role) && self.row.is_some() && !in_cell => self.cell = Some(depth),
            _ => {}
        }
        let escaped = self.cell.is_some().then(|| markup.text.replace('|', "\\|"));
        // At the start of a line, page text must not pass for a heading, a list item or a fold.
        let needs_escape =
            node.role == "text" && self.line.is_empty() && markup.text.starts_with(LINE_MARKERS);
        if is_block {
            self.line.push_str(&markup.text);
        } else if needs_escape {
            self.line.push('\\');
            self.line.push_str(&markup.text);
        } else {
            self.push_text(escaped.as_deref().unwrap_or(&markup.text));
        }
        if markup.flow == Flow::OwnLine && !in_cell {
            self.end_line();
        }
    }

    /// Closes rows, cells and lists that a node at this depth is not inside of.
    fn close(&mut self, depth: usize) {
        self.lists.retain(|list| *list < depth);
        if self.cell.is_some_and(|cell| cell >= depth) {
            self.cell = None;
            self.line.push_str(" |");
            if let Some(row) = &mut self.row {
                row.columns += 1;
            }
        }
        if let Some(row) = self.row.take_if(|row| row.depth >= depth)
            && row.columns > 0
        {
            self.end_line();
            if row.header {
                self.push_text(&format!("|{}", "---|".repeat(row.columns)));
                self.end_line();
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        let text = if self.line.is_empty() { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        if !self.line.is_empty() && !self.line.ends_with(' ') && !text.starts_with(' ') {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    fn end_line(&mut self) {
        if !self.line.trim().is_empty() {
            self.text.push_str(self.line.trim_end());
            self.text.push('\n');
        }
        self.line.clear();
    }
}

/// A node's name; in brackets where a person sees something else or nothing.
fn escaped_name(node: &Node) -> String {
    let name = match visibility_mark(node) {
        Some(mark) if !node.name.is_empty() => format!("[{mark}: {}]", escape(&node.name)),
        _ => escape(&node.name),
    };
    match &node.visible_label {
        Some(label) => format!("{name} [shows: {}]", escape(label)),
        None => name,
    }
}

fn visibility_mark(node: &Node) -> Option<&'static str> {
    match (node.states.unseen, node.states.hidden) {
        (true, _) => Some("unseen"),
        (_, true) => Some("hidden"),
        _ => None,
    }
}

/// Escapes brackets, because links and controls are written with them, and line breaks.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '[' | ']' | '\n') {
            escaped.push('\\');
        }
        escaped.push(if c == '\n' { 'n' } else { c });
    }
    escaped
}

fn render_link(node: &Node) -> String {
    match &node.href {
        Some(href) if !node.name.is_empty() => {
            let href = href.replace('(', "%28").replace(')', "%29");
            format!("[{}]({href})", escaped_name(node))
        }
        _ => escaped_name(node),
    }
}

fn render_control(node: &Node) -> String {
    let mut text = "[".to_owned();
    if let Some(mark) = visibility_mark(node) {
        text.push_str(&format!("{mark} "));
    }
    text.push_str(&node.role);
    if !node.name.is_empty() {
        text.push_str(&format!(": {}", escape(&node.name)));
    }
    if let Some(label) = &node.visible_label {
        text.push_str(&format!(" [shows: {}]", escape(label)));
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
    use super::super::{node::tests::page, tests::rendered};
    use policy::ReadFormat;
    use std::sync::Arc;

    #[test]
    fn renders_a_page_as_markdown() {
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
        Arc::make_mut(&mut page.nodes[0]).states.level = Some(1);
        Arc::make_mut(&mut page.nodes[3]).href = Some("http://shop.test/all".into());
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
        assert_eq!(rendered(&page, ReadFormat::Markdown, 10_000), expected.join("\n"));
    }

    #[test]
    fn line_breaks_are_kept_in_a_block_and_escaped_within_a_line() {
        let mut page = page(
            "0 paragraph
             1 text Before
             0 text code
             0 textbox Notes
             0 table
             1 row
             2 cell
             3 text two
             0 text after",
        );
        Arc::make_mut(&mut page.nodes[2]).name = "if x:\n    y[0]\n\n# not a heading".into();
        Arc::make_mut(&mut page.nodes[3]).value = Some("one\ntwo".into());
        Arc::make_mut(&mut page.nodes[7]).name = "a\nb".into();
        let expected = [
            "Before",
            "    if x:",
            "        y\\[0\\]",
            "",
            "    # not a heading",
            "[textbox: Notes = one\\ntwo]",
            "| a\\nb |",
            "after",
            "",
        ];
        assert_eq!(rendered(&page, ReadFormat::Markdown, 10_000), expected.join("\n"));
    }

    #[test]
    fn page_text_cannot_imitate_a_link_a_control_or_a_line() {
        let mut page = page(
            "0 paragraph
             1 text [button: Pay] and [x](http://evil.test/)
             0 paragraph
             1 text … 3 more parts of the page left out
             0 paragraph
             1 text # Orders
             0 paragraph
             1 text [unseen: x] [shows: y]
             0 paragraph
             1 link a](http://evil.test/)",
        );
        Arc::make_mut(&mut page.nodes[9]).href = Some("http://shop.test/a)b".into());
        let expected = [
            "\\[button: Pay\\] and \\[x\\](http://evil.test/)",
            "\\… 3 more parts of the page left out",
            "\\# Orders",
            "\\[unseen: x\\] \\[shows: y\\]",
            "[a\\](http://evil.test/)](http://shop.test/a%29b)",
            "",
        ];
        assert_eq!(rendered(&page, ReadFormat::Markdown, 10_000), expected.join("\n"));
    }
}
