//! A tool's reply: words for the model, fields for the client.

use crate::error::Fault;
use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What a tool hands back: the text a model reads and the same facts as fields.
pub struct Answer {
    pub content: Vec<ContentBlock>,
    pub fields: Value,
}

impl Answer {
    pub fn new(text: String, fields: &impl Serialize) -> Result<Answer, Fault> {
        let fields = serde_json::to_value(fields).map_err(|e| Fault::caused("internal", &e))?;
        Ok(Answer { content: vec![ContentBlock::text(text)], fields })
    }

    pub fn with(mut self, block: ContentBlock) -> Answer {
        self.content.push(block);
        self
    }
}

/// The error part of every output schema. Some clients check structured content of failed calls as well,
/// so a failure has to fit the schema of the tool it came from.
#[derive(Serialize, JsonSchema)]
pub struct ErrorFields {
    /// A stable code, listed in the documentation
    pub code: String,
    pub message: String,
    /// What to do next
    pub hint: String,
    /// Whether the same call may work later
    pub retryable: bool,
}

#[derive(Serialize)]
struct Failed<'a> {
    success: bool,
    error: &'a Fault,
}

pub fn result(answer: Result<Answer, Fault>) -> CallToolResult {
    match answer {
        Ok(answer) => {
            let mut result = CallToolResult::success(answer.content);
            result.structured_content = Some(answer.fields);
            result
        }
        Err(fault) => {
            let text = if fault.hint.is_empty() {
                format!("{}: {}", fault.code, fault.message)
            } else {
                format!("{}: {}\nNext: {}", fault.code, fault.message, fault.hint)
            };
            let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
            result.structured_content = serde_json::to_value(Failed { success: false, error: &fault }).ok();
            result
        }
    }
}
