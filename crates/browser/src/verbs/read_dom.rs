//! The page as cleaned HTML, if the operator enables it.

use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    page::MAX_SCRIPT_REPLY,
    script::ScriptFunction,
    text::{HTML_SLACK, PageText},
};
use policy::ReadDom;
use redact::RedactedFields;
use serde::{Deserialize, Serialize};

/// The most that is read, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// As the page script has it, in characters.
const MAX_ATTRIBUTE: usize = 300;
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
    html: String,
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
        let text = self.text_cutter();
        // With slack, and with the long attributes, which count double.
        let sent = if text.redactor().is_some() { bytes + HTML_SLACK } else { bytes };
        let largest = MAX_SCRIPT_REPLY + 2 * sent * MAX_ENCODED_BYTES;
        let source: Source = self
            .call_script_bounded(
                largest,
                &main,
                ScriptFunction::SerializeDom,
                &SourceRequest { bytes: sent },
                deadline,
            )
            .await?;
        let (html, is_cut) = text.redact_and_cut_html(&source.html, MAX_ATTRIBUTE, bytes);
        let truncated = source.truncated || is_cut;
        let state = self.state();
        Ok(CleanedHtml { url: state.url, title: state.title, html: PageText::new(&html), truncated })
    }
}
