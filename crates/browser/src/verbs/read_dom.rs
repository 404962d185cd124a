//! The page as cleaned HTML, if the operator enables it.

use crate::{
    browser::Browser, deadline::Deadline, error::BrowserError, page::MAX_SCRIPT_REPLY,
    script::ScriptFunction, text::PageText,
};
use policy::ReadDom;
use redact::RedactedFields;
use serde::{Deserialize, Serialize};

/// The most that is read, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Chromium escapes each non-ASCII unit as six bytes.
const MAX_ENCODED_BYTES: usize = 6;

#[derive(Clone, Debug, RedactedFields)]
pub struct CleanedHtml<T = String, P = PageText> {
    pub url: T,
    pub title: T,
    pub html: P,
    pub truncated: bool,
}

#[derive(Serialize)]
struct SourceRequest {
    bytes: usize,
}

#[derive(Deserialize)]
struct Source {
    html: PageText,
    truncated: bool,
}

impl Browser {
    pub(super) async fn read_dom(
        &self,
        read: &ReadDom,
        deadline: Deadline,
    ) -> Result<CleanedHtml, BrowserError> {
        let bytes = read.bytes.min(MAX_BYTES);
        let main = self.readable_frames().into_iter().next().ok_or(BrowserError::TabClosed)?.0;
        let largest = MAX_SCRIPT_REPLY + bytes * MAX_ENCODED_BYTES;
        let source: Source = self
            .call_script_bounded(
                largest,
                &main,
                ScriptFunction::SerializeDom,
                &SourceRequest { bytes },
                deadline,
            )
            .await?;
        let truncated = source.truncated || source.html.as_str().len() > bytes;
        let state = self.state();
        Ok(CleanedHtml {
            url: state.url,
            title: state.title,
            html: PageText::cut(source.html.as_str(), bytes),
            truncated,
        })
    }
}
