//! Pages that are looked at once, before a browser is handed out: they tell whether what was put in signs anybody in.

use super::{Blank, Injection, check::not_injected};
use crate::{
    ask::LARGEST_ANSWER,
    browser::Browser,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    incident::Incidents,
    page_text::PageText,
    script::ScriptFunction,
    text::cut_at,
};
use policy::{LoadState, Navigate, WebUrl};
use serde::{Deserialize, Serialize};

const MOST_PROBES: usize = 16;
/// Of a page's text, in bytes, and in the units that a script counts.
const LONGEST_TEXT: usize = 256 * 1024;
/// Chromium writes what is not plain ASCII as six bytes.
const ENCODED: usize = 6;

/// A page of the site that is looked at once, before the browser is handed out.
pub struct ProbePage {
    pub url: WebUrl,
}

/// What was seen there. It has no `Debug`: what a page shows to somebody who is signed in is nobody else's business.
pub struct Probed {
    /// Where it led to.
    pub final_url: String,
    /// Of the answer; `None` where Chromium does not say.
    pub status: Option<u16>,
    /// What a person reads in the page's main frame, a line a block; cut at 256 KiB.
    pub text: String,
}

#[derive(Serialize)]
struct Wanted {
    length: usize,
}

#[derive(Deserialize)]
struct Told {
    text: String,
    status: Option<u16>,
}

impl Blank {
    /// As `inject`; then looks at each of these pages in turn. The browser that comes of it shows nothing, knows of no
    /// page, and has what the site set meanwhile.
    ///
    /// A page that cannot be looked at is an error: one that hangs, crashes, is a download, puts a question, cannot be
    /// reached, or is answered by a server that fails (429, and 500 and above). 401, 403 and the like may be what
    /// somebody who is signed out gets to see, and are told by their status.
    pub async fn inject_and_probe(
        self,
        injection: Injection,
        probes: Vec<ProbePage>,
        limit: TimeLimit,
    ) -> Result<(Browser, Vec<Probed>), BrowserError> {
        if probes.len() > MOST_PROBES {
            let why = format!("{MOST_PROBES} are the most");
            return Err(not_injected(format!("{} pages to look at", probes.len()), why));
        }
        let browser = self.filled(injection, Deadline::of(limit, "inject")).await?;
        if probes.is_empty() {
            return Ok((browser, Vec::new()));
        }
        let deadline = Deadline::of(limit, "probe");
        let mut probed = Vec::with_capacity(probes.len());
        for page in probes {
            let wanted = Navigate { url: page.url, wait_for: LoadState::Load };
            probed.push(tokio::select! {
                biased;
                probed = browser.probe(&wanted, deadline) => probed?,
                // Nobody is there to answer it.
                question = browser.asked() => return Err(question.error()),
            });
        }
        browser.leave_no_trace(deadline).await?;
        Ok((browser, probed))
    }
}

impl Browser {
    async fn probe(&self, wanted: &Navigate, deadline: Deadline) -> Result<Probed, BrowserError> {
        self.go_to(wanted, None, deadline).await?;
        let main = self.frames_to_ask().into_iter().next().ok_or(BrowserError::TabClosed)?.0;
        let largest = LARGEST_ANSWER + LONGEST_TEXT * ENCODED;
        let ours = Wanted { length: LONGEST_TEXT };
        let mut told: Told =
            self.ask_up_to(largest, &main, ScriptFunction::ReadPageText, &ours, deadline).await?;
        if let Some(status) = told.status.filter(|status| *status == 429 || *status >= 500) {
            let url = PageText::new(wanted.url.as_str());
            return Err(BrowserError::NavigationFailed { url, net_error: format!("HTTP {status}") });
        }
        told.text.truncate(cut_at(&told.text, LONGEST_TEXT));
        Ok(Probed { final_url: self.state().url, status: told.status, text: told.text })
    }

    /// Goes on in a tab without a past; those that the pages opened are closed, and what they did is no news.
    async fn leave_no_trace(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.replace_tab(deadline).await?;
        loop {
            let opened = std::mem::take(&mut self.shared.lock().behind);
            if opened.is_empty() {
                break;
            }
            for tab in opened {
                tab.frames.end();
                self.close_target(&tab.target, deadline).await?;
            }
        }
        let mut state = self.shared.lock();
        state.incidents = Incidents::default();
        Ok(())
    }
}
