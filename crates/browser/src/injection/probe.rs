//! Probe pages: opened once after the injection, to see whether the credentials sign in.

use super::UninitializedBrowser;
use crate::{
    browser::Browser,
    credentials::Injection,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    page::MAX_SCRIPT_REPLY,
    script::ScriptFunction,
    state::Incidents,
    text::{PageText, cut_at},
};
use policy::{LoadState, Navigate, WebUrl};
use serde::{Deserialize, Serialize};

const MAX_PROBES: usize = 16;
/// In bytes; the script applies the same bound in UTF-16 units.
const MAX_TEXT: usize = 256 * 1024;
/// Chromium encodes a non-ASCII character as six bytes.
const MAX_ENCODED_BYTES: usize = 6;

/// A page that is opened once, before the browser is used.
pub struct ProbePage {
    pub url: WebUrl,
}

/// The page that a probe reached. It has no `Debug`: a signed-in page shows private data.
pub struct ProbeResult {
    /// After redirects.
    pub final_url: String,
    /// HTTP status; `None` where Chromium does not report it.
    pub status: Option<u16>,
    /// Visible text of the main frame, one block a line; at most 256 KiB.
    pub text: String,
}

#[derive(Serialize)]
struct PageTextRequest {
    length: usize,
}

#[derive(Deserialize)]
struct PageTextReply {
    text: String,
    status: Option<u16>,
}

impl UninitializedBrowser {
    /// Injects, then opens each of these pages in turn. The resulting browser shows an empty tab without history, and
    /// keeps the cookies and storage that the site set meanwhile.
    ///
    /// Fails if a page hangs, crashes, is a download, opens a dialog, cannot be reached, or if the server fails (429, and
    /// 500 and above). 401, 403 and the like may be what a signed-out visitor gets, and are returned as a status.
    pub async fn inject_and_probe(
        self,
        injection: Injection,
        probes: Vec<ProbePage>,
        limit: TimeLimit,
    ) -> Result<(Browser, Vec<ProbeResult>), BrowserError> {
        if probes.len() > MAX_PROBES {
            let why = format!("at most {MAX_PROBES} are allowed");
            return Err(BrowserError::not_injected(format!("{} pages to look at", probes.len()), why));
        }
        let browser = self.inject_all(injection, Deadline::of(limit, "inject")).await?;
        if probes.is_empty() {
            return Ok((browser, Vec::new()));
        }
        let deadline = Deadline::of(limit, "probe");
        let mut results = Vec::with_capacity(probes.len());
        for page in probes {
            let wanted = Navigate { url: page.url, wait_for: LoadState::Load };
            results.push(tokio::select! {
                biased;
                result = browser.probe(&wanted, deadline) => result?,
                // No agent is there to answer it.
                dialog = browser.wait_for_dialog() => return Err(dialog.into_error()),
            });
        }
        browser.discard_probe_tabs(deadline).await?;
        Ok((browser, results))
    }
}

impl Browser {
    async fn probe(&self, wanted: &Navigate, deadline: Deadline) -> Result<ProbeResult, BrowserError> {
        self.go_to(wanted, None, deadline).await?;
        let main = self.readable_frames().into_iter().next().ok_or(BrowserError::TabClosed)?.0;
        let largest = MAX_SCRIPT_REPLY + MAX_TEXT * MAX_ENCODED_BYTES;
        let request = PageTextRequest { length: MAX_TEXT };
        let mut reply: PageTextReply = self
            .call_script_bounded(largest, &main, ScriptFunction::ReadPageText, &request, deadline)
            .await?;
        if let Some(status) = reply.status.filter(|status| *status == 429 || *status >= 500) {
            let url = PageText::new(wanted.url.as_str());
            return Err(BrowserError::NavigationFailed { url, net_error: format!("HTTP {status}") });
        }
        // The engine compares it with what a login shows; no agent reads it, so it is not masked.
        reply.text.truncate(cut_at(&reply.text, MAX_TEXT));
        Ok(ProbeResult { final_url: self.state().url, status: reply.status, text: reply.text })
    }

    /// Continues in a new tab, closes all others, and drops the incidents of the probes.
    async fn discard_probe_tabs(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.replace_tab(deadline).await?;
        loop {
            let opened = std::mem::take(&mut self.shared.lock().background);
            if opened.is_empty() {
                break;
            }
            for tab in opened {
                tab.frames.close();
                self.close_target(&tab.target, deadline).await?;
            }
        }
        let mut state = self.shared.lock();
        state.incidents = Incidents::default();
        Ok(())
    }
}
