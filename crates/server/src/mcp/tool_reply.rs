//! A tool's reply: text for the model, structured content for the client.

use super::page_delimiters::PageDelimiters;
use engine::error::Fault;
use error_code::ErrorCode;
use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The reply of a tool: text for the model, and the same facts as fields.
pub struct ToolReply {
    text: String,
    images: Vec<ContentBlock>,
    fields: Value,
}

impl ToolReply {
    pub fn new(text: String, fields: &impl Serialize) -> Result<ToolReply, Fault> {
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
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ErrorFields")]
pub struct ErrorReply {
    /// A stable code, listed in the documentation
    pub code: String,
    /// What happened; the page's words in it are between the marks of this reply
    pub message: String,
    /// What to do next
    pub hint: String,
    /// Whether the same call may work later
    pub retryable: bool,
    /// The specific code below a general one, such as `sandbox_runtime_required`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Why the session ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The approval that is waited for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The action that took too long
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How long it could take
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

#[derive(Serialize)]
struct FailedReply<'a> {
    success: bool,
    error: &'a Fault,
}

/// The fields alone, for the HTTP API. Page text is delimited there too: the caller may pass it to a model.
pub fn delimited_fields(reply: Result<ToolReply, Fault>) -> Result<Value, Fault> {
    let delimiters = PageDelimiters::new();
    match reply {
        Ok(mut reply) => {
            delimiters.fields(&mut reply.fields);
            Ok(reply.fields)
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
            let mut content = vec![ContentBlock::text(delimiters.text(&text))];
            content.extend(images);
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(fields);
            result
        }
        Err(fault) => {
            let fault = delimited(&delimiters, fault);
            let text = if fault.hint.is_empty() {
                format!("{}: {}", fault.code, fault.message)
            } else {
                format!("{}: {}\nNext: {}", fault.code, fault.message, fault.hint)
            };
            let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
            result.structured_content =
                serde_json::to_value(FailedReply { success: false, error: &fault }).ok();
            result
        }
    }
}
