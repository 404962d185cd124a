//! The injected credentials that the driver keeps: headers for each request, storage for each new tab.

use super::{InjectedHeaders, InjectedStorage, IssuedValueLog, ResponseLog};
use crate::{
    cdp::{Id, Reactions, SessionId, protocol as p},
    effects::EffectInterceptor,
};
use policy::Origin;
use std::{collections::VecDeque, sync::Arc};

/// Requests of a tab that got headers. The next hop of one that was dropped from the list gets none.
pub(crate) const MAX_INJECTED_REQUESTS: usize = 1024;

/// A document that a service worker makes up comes without a request, and would come unobserved.
pub(crate) const BYPASS_SERVICE_WORKERS: p::BypassServiceWorkers = p::BypassServiceWorkers { bypass: true };

#[derive(Default)]
pub(crate) struct InjectionState {
    pub headers: Arc<Vec<InjectedHeaders>>,
    /// Origins with `sessionStorage` for each new tab.
    pub storage: Arc<Vec<InjectedStorage>>,
    /// The tab whose storage is being filled: none of its requests leaves the browser.
    pub filling: Option<SessionId>,
    /// `Some` once anything was injected, be it cookies alone.
    pub issued_values: Option<IssuedValueLog>,
    pub responses: ResponseLog,
    /// Decides on requests of sites that the proxy does not intercept.
    pub effects: Option<Arc<EffectInterceptor>>,
}

/// Requests that got the headers of an origin, so that the next hop of a redirect may get them too.
#[derive(Default)]
pub(crate) struct InjectedRequests(VecDeque<(Id, Origin)>);

impl InjectedRequests {
    pub fn add(&mut self, id: &Id, origin: Origin) {
        if self.0.len() == MAX_INJECTED_REQUESTS {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), origin));
    }

    /// False for a request that another site redirected: it is that site's request.
    pub fn contains(&self, id: &Id, origin: &Origin) -> bool {
        // The newest are at the end, and a redirect follows soon.
        self.0.iter().rev().any(|(known, of)| known == id && of == origin)
    }
}

impl InjectionState {
    /// Whether responses are recorded in this browser.
    pub fn is_recording(&self) -> bool {
        self.issued_values.is_some()
    }

    /// Reports what was issued while there was no connection as missed. Returns whether responses are recorded.
    pub fn mark_missed(&mut self) -> bool {
        let Some(values) = &mut self.issued_values else { return false };
        values.mark_missed();
        self.responses.mark_missed();
        true
    }

    /// Makes a target report its requests, and keep response bodies if they are recorded.
    pub fn enable_network(&self, session: &SessionId, reactions: &mut Reactions<'_>) {
        let (network, keep) = self.network_commands();
        reactions.post(Some(session), &network);
        if let Some(keep) = keep {
            reactions.post(Some(session), &keep);
        }
    }

    pub fn network_commands(&self) -> (p::EnableNetwork, Option<p::KeepBodies>) {
        if self.is_recording() {
            (p::EnableNetwork::with_bodies(), Some(p::KeepBodies::default()))
        } else {
            (p::EnableNetwork::without_bodies(), None)
        }
    }

    pub fn has_headers_for(&self, origin: &Origin) -> bool {
        self.headers.iter().any(|own| own.origin == *origin)
    }

    /// The requests to pause: the response to every document request, and each request to an origin with headers. In
    /// the session of a frame only the former: such a frame is of another site.
    pub fn interception(&self, is_page: bool) -> Option<p::InterceptRequests> {
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
        Some(p::InterceptRequests { patterns })
    }

    /// For a tab or a frame that is still paused.
    pub fn intercept_requests(&self, session: &SessionId, is_page: bool, reactions: &mut Reactions<'_>) {
        let Some(interception) = self.interception(is_page) else { return };
        reactions.post(Some(session), &BYPASS_SERVICE_WORKERS);
        reactions.post(Some(session), &interception);
    }
}
