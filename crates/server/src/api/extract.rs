//! `page.extract`: the text or the title of the page that the session is on.

use crate::mcp::{Call, ToolReply, tools};
use browser::{Content, Outcome, page_block};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Action, Read, ReadFormat};
use redact::{Redacted, RedactedFields};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const NAME: &str = "page.extract";

#[derive(Deserialize, JsonSchema)]
pub struct ExtractArguments {
    /// The session's id or name
    session_id: String,
    /// "text" (default) or "title"
    #[serde(default)]
    mode: ExtractMode,
    /// What the text may cost: 250 to 50000 tokens of four bytes, 6000 if left out
    #[serde(default)]
    max_tokens: Option<u32>,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ExtractMode {
    #[default]
    Text,
    Title,
}

#[derive(Serialize, RedactedFields)]
struct ExtractReply {
    session_id: Redacted,
    url: Redacted,
    title: Redacted,
    /// The page's text, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Redacted>,
    /// Elements that did not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
    actions_left: u32,
}

pub fn schema() -> Value {
    schemars::schema_for!(ExtractArguments).to_value()
}

pub async fn run(call: &Call<'_>, request: JsonObject) -> Result<ToolReply, Fault> {
    if let Some(Value::Object(known)) = schema().get("properties") {
        tools::check_argument_names(NAME, known, &request)?;
    }
    let arguments: ExtractArguments = tools::parse(NAME, request)?;
    let tokens = tools::tokens(NAME, arguments.max_tokens)?;
    let timeout = tools::timeout(NAME, arguments.timeout_seconds)?;
    let read = Action::Read(Read { format: ReadFormat::Markdown, tokens, ..Read::default() });
    let reply = call.act(&arguments.session_id, read, timeout, true).await?;
    let snapshot = match reply.outcome {
        Outcome::Read(snapshot) => snapshot,
        other => return Err(tools::unexpected_outcome(other)),
    };
    let Content::Markdown(text) = snapshot.content else {
        return Err(Fault::new(ErrorCode::Internal, "a page came in another format"));
    };
    let with_text = arguments.mode == ExtractMode::Text;
    let fields = ExtractReply {
        session_id: Redacted::from_safe(&reply.session.id),
        url: snapshot.url,
        title: snapshot.title,
        text: with_text.then(|| page_block(&text)),
        left_out: with_text.then_some(snapshot.left_out),
        actions_left: reply.actions_left,
    };
    ToolReply::new(Redacted::default(), &fields)
}
