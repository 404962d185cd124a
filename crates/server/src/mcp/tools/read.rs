//! `browser_read`: the page as it is now.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::reading::{ReadingArguments, ReadingReply};
use super::{bad_arguments, describe, page};
use browser::{Content, InteractiveElement, Outcome, TreeNode, page_block};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Action, ActionKind, Part, Read, ReadFormat};
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const NAME: &str = "browser_read";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReadArguments {
    #[serde(flatten)]
    reading: ReadingArguments,
    /// "outline" (default): compact, with refs. "tree": JSON. "markdown": for reading
    #[serde(default)]
    format: ReadFormatArgument,
    /// Levels to show, 1 to 100; deeper ones are folded. Left out: the setting, which is 10
    #[serde(default)]
    max_depth: Option<usize>,
    /// Ref of an element: read only what is in it
    #[serde(default)]
    root: Option<String>,
    /// Cursor of a fold, such as c3.120-480: read what it folded away, as it was when the fold was made
    #[serde(default)]
    cursor: Option<String>,
    /// Also say where elements with refs are: x, y, width and height in CSS pixels of the viewport
    #[serde(default)]
    boxes: bool,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Format")]
enum ReadFormatArgument {
    #[default]
    Outline,
    Tree,
    Markdown,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct ReadReply {
    #[serde(flatten)]
    page: ReadingReply,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot_id: Option<Redacted>,
    /// The page: text between the marks of this reply for outline and markdown, an object with role, name and children,
    /// whose names and values are the page's own words, for tree
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    snapshot: Option<SnapshotReply>,
    /// The page's own words, with format tree or markdown
    #[serde(skip_serializing_if = "Option::is_none")]
    text_content: Option<Redacted>,
    /// What can be acted on, with format tree; the names are the page's own words
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    interactive_elements: Option<Vec<InteractiveElement<Redacted>>>,
    /// Elements that are folded away, or beyond what a snapshot can hold
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
}

/// Text for outline and markdown, an object for tree.
#[derive(Serialize, RedactedFields)]
#[serde(untagged)]
enum SnapshotReply {
    Text(Redacted),
    Tree(TreeNode<Redacted>),
}

pub fn tool() -> Tool {
    describe::<ReadArguments, ReadReply>(
        NAME,
        "Read the page",
        "Return the page as it is now, or a part of it, without changing it. Every action already returns the page, \
so this is for a page that changed by itself, for another format, and for what a snapshot folded: a line like \
\"… 180 more rows, 35 actionable [open: cursor=c3.120-480]\" is opened by that cursor, an element by its ref as \
root. To look for something, browser_find is cheaper.",
        ActionKind::Read.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ReadArguments) -> Result<ToolReply, Fault> {
    let format = match arguments.format {
        ReadFormatArgument::Outline => ReadFormat::Outline,
        ReadFormatArgument::Tree => ReadFormat::Tree,
        ReadFormatArgument::Markdown => ReadFormat::Markdown,
    };
    let part = match (arguments.root, arguments.cursor) {
        (None, None) => Part::Page,
        (Some(root), None) => Part::Root(root),
        (None, Some(cursor)) => Part::Cursor(cursor),
        (Some(_), Some(_)) => return Err(bad_arguments(NAME, "give root or cursor, not both")),
    };
    let max_depth = arguments.max_depth;
    if max_depth.is_some_and(|depth| !(1..=100).contains(&depth)) {
        return Err(bad_arguments(NAME, "max_depth is from 1 to 100"));
    }
    let boxes = arguments.boxes;
    if boxes && (matches!(part, Part::Cursor(_)) || format == ReadFormat::Markdown) {
        return Err(bad_arguments(NAME, "boxes are of the page as it is now, as outline or tree"));
    }
    let reading = arguments.reading.check(NAME)?;
    let tokens = reading.tokens;
    let reply = reading.act(call, Action::Read(Read { format, tokens, max_depth, part, boxes })).await?;
    let snapshot = match reply.outcome {
        Outcome::Read(snapshot) => snapshot,
        other => return Err(page::unexpected_outcome(other)),
    };
    let left_out = snapshot.left_out;
    let head = page::header_line(&reply.session, &snapshot.url, &snapshot.title, tokens);
    let mut fields = ReadReply {
        page: ReadingReply::new(&reply.session, snapshot.url, snapshot.title, reply.actions_left),
        snapshot_id: Some(page::snapshot_id(snapshot.serial)),
        snapshot: None,
        text_content: None,
        interactive_elements: None,
        left_out: Some(left_out),
    };
    let shown = match snapshot.content {
        Content::Outline(text) => {
            let text = page_block(&text);
            fields.snapshot = Some(SnapshotReply::Text(text.clone()));
            text
        }
        Content::Markdown(text) => {
            fields.text_content = Some(text.clone());
            let text = page_block(&text);
            fields.snapshot = Some(SnapshotReply::Text(text.clone()));
            text
        }
        Content::Tree(tree) => {
            let text = Redacted::json(&tree.snapshot).map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
            fields.snapshot = Some(SnapshotReply::Tree(tree.snapshot));
            fields.interactive_elements = Some(tree.interactive_elements);
            fields.text_content = Some(tree.text_content);
            page_block(&text)
        }
        Content::Changes { .. } => {
            return Err(Fault::new(ErrorCode::Internal, "a reading came to changes only"));
        }
    };
    ToolReply::new(redacted!("{}{}", head, shown), &fields)
}
