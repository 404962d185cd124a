//! Header injection: every request that Chromium pauses is continued at once, with the headers of its origin or without.

use super::{State, Tab};
use crate::{
    cdp::{Reactions, RequestHeaders, ResponseHeaders, SessionId, protocol as p},
    credentials::{BrowsingContextGroup, InjectedEntry},
};
use policy::Origin;

const AUTHORIZATION: &str = "authorization";

/// How a paused request continues.
enum RequestDecision<'a> {
    /// Stays paused until the tab is gone.
    Hold,
    /// Answered with an empty page, without leaving the browser.
    FulfillEmpty,
    Unchanged,
    WithHeaders(Vec<p::HeaderLine<'a>>),
}

impl State {
    pub fn handle_paused_request(
        &mut self,
        paused: &p::RequestPaused,
        session: &SessionId,
        reactions: &mut Reactions<'_>,
    ) {
        let request_id = &paused.request_id;
        let headers = match self.decide_request(paused, session) {
            RequestDecision::Hold => return,
            RequestDecision::FulfillEmpty => return fulfill_empty(paused, session, reactions),
            RequestDecision::Unchanged => None,
            RequestDecision::WithHeaders(lines) => Some(lines),
        };
        reactions.post(
            Some(session),
            &p::ContinueRequest { headers, ..p::ContinueRequest::unchanged(request_id) },
        );
    }

    fn decide_request<'a>(
        &'a mut self,
        paused: &'a p::RequestPaused,
        session: &SessionId,
    ) -> RequestDecision<'a> {
        if self.injected.filling.as_ref() == Some(session) {
            return RequestDecision::FulfillEmpty;
        }
        let mut tabs = self.tab.iter_mut().chain(&mut self.background);
        // A tab that is being closed is not in the list.
        let Some(tab) = tabs.find(|tab| tab.owns(session)) else { return RequestDecision::Hold };
        if paused.response_status_code.is_some() || paused.response_error_reason.is_some() {
            if paused.response_headers.is_exchange || shows_document(paused) {
                note_response(&tab.context_group, &paused.request.url, paused.response_headers);
            }
            return RequestDecision::Unchanged;
        }
        let origin = Origin::of(&paused.request.url);
        let before = paused.redirected_request_id.as_ref();
        let chain_is_ours = before.is_none_or(|before| tab.injected_requests.contains(before, &origin));
        if tab.session != *session || !chain_is_ours || !tab.context_group.is_exclusive_to(&origin) {
            return RequestDecision::Unchanged;
        }
        let own = self.injected.headers.iter().find(|own| own.origin == origin);
        let Some(lines) = own.and_then(|own| with_lines(&paused.request.headers, &own.lines)) else {
            return RequestDecision::Unchanged;
        };
        tab.injected_requests.add(&paused.request_id, origin);
        RequestDecision::WithHeaders(lines)
    }
}

impl Tab {
    /// A prefetched document, or one made by a service worker, comes without a request that could be paused. Chromium
    /// reports its response before it sends the document to a renderer.
    pub fn note_document_response(&self, received: &p::ResponseReceived) {
        if received.r#type == "Document" {
            note_response(&self.context_group, &received.response.url, received.response.headers);
        }
    }
}

/// The headers of a document override its URL: a signed exchange is another site's document, and a sandboxed document
/// is not of its site's origin.
fn note_response(group: &BrowsingContextGroup, url: &str, headers: ResponseHeaders) {
    if headers.is_exchange || headers.is_sandboxed { group.mark_mixed() } else { group.add_document(url) }
}

/// Whether the response is shown: neither an error nor a redirect.
fn shows_document(paused: &p::RequestPaused) -> bool {
    let is_redirect = matches!(paused.response_status_code, Some(301 | 302 | 303 | 307 | 308))
        && paused.response_headers.has_location;
    paused.response_error_reason.is_none() && !is_redirect
}

/// All headers of the request, because CDP replaces them with this list. Cookies are left out: Chromium adds them
/// itself. An `Authorization` header that the page set stays, as in any browser.
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

/// Answers a document request with an empty page, and fails any other.
fn fulfill_empty(paused: &p::RequestPaused, session: &SessionId, reactions: &mut Reactions<'_>) {
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
    use crate::{
        cdp::Id,
        credentials::{InjectedHeaders, MAX_INJECTED_REQUESTS},
    };
    use redact::Secret;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn id(text: &str) -> Id {
        serde_json::from_value(text.into()).unwrap()
    }

    /// A tab that the driver opened, with a frame of another process, and headers for https://own.test.
    fn state() -> State {
        let mut state = State::default();
        let mut tab = Tab::new(policy::TabId(1), id("T"), SessionId::from("page"), &state.documents);
        tab.context_group = BrowsingContextGroup::isolated();
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

    /// What happens to a request: `held`, `empty`, `as it is`, or the names of its headers.
    fn decision(state: &mut State, session: &str, event: Value) -> String {
        let paused: p::RequestPaused = serde_json::from_value(event).unwrap();
        match state.decide_request(&paused, &SessionId::from(session)) {
            RequestDecision::Hold => "held".to_owned(),
            RequestDecision::FulfillEmpty => "empty".to_owned(),
            RequestDecision::Unchanged => "as it is".to_owned(),
            RequestDecision::WithHeaders(lines) => {
                lines.iter().map(|line| line.name).collect::<Vec<_>>().join(" ")
            }
        }
    }

    fn request(id: &str, url: &str, after: Option<&str>) -> Value {
        let headers = json!({"Accept": "*/*", "Cookie": "a=b", "x-key": "the page's"});
        let request = json!({"url": url, "headers": headers});
        json!({"requestId": id, "request": request, "resourceType": "XHR", "redirectedRequestId": after})
    }

    fn response(url: &str, status: u16, headers: Value) -> Value {
        let request = json!({"url": url, "headers": {}});
        json!({"requestId": "A", "request": request, "resourceType": "Document",
               "responseStatusCode": status, "responseHeaders": headers})
    }

    const INJECTED: &str = "Accept X-Key Authorization";

    #[test]
    fn a_document_of_another_origin_ends_header_injection_before_it_loads() {
        let location = json!([{"name": "Location", "value": "https://elsewhere.test/"}]);
        let exchange = json!([{"name": "content-type", "value": "application/signed-exchange;v=b3"}]);
        let policy = json!({"name": "Content-Security-Policy", "value": "sandbox allow-scripts"});
        let sandbox = json!([policy]);
        let sandboxed_redirect = json!([policy, {"name": "Location", "value": "/"}]);
        let failed = json!({"requestId": "A", "request": {"url": "https://other.test/"},
                            "resourceType": "Document", "responseErrorReason": "ConnectionRefused"});
        for (session, answer, expected) in [
            ("page", response("https://own.test/", 200, json!([])), INJECTED),
            ("page", response("https://other.test/", 200, json!([])), "as it is"),
            ("page", response("https://other.test/", 404, json!([])), "as it is"),
            ("page", response("http://own.test/", 200, json!([])), "as it is"),
            ("frame", response("https://other.test/", 200, json!([])), "as it is"),
            ("page", response("https://other.test/", 302, location.clone()), INJECTED),
            ("page", response("https://other.test/", 302, json!([])), "as it is"),
            ("page", response("https://other.test/", 200, location), "as it is"),
            ("page", response("https://own.test/", 200, exchange), "as it is"),
            ("page", response("https://own.test/", 200, sandbox), "as it is"),
            ("page", response("https://own.test/", 302, sandboxed_redirect), INJECTED),
            ("page", failed, INJECTED),
            ("elsewhere", response("https://other.test/", 200, json!([])), INJECTED),
        ] {
            let mut state = state();
            let answered = decision(&mut state, session, answer.clone());
            assert_eq!(answered, if session == "elsewhere" { "held" } else { "as it is" }, "{answer}");
            let next = decision(&mut state, "page", request("R", "https://own.test/a", None));
            assert_eq!(next, expected, "{answer}");
        }
    }

    #[test]
    fn a_document_without_a_request_is_noted_by_its_response() {
        for (kind, url, policy, expected) in [
            ("Document", "https://own.test/ahead", "", INJECTED),
            ("Document", "https://other.test/ahead", "", "as it is"),
            ("Document", "https://own.test/ahead", "sandbox", "as it is"),
            ("Image", "https://other.test/image", "sandbox", INJECTED),
        ] {
            let mut state = state();
            let response = json!({"url": url, "headers": {"content-security-policy": policy}});
            let answer = json!({"requestId": "A", "type": kind, "response": response});
            state.tab.as_ref().unwrap().note_document_response(&serde_json::from_value(answer).unwrap());
            let next = decision(&mut state, "page", request("R", "https://own.test/a", None));
            assert_eq!(next, expected, "{kind} {url} {policy}");
        }
    }

    #[test]
    fn headers_are_added_to_requests_for_their_own_origin_from_an_isolated_tab() {
        for (session, url, expected) in [
            ("page", "https://own.test/a?b#c", INJECTED),
            ("page", "https://own.test:443/", INJECTED),
            ("page", "http://own.test/", "as it is"),
            ("page", "https://own.test:444/", "as it is"),
            ("page", "https://own.test.evil.test/", "as it is"),
            ("page", "https://own.test@evil.test/", "as it is"),
            ("page", "https://evil.test/https://own.test/", "as it is"),
            ("frame", "https://own.test/", "as it is"),
            ("closing", "https://own.test/", "held"),
        ] {
            assert_eq!(decision(&mut state(), session, request("R", url, None)), expected, "{session} {url}");
        }
        let mut filling = state();
        filling.injected.filling = Some(SessionId::from("page"));
        assert_eq!(decision(&mut filling, "page", request("R", "https://own.test/", None)), "empty");
    }

    #[test]
    fn a_redirect_hop_gets_headers_only_if_the_hop_before_it_did_and_is_still_remembered() {
        let mut state = state();
        let own = "https://own.test/";
        for (id, after, expected) in [
            ("1.0", None, INJECTED),
            ("1.1", Some("1.0"), INJECTED),
            ("1.2", Some("1.1"), INJECTED),
            ("2.1", Some("2.0"), "as it is"),
            ("2.2", Some("2.1"), "as it is"),
        ] {
            assert_eq!(decision(&mut state, "page", request(id, own, after)), expected, "{id}");
        }
        for n in 0..MAX_INJECTED_REQUESTS {
            decision(&mut state, "page", request(&format!("3.{n}"), own, None));
        }
        assert_eq!(decision(&mut state, "page", request("1.3", own, Some("1.2"))), "as it is");
    }

    #[test]
    fn an_authorization_header_of_the_page_is_kept() {
        let mut event = request("R", "https://own.test/", None);
        event["request"]["headers"]["authorization"] = "Bearer x".into();
        assert_eq!(decision(&mut state(), "page", event), "Accept authorization X-Key");
        let mut long = request("R", "https://own.test/", None);
        long["request"]["headers"]["X-Long"] = "x".repeat(100_000).into();
        assert_eq!(decision(&mut state(), "page", long), "as it is", "it could not be written anew whole");
    }
}
