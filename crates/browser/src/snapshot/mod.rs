//! What an agent sees of a page: one flat, pre-order list of nodes, written in one of three formats.
//!
//! Lists instead of trees, because a page may be 10,000 levels deep and nothing here recurses.

mod markdown;
mod node;
mod outline;
mod tree;

pub use node::States;
pub use tree::{InteractiveElement, Tree, TreeNode};

pub(crate) use node::{FrameSnapshot, MOST_NODES, stitch};

use node::Page;
use policy::ReadFormat;

/// A token is about four bytes of English; 6,000 of them are the most one reply may cost.
pub const REPLY_BYTES: usize = 6_000 * 4;

/// One reading of a page.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub url: String,
    pub title: String,
    /// The HTTP status of the document, when Chromium tells it.
    pub status: Option<u16>,
    pub content: Content,
    /// Nodes that the reply has no room for, or that were beyond the bounds of the walk.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
pub enum Content {
    Outline(String),
    Markdown(String),
    Tree(Tree),
}

impl Snapshot {
    pub(crate) fn of(url: String, page: Page, format: ReadFormat) -> Snapshot {
        let (content, cut) = match format {
            ReadFormat::Outline => {
                let (text, cut) = outline::write(&page, REPLY_BYTES);
                (Content::Outline(text), cut)
            }
            ReadFormat::Markdown => {
                let (text, cut) = markdown::write(&page, REPLY_BYTES);
                (Content::Markdown(text), cut)
            }
            ReadFormat::Tree => {
                let (tree, cut) = tree::build(&page, REPLY_BYTES);
                (Content::Tree(tree), cut)
            }
        };
        Snapshot {
            url,
            title: page.title,
            status: page.status,
            content,
            left_out: page.left.saturating_add(cut),
        }
    }

    pub fn format(&self) -> ReadFormat {
        match self.content {
            Content::Outline(_) => ReadFormat::Outline,
            Content::Markdown(_) => ReadFormat::Markdown,
            Content::Tree(_) => ReadFormat::Tree,
        }
    }
}

/// The line that ends a text that was cut.
fn left_out_line(left: usize, complete: bool) -> String {
    match (left, complete) {
        (0, true) => String::new(),
        (0, false) => "… the page is too large to be read to its end\n".to_owned(),
        (left, true) => format!("… {left} more parts of the page left out, it is longer than one reply\n"),
        (left, false) => {
            format!("… at least {left} more parts of the page left out, it is longer than one reply\n")
        }
    }
}

/// Text with room for a closing line; stops taking lines at its budget and counts the rest.
struct Budgeted {
    text: String,
    budget: usize,
    left: usize,
}

/// What the longest closing line takes.
const CLOSING: usize = 120;

impl Budgeted {
    fn new(budget: usize) -> Budgeted {
        Budgeted { text: String::new(), budget: budget.saturating_sub(CLOSING), left: 0 }
    }

    /// Once one line did not fit none does, so that what is shown has no gaps.
    fn line(&mut self, line: &str, nodes: usize) {
        if self.left > 0 || self.text.len() + line.len() + 1 > self.budget {
            self.left += nodes;
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn finish(mut self, page: &Page) -> (String, usize) {
        self.text.push_str(&left_out_line(self.left.saturating_add(page.left), page.complete));
        (self.text, self.left)
    }
}
