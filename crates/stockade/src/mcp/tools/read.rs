//! `browser_read`: the page as it is now.

use super::super::answer::{Answer, ErrorFields};
use super::super::server::Call;
use crate::error::Fault;
use browser::{Content, Outcome};
use policy::{Action, Read, ReadFormat};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const NAME: &str = "browser_read";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// "outline" (default): compact, with refs. "tree": JSON. "markdown": for reading
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Outline,
    Tree,
    Markdown,
}

#[derive(Serialize, JsonSchema)]
pub struct Fields {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The page: text for outline and markdown, an object with role, name and children for tree
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<Value>,
    /// The page's text, with format tree or markdown
    #[serde(skip_serializing_if = "Option::is_none")]
    text_content: Option<String>,
    /// What can be acted on, with format tree
    #[serde(skip_serializing_if = "Option::is_none")]
    interactive_elements: Option<Value>,
    /// Parts of the page that one reply has no room for
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFields>,
}

pub fn tool() -> Tool {
    Tool::new(
        NAME,
        "Return the page as it is now, without changing it. Every action already returns the page, so \
this is for a page that changed by itself, or for another format.",
        serde_json::Map::new(),
    )
    .with_input_schema::<Arguments>()
    .with_output_schema::<Fields>()
    .with_annotations(
        ToolAnnotations::with_title("Read the page")
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(true),
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    let session = call.session(arguments.session_id).await?;
    let format = match arguments.format {
        Format::Outline => ReadFormat::Outline,
        Format::Tree => ReadFormat::Tree,
        Format::Markdown => ReadFormat::Markdown,
    };
    let reply = call
        .control
        .gate
        .act(&call.scope, &session, Action::Read(Read { format }), None, &call.cancel)
        .await?;
    let Outcome::Read(snapshot) = reply.outcome else {
        return Err(Fault::new("internal", "a reading came to something else"));
    };
    let left_out = snapshot.left_out;
    let head = format!("Session {} · {} · {:?}\n", reply.session.id, snapshot.url, snapshot.title);
    let mut fields = Fields {
        success: true,
        session_id: Some(reply.session.id.to_string()),
        url: Some(snapshot.url),
        title: Some(snapshot.title),
        snapshot: None,
        text_content: None,
        interactive_elements: None,
        left_out: Some(left_out),
        actions_left: Some(reply.actions_left),
        error: None,
    };
    let shown = match snapshot.content {
        Content::Outline(text) => {
            fields.snapshot = Some(Value::String(text.clone()));
            text
        }
        Content::Markdown(text) => {
            fields.snapshot = Some(Value::String(text.clone()));
            fields.text_content = Some(text.clone());
            text
        }
        Content::Tree(tree) => {
            let text = serde_json::to_string(&tree.snapshot).map_err(|e| Fault::caused("internal", &e))?;
            fields.snapshot = serde_json::to_value(tree.snapshot).ok();
            fields.interactive_elements = serde_json::to_value(tree.interactive_elements).ok();
            fields.text_content = Some(tree.text_content);
            text
        }
    };
    Answer::new(format!("{head}{shown}"), &fields)
}
