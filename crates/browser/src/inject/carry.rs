//! Each request that Chromium holds for us is let go at once: with the headers of its origin, or as it is.

use super::{InjectedEntry, InjectedHeaders, InjectedStorage};
use crate::{
    cdp::{Command, Id, Reactions, RequestHeaders, SessionId, protocol as p},
    state::State,
};
use policy::Origin;
use serde::Serialize;
use std::{collections::VecDeque, sync::Arc};

/// Requests of a tab that got a header; the next hop of one that is forgotten gets none.
const CARRIED_KEPT: usize = 1024;

const AUTHORIZATION: &str = "authorization";

/// What stays with the driver when all else has been put into the browser.
#[derive(Default)]
pub(crate) struct Injected {
    pub headers: Arc<Vec<InjectedHeaders>>,
    /// Those with something for each new tab.
    pub storage: Arc<Vec<InjectedStorage>>,
    /// The tab whose stores are being filled: nothing that it asks for leaves the browser.
    pub filling: Option<SessionId>,
}

/// Ids of requests that got a header, so that the next hop of a redirect may have it too.
#[derive(Default)]
pub(crate) struct Carried(VecDeque<Id>);

impl Carried {
    fn add(&mut self, id: &Id) {
        if self.0.len() == CARRIED_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(id.clone());
    }

    fn has(&self, id: &Id) -> bool {
        // The newest are at the end, and a redirect is one of them.
        self.0.iter().rev().any(|known| known == id)
    }
}

/// It derives no `Debug`: its lines hold secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContinueRequest<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Vec<p::HeaderLine<'a>>>,
}

impl Command for ContinueRequest<'_> {
    const METHOD: &'static str = "Fetch.continueRequest";
    type Response = p::Nothing;
}

impl Injected {
    pub fn has_headers_for(&self, origin: &Origin) -> bool {
        self.headers.iter().any(|own| own.origin == *origin)
    }

    /// What has to be held: the answer to each document's request, wherever it goes, and each request to an origin
    /// with headers. In a frame's own session only the former: such a frame is of another site.
    pub fn watch(&self, is_page: bool) -> Option<p::WatchRequests> {
        if self.headers.is_empty() {
            return None;
        }
        let mut patterns = vec![p::RequestPattern {
            url_pattern: "*".to_owned(),
            resource_type: Some("Document"),
            request_stage: "Response",
        }];
        let own = self.headers.iter().filter(|_| is_page).map(|own| p::RequestPattern {
            url_pattern: format!("{}/*", own.origin),
            resource_type: None,
            request_stage: "Request",
        });
        patterns.extend(own);
        Some(p::WatchRequests { patterns })
    }

    /// For a tab or a frame that is about to run.
    pub fn set_up(&self, session: &SessionId, is_page: bool, reactions: &mut Reactions<'_>) {
        let Some(watch) = self.watch(is_page) else { return };
        reactions.post(Some(session), &BYPASS);
        reactions.post(Some(session), &watch);
    }
}

/// A document that a service worker makes up comes without a request, and would come unseen.
pub(crate) const BYPASS: p::BypassServiceWorkers = p::BypassServiceWorkers { bypass: true };

impl State {
    pub fn request_paused(
        &mut self,
        paused: &p::RequestPaused,
        session: &SessionId,
        reactions: &mut Reactions<'_>,
    ) {
        if self.injected.filling.as_ref() == Some(session) {
            return answer_with_nothing(paused, session, reactions);
        }
        let mut tabs = self.tab.iter_mut().chain(&mut self.behind);
        // What a tab that is being closed asks for is held until it is gone.
        let Some(tab) = tabs.find(|tab| tab.owns(session)) else { return };
        if paused.response_status_code.is_some() || paused.response_error_reason.is_some() {
            if brings_document(paused) {
                tab.family.joined_by(&paused.request.url);
            }
            let go_on = ContinueRequest { request_id: &paused.request_id, headers: None };
            return reactions.post(Some(session), &go_on);
        }
        let origin = Origin::of(&paused.request.url);
        let chain_is_ours =
            paused.redirected_request_id.as_ref().is_none_or(|before| tab.carried.has(before));
        let may_carry = tab.session == *session && chain_is_ours && tab.family.is_home_of(&origin);
        let own = self.injected.headers.iter().find(|own| may_carry && own.origin == origin);
        let headers = own.and_then(|own| with_lines(&paused.request.headers, &own.lines));
        if headers.is_some() {
            tab.carried.add(&paused.request_id);
        }
        reactions.post(Some(session), &ContinueRequest { request_id: &paused.request_id, headers });
    }
}

/// Whether the answer is shown: it is no error, and leads nowhere else.
fn brings_document(paused: &p::RequestPaused) -> bool {
    let leads_on = matches!(paused.response_status_code, Some(301 | 302 | 303 | 307 | 308))
        && paused.response_headers.has_location;
    paused.response_error_reason.is_none() && !leads_on
}

/// All headers of the request, because what is given replaces them. Cookies are none of them: Chromium adds those that
/// belong there, whatever is said here. An `Authorization` of the page's own stands, as it does in any browser.
fn with_lines<'a>(request: &'a RequestHeaders, own: &'a [InjectedEntry]) -> Option<Vec<p::HeaderLine<'a>>> {
    let request = request.lines()?;
    let is = |name: &str, other: &str| name.eq_ignore_ascii_case(other);
    let authorized = request.iter().any(|(name, _)| is(name, AUTHORIZATION));
    let own: Vec<_> = own.iter().filter(|line| !(authorized && is(&line.name, AUTHORIZATION))).collect();
    let replaced = |name: &str| is(name, "cookie") || own.iter().any(|line| is(&line.name, name));
    let kept = request.iter().filter(|(name, _)| !replaced(name));
    let kept = kept.map(|(name, value)| p::HeaderLine { name, value });
    let added = own.iter().map(|line| p::HeaderLine { name: &line.name, value: line.value.expose_secret() });
    Some(kept.chain(added).collect())
}

/// An empty page in place of any other, and nothing at all of what is no page.
fn answer_with_nothing(paused: &p::RequestPaused, session: &SessionId, reactions: &mut Reactions<'_>) {
    let request_id = &paused.request_id;
    if paused.resource_type != "Document" {
        return reactions
            .post(Some(session), &p::FailRequest { request_id, error_reason: "BlockedByClient" });
    }
    let line = |name, value| p::HeaderLine { name, value };
    let response_headers = [
        line("Content-Type", "text/html; charset=utf-8"),
        line("Content-Security-Policy", "default-src 'none'"),
    ];
    let empty = p::FulfillRequest { request_id, response_code: 200, response_headers, body: "" };
    reactions.post(Some(session), &empty);
}
