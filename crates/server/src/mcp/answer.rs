//! A tool's reply: words for the model, fields for the client.

use super::fence::Fence;
use engine::error::Fault;
use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What a tool hands back: the text a model reads and the same facts as fields.
pub struct Answer {
    text: String,
    pictures: Vec<ContentBlock>,
    fields: Value,
}

impl Answer {
    pub fn new(text: String, fields: &impl Serialize) -> Result<Answer, Fault> {
        let fields = serde_json::to_value(fields).map_err(|e| Fault::caused("internal", &e))?;
        Ok(Answer { text, pictures: Vec::new(), fields })
    }

    pub fn with(mut self, picture: ContentBlock) -> Answer {
        self.pictures.push(picture);
        self
    }
}

/// The error part of every output schema. Some clients check structured content of failed calls as well,
/// so a failure has to fit the schema of the tool it came from.
#[derive(Serialize, JsonSchema)]
pub struct ErrorFields {
    /// A stable code, listed in the documentation
    pub code: String,
    /// What happened; the page's words in it are between the marks of this reply
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

/// The fields alone, for a door that has no room for words and pictures. What a page said is fenced there too: whoever
/// asked may hand it to a model.
pub fn fenced_fields(answer: Result<Answer, Fault>) -> Result<Value, Fault> {
    let fence = Fence::new();
    match answer {
        Ok(mut answer) => {
            fence.fields(&mut answer.fields);
            Ok(answer.fields)
        }
        Err(fault) => Err(fenced(&fence, fault)),
    }
}

fn fenced(fence: &Fence, fault: Fault) -> Fault {
    Fault { message: fence.text(&fault.message), hint: fence.text(&fault.hint), ..fault }
}

/// The reply as it goes out, with a fence of its own around all that a page said.
pub fn result(answer: Result<Answer, Fault>) -> CallToolResult {
    let fence = Fence::new();
    match answer {
        Ok(Answer { text, pictures, mut fields }) => {
            fence.fields(&mut fields);
            let mut content = vec![ContentBlock::text(fence.text(&text))];
            content.extend(pictures);
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(fields);
            result
        }
        Err(fault) => {
            let fault = fenced(&fence, fault);
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
