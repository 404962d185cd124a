//! A tool's reply: text for the model, structured content for the client.

use super::page_delimiters::PageDelimiters;
use engine::error::Fault;
use error_code::ErrorCode;
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The reply of a tool: text for the model, and the same facts as fields.
pub struct ToolReply {
    text: Redacted,
    images: Vec<ContentBlock>,
    fields: Value,
}

impl ToolReply {
    /// Neither takes text that nobody redacted:
    ///
    /// ```compile_fail,E0277
    /// #[derive(serde::Serialize, redact::RedactedFields)]
    /// struct TitleReply {
    ///     title: String,
    /// }
    /// ```
    ///
    /// ```compile_fail,E0308
    /// fn reply(page_title: String) {
    ///     server::mcp::ToolReply::new(page_title, &());
    /// }
    /// ```
    pub fn new(text: Redacted, fields: &(impl Serialize + RedactedFields)) -> Result<ToolReply, Fault> {
        let fields = serde_json::to_value(fields).map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        Ok(ToolReply { text, images: Vec::new(), fields })
    }

    pub fn with_image(mut self, image: ContentBlock) -> ToolReply {
        self.images.push(image);
        self
    }
}

/// The error part of every output schema. Some clients check structured content of failed calls as well,
/// so a failure has to fit the schema of the tool it came from.
#[derive(Serialize, JsonSchema, RedactedFields)]
#[schemars(rename = "ErrorFields")]
pub struct ErrorReply {
    /// A stable code, listed in the documentation
    pub code: Redacted,
    /// What happened; the page's words in it are between the marks of this reply
    pub message: Redacted,
    /// What to do next
    pub hint: Redacted,
    /// Whether the same call may work later
    pub retryable: bool,
    /// The specific code below a general one, such as `sandbox_runtime_required`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Redacted>,
    /// Why the session ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Redacted>,
    /// The approval that is waited for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Redacted>,
    /// The action that took too long
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Redacted>,
    /// How long it could take
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

#[derive(Serialize)]
struct FailedReply<'a> {
    success: bool,
    error: &'a Fault,
}

/// The fields of a reply, made of redacted text.
#[derive(Serialize)]
#[serde(transparent)]
pub struct DelimitedFields(Value);

impl DelimitedFields {
    pub fn remove(&mut self, name: &str) {
        if let Some(fields) = self.0.as_object_mut() {
            fields.remove(name);
        }
    }

    /// Takes a text field out.
    pub fn take_text(&mut self, name: &str) -> Option<Redacted> {
        match self.0.as_object_mut()?.remove(name)? {
            // It was redacted when it went in.
            Value::String(text) => Some(Redacted::outside_sessions(text)),
            _ => None,
        }
    }
}

impl RedactedFields for DelimitedFields {}

/// The fields alone, for the HTTP API. Page text is delimited there too: the caller may pass it to a model.
pub fn delimited_fields(reply: Result<ToolReply, Fault>) -> Result<DelimitedFields, Fault> {
    let delimiters = PageDelimiters::new();
    match reply {
        Ok(mut reply) => {
            delimiters.fields(&mut reply.fields);
            Ok(DelimitedFields(reply.fields))
        }
        Err(fault) => Err(delimited(&delimiters, fault)),
    }
}

fn delimited(delimiters: &PageDelimiters, fault: Fault) -> Fault {
    Fault { message: delimiters.text(&fault.message), hint: delimiters.text(&fault.hint), ..fault }
}

/// The MCP result, with new delimiters around page text.
pub fn into_call_result(reply: Result<ToolReply, Fault>) -> CallToolResult {
    let delimiters = PageDelimiters::new();
    match reply {
        Ok(ToolReply { text, images, mut fields }) => {
            delimiters.fields(&mut fields);
            let mut content = vec![ContentBlock::text(delimiters.text(&text).into_string())];
            content.extend(images);
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(fields);
            result
        }
        Err(fault) => {
            let fault = delimited(&delimiters, fault);
            let text = if fault.hint.is_empty() {
                redacted!("{}: {}", fault.code, fault.message)
            } else {
                redacted!("{}: {}\nNext: {}", fault.code, fault.message, fault.hint)
            };
            let mut result = CallToolResult::error(vec![ContentBlock::text(text.into_string())]);
            result.structured_content =
                serde_json::to_value(FailedReply { success: false, error: &fault }).ok();
            result
        }
    }
}
