//! Finds out why a ref is stale.

use crate::{
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::{BrowserError, StaleRefReason},
    script::ScriptFunction,
    state::parse_ref,
    text::{Limit, PageText},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the page may take to answer; without an answer no reason is given.
const ANSWER_WAIT: Duration = Duration::from_secs(3);
const MAX_NAME: Limit = Limit::Units(120);
const MAX_CLOSED_URL: usize = 300;
const MAX_ROLE: usize = 32;

#[derive(Serialize)]
struct StaleRefRequest<'a> {
    prefix: &'a str,
    number: u64,
    options: &'a SnapshotOptions,
}

#[derive(Deserialize)]
struct StaleRefReply {
    state: ElementState,
    role: Option<String>,
    name: Option<String>,
    like: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ElementState {
    NeverIssued,
    Removed,
    Moved,
    NotInSnapshots,
    Hidden,
}

impl Browser {
    /// Adds the reason to the error of a stale ref. Called only for errors that reach the caller.
    pub(crate) async fn explain_stale_ref(&self, error: BrowserError, deadline: Deadline) -> BrowserError {
        let BrowserError::StaleRef { reference, reason: None, .. } = error else { return error };
        let limit = deadline.within(ANSWER_WAIT);
        match parse_ref(&reference) {
            None => BrowserError::StaleRef {
                reference,
                reason: Some(StaleRefReason::NeverIssued),
                page_words: None,
            },
            Some((serial, number)) => self.find_stale_reason(reference, serial, number, limit).await,
        }
    }

    async fn find_stale_reason(
        &self,
        reference: String,
        serial: u32,
        number: u64,
        limit: Deadline,
    ) -> BrowserError {
        let (frame, prefix) = {
            let mut state = self.shared.lock();
            let background = state.background.iter().find(|tab| tab.frames.by_serial(serial).is_some());
            let background = background.map(|tab| tab.id);
            let Some(tab) = state.tab.as_mut() else { return BrowserError::TabClosed };
            if let Some(tab) = background {
                return BrowserError::StaleRef {
                    reference,
                    reason: Some(StaleRefReason::InBackgroundTab(tab)),
                    page_words: None,
                };
            }
            match tab.frames.by_serial(serial).cloned() {
                Some(frame) => {
                    let prefix = tab.frames.prefix(&frame).unwrap_or_default();
                    (frame, prefix)
                }
                None => {
                    let (reason, url) = tab.frames.stale_reason(serial, &tab.target);
                    let shown = |url: String| state.text.redact_and_cut_url(&url, MAX_CLOSED_URL);
                    let page_words = url.map(|url| PageText::new(&shown(url)));
                    return BrowserError::StaleRef { reference, reason: Some(reason), page_words };
                }
            }
        };
        let request = StaleRefRequest { prefix: &prefix, number, options: &self.options.snapshot };
        // If the page cannot answer, the error has no reason.
        let Ok(reply) = self
            .call_script::<_, StaleRefReply>(&frame, ScriptFunction::DescribeStaleRef, &request, limit)
            .await
        else {
            return BrowserError::StaleRef { reference, reason: None, page_words: None };
        };
        let replacement = reply.like.filter(|like| parse_ref(like).is_some_and(|(of, _)| of == serial));
        let reason = match reply.state {
            ElementState::Hidden => return BrowserError::ElementNotVisible { element: reference },
            ElementState::NeverIssued => StaleRefReason::NeverIssued,
            ElementState::Removed => StaleRefReason::Removed { replacement },
            ElementState::Moved => StaleRefReason::MovedToOtherFrame,
            ElementState::NotInSnapshots => StaleRefReason::NotInSnapshots,
        };
        let role = reply.role.filter(|role| is_role(role));
        let page_words = role.map(|role| match reply.name.filter(|name| !name.is_empty()) {
            Some(name) => {
                PageText::new(&format!("{role} {:?}", self.text_cutter().redact_and_cut(&name, MAX_NAME)))
            }
            None => PageText::new(&role),
        });
        BrowserError::StaleRef { reference, reason: Some(reason), page_words }
    }
}

/// A compromised renderer may send anything.
fn is_role(role: &str) -> bool {
    !role.is_empty() && role.len() <= MAX_ROLE && role.bytes().all(|byte| byte.is_ascii_lowercase())
}
