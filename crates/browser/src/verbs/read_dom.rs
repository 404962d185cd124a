//! The page as cleaned HTML, for those who turned that on.

use crate::{
    ask::LARGEST_ANSWER, browser::Browser, deadline::Deadline, error::BrowserError, page_text::PageText,
    script::ScriptFunction,
};
use policy::ReadDom;
use serde::{Deserialize, Serialize};

/// The most that is read, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// Chromium writes what is not plain ASCII as six bytes.
const ENCODED: usize = 6;

#[derive(Clone, Debug)]
pub struct Dom {
    pub url: String,
    pub title: String,
    pub html: PageText,
    pub truncated: bool,
}

#[derive(Serialize)]
struct Wanted {
    bytes: usize,
}

#[derive(Deserialize)]
struct Source {
    html: PageText,
    truncated: bool,
}

impl Browser {
    pub(super) async fn read_dom(&self, wanted: &ReadDom, deadline: Deadline) -> Result<Dom, BrowserError> {
        let bytes = wanted.bytes.min(MOST_BYTES);
        let main = self.frames_to_ask().into_iter().next().ok_or(BrowserError::TabClosed)?.0;
        let largest = LARGEST_ANSWER + bytes * ENCODED;
        let source: Source =
            self.ask_up_to(largest, &main, ScriptFunction::SerializeDom, &Wanted { bytes }, deadline).await?;
        let truncated = source.truncated || source.html.as_str().len() > bytes;
        let state = self.state();
        Ok(Dom { url: state.url, title: state.title, html: source.html.shortened(bytes), truncated })
    }
}
