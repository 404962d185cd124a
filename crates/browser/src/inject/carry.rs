//! Each request that Chromium holds for us is let go at once: with the headers of its origin, or as it is.

use super::{Family, InjectedEntry, InjectedHeaders, InjectedStorage, Replies, handed::Passed};
use crate::{
    cdp::{Command, Id, Reactions, RequestHeaders, ResponseHeaders, SessionId, protocol as p},
    state::State,
    tab::Tab,
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
    /// What sites have set as cookies; kept in a session that something was put into, be it cookies alone.
    pub passed: Option<Passed>,
    /// What sites have replied, in such a session.
    pub replies: Replies,
}

/// Requests that got the headers of an origin, so that the next hop of a redirect may have them too.
#[derive(Default)]
pub(crate) struct Carried(VecDeque<(Id, Origin)>);

impl Carried {
    fn add(&mut self, id: &Id, origin: Origin) {
        if self.0.len() == CARRIED_KEPT {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), origin));
    }

    /// One that another site had redirected is that site's request, be it signed in too or not.
    fn has(&self, id: &Id, origin: &Origin) -> bool {
        // The newest are at the end, and a redirect is one of them.
        self.0.iter().rev().any(|(known, of)| known == id && of == origin)
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
    /// What was not heard is said to be lost. Whether there is anything to hear.
    pub fn lose(&mut self) -> bool {
        let Some(passed) = &mut self.passed else { return false };
        passed.lose();
        self.replies.lose();
        true
    }

    /// Tells a target to say what is on its way, and to keep what came, if anybody will ask for it.
    pub fn hear(&self, session: &SessionId, reactions: &mut Reactions<'_>) {
        let (network, keep) = self.hearing();
        reactions.post(Some(session), &network);
        if let Some(keep) = keep {
            reactions.post(Some(session), &keep);
        }
    }

    pub fn hearing(&self) -> (p::EnableNetwork, Option<p::KeepBodies>) {
        match self.passed {
            None => (p::EnableNetwork::without_bodies(), None),
            Some(_) => (p::EnableNetwork::with_bodies(), Some(p::KeepBodies::default())),
        }
    }

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

/// How a held request goes on.
enum Verdict<'a> {
    /// Not at all, until the tab that asks is gone.
    Held,
    /// As an empty page, without having left.
    Empty,
    AsItIs,
    With(Vec<p::HeaderLine<'a>>),
}

impl State {
    pub fn request_paused(
        &mut self,
        paused: &p::RequestPaused,
        session: &SessionId,
        reactions: &mut Reactions<'_>,
    ) {
        let request_id = &paused.request_id;
        let headers = match self.judge(paused, session) {
            Verdict::Held => return,
            Verdict::Empty => return answer_with_nothing(paused, session, reactions),
            Verdict::AsItIs => None,
            Verdict::With(lines) => Some(lines),
        };
        reactions.post(Some(session), &ContinueRequest { request_id, headers });
    }

    fn judge<'a>(&'a mut self, paused: &'a p::RequestPaused, session: &SessionId) -> Verdict<'a> {
        if self.injected.filling.as_ref() == Some(session) {
            return Verdict::Empty;
        }
        let mut tabs = self.tab.iter_mut().chain(&mut self.behind);
        // A tab that is being closed is none of them any more.
        let Some(tab) = tabs.find(|tab| tab.owns(session)) else { return Verdict::Held };
        if paused.response_status_code.is_some() || paused.response_error_reason.is_some() {
            if paused.response_headers.is_exchange || brings_document(paused) {
                tab.family.met(&paused.request.url, paused.response_headers);
            }
            return Verdict::AsItIs;
        }
        let origin = Origin::of(&paused.request.url);
        let before = paused.redirected_request_id.as_ref();
        let chain_is_ours = before.is_none_or(|before| tab.carried.has(before, &origin));
        if tab.session != *session || !chain_is_ours || !tab.family.is_home_of(&origin) {
            return Verdict::AsItIs;
        }
        let own = self.injected.headers.iter().find(|own| own.origin == origin);
        let Some(lines) = own.and_then(|own| with_lines(&paused.request.headers, &own.lines)) else {
            return Verdict::AsItIs;
        };
        tab.carried.add(&paused.request_id, origin);
        Verdict::With(lines)
    }
}

impl Tab {
    /// A page that was fetched ahead, or that a service worker made up, comes without a request that could be held.
    /// The browser tells of its answer before it sends the page to a renderer.
    pub fn note_document(&self, answer: &p::ResponseReceived) {
        if answer.r#type == "Document" {
            self.family.met(&answer.response.url, answer.response.headers);
        }
    }
}

impl Family {
    /// What its headers say of a document goes before its address: one of a signed exchange is another site's, and what
    /// a site keeps in a sandbox is not the site itself.
    fn met(&self, url: &str, headers: ResponseHeaders) {
        if headers.is_exchange || headers.is_sandboxed { self.mix() } else { self.joined_by(url) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use redact::Secret;
    use serde_json::{Value, json};

    fn id(text: &str) -> Id {
        serde_json::from_value(text.into()).unwrap()
    }

    /// A tab of the driver's own with a frame of another process, and headers for https://own.test.
    fn state() -> State {
        let mut state = State::default();
        let mut tab = Tab::new(policy::TabId(1), id("T"), SessionId::from("page"), &state.book);
        tab.family = Family::new();
        tab.frame_sessions.insert(SessionId::from("frame"));
        state.tab = Some(tab);
        let lines = vec![
            InjectedEntry::new("X-Key", Secret::new("hunter2".to_owned())),
            InjectedEntry::new("Authorization", Secret::new("Basic eDp5".to_owned())),
        ];
        let own = InjectedHeaders { origin: Origin::of("https://own.test"), lines, allow_plain_http: false };
        state.injected.headers = Arc::new(vec![own]);
        state
    }

    /// What becomes of a request: `held`, `empty`, or the names of its headers.
    fn told(state: &mut State, session: &str, event: Value) -> String {
        let paused: p::RequestPaused = serde_json::from_value(event).unwrap();
        match state.judge(&paused, &SessionId::from(session)) {
            Verdict::Held => "held".to_owned(),
            Verdict::Empty => "empty".to_owned(),
            Verdict::AsItIs => "as it is".to_owned(),
            Verdict::With(lines) => lines.iter().map(|line| line.name).collect::<Vec<_>>().join(" "),
        }
    }

    fn asks(id: &str, url: &str, after: Option<&str>) -> Value {
        let headers = json!({"Accept": "*/*", "Cookie": "a=b", "x-key": "the page's"});
        let request = json!({"url": url, "headers": headers});
        json!({"requestId": id, "request": request, "resourceType": "XHR", "redirectedRequestId": after})
    }

    fn answers(url: &str, status: u16, headers: Value) -> Value {
        let request = json!({"url": url, "headers": {}});
        json!({"requestId": "A", "request": request, "resourceType": "Document",
               "responseStatusCode": status, "responseHeaders": headers})
    }

    const CARRIED: &str = "Accept X-Key Authorization";

    #[test]
    fn a_document_of_another_origin_ends_the_headers_before_it_comes() {
        let location = json!([{"name": "Location", "value": "https://elsewhere.test/"}]);
        let exchange = json!([{"name": "content-type", "value": "application/signed-exchange;v=b3"}]);
        let policy = json!({"name": "Content-Security-Policy", "value": "sandbox allow-scripts"});
        let sandbox = json!([policy]);
        let sandboxed_redirect = json!([policy, {"name": "Location", "value": "/"}]);
        let failed = json!({"requestId": "A", "request": {"url": "https://other.test/"},
                            "resourceType": "Document", "responseErrorReason": "ConnectionRefused"});
        for (session, answer, expected) in [
            ("page", answers("https://own.test/", 200, json!([])), CARRIED),
            ("page", answers("https://other.test/", 200, json!([])), "as it is"),
            ("page", answers("https://other.test/", 404, json!([])), "as it is"),
            ("page", answers("http://own.test/", 200, json!([])), "as it is"),
            ("frame", answers("https://other.test/", 200, json!([])), "as it is"),
            ("page", answers("https://other.test/", 302, location.clone()), CARRIED),
            ("page", answers("https://other.test/", 302, json!([])), "as it is"),
            ("page", answers("https://other.test/", 200, location), "as it is"),
            ("page", answers("https://own.test/", 200, exchange), "as it is"),
            ("page", answers("https://own.test/", 200, sandbox), "as it is"),
            ("page", answers("https://own.test/", 302, sandboxed_redirect), CARRIED),
            ("page", failed, CARRIED),
            ("elsewhere", answers("https://other.test/", 200, json!([])), CARRIED),
        ] {
            let mut state = state();
            let answered = told(&mut state, session, answer.clone());
            assert_eq!(answered, if session == "elsewhere" { "held" } else { "as it is" }, "{answer}");
            let next = told(&mut state, "page", asks("R", "https://own.test/a", None));
            assert_eq!(next, expected, "{answer}");
        }
    }

    #[test]
    fn a_document_that_was_not_asked_for_is_noted_by_its_answer() {
        for (kind, url, policy, expected) in [
            ("Document", "https://own.test/ahead", "", CARRIED),
            ("Document", "https://other.test/ahead", "", "as it is"),
            ("Document", "https://own.test/ahead", "sandbox", "as it is"),
            ("Image", "https://other.test/image", "sandbox", CARRIED),
        ] {
            let mut state = state();
            let response = json!({"url": url, "headers": {"content-security-policy": policy}});
            let answer = json!({"requestId": "A", "type": kind, "response": response});
            state.tab.as_ref().unwrap().note_document(&serde_json::from_value(answer).unwrap());
            let next = told(&mut state, "page", asks("R", "https://own.test/a", None));
            assert_eq!(next, expected, "{kind} {url} {policy}");
        }
    }

    #[test]
    fn a_request_carries_headers_to_their_own_origin_from_a_tab_of_its_own() {
        for (session, url, expected) in [
            ("page", "https://own.test/a?b#c", CARRIED),
            ("page", "https://own.test:443/", CARRIED),
            ("page", "http://own.test/", "as it is"),
            ("page", "https://own.test:444/", "as it is"),
            ("page", "https://own.test.evil.test/", "as it is"),
            ("page", "https://own.test@evil.test/", "as it is"),
            ("page", "https://evil.test/https://own.test/", "as it is"),
            ("frame", "https://own.test/", "as it is"),
            ("closing", "https://own.test/", "held"),
        ] {
            assert_eq!(told(&mut state(), session, asks("R", url, None)), expected, "{session} {url}");
        }
        let mut filling = state();
        filling.injected.filling = Some(SessionId::from("page"));
        assert_eq!(told(&mut filling, "page", asks("R", "https://own.test/", None)), "empty");
    }

    #[test]
    fn a_hop_carries_what_the_hop_before_it_carried_and_what_is_forgotten_carries_nothing() {
        let mut state = state();
        let own = "https://own.test/";
        for (request, after, expected) in [
            ("1.0", None, CARRIED),
            ("1.1", Some("1.0"), CARRIED),
            ("1.2", Some("1.1"), CARRIED),
            ("2.1", Some("2.0"), "as it is"),
            ("2.2", Some("2.1"), "as it is"),
        ] {
            assert_eq!(told(&mut state, "page", asks(request, own, after)), expected, "{request}");
        }
        for n in 0..CARRIED_KEPT {
            told(&mut state, "page", asks(&format!("3.{n}"), own, None));
        }
        assert_eq!(told(&mut state, "page", asks("1.3", own, Some("1.2"))), "as it is");
    }

    #[test]
    fn a_page_that_authorizes_itself_is_left_to_it() {
        let mut event = asks("R", "https://own.test/", None);
        event["request"]["headers"]["authorization"] = "Bearer x".into();
        assert_eq!(told(&mut state(), "page", event), "Accept authorization X-Key");
        let mut long = asks("R", "https://own.test/", None);
        long["request"]["headers"]["X-Long"] = "x".repeat(100_000).into();
        assert_eq!(told(&mut state(), "page", long), "as it is", "it could not be written anew whole");
    }
}
