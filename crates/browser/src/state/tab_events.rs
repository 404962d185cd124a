//! Applies CDP events to a tab, one family of events at a time: network, frames, isolated worlds, navigation, dialogs.

use super::{
    Incident, Incidents, PageEventKind, PendingNavigation, Tab,
    frames::FrameWorld,
    tab::{LoadProgress, MAX_LOADERS, MAX_TITLE, OpenDialog},
};
use crate::{
    cdp::{EventKind, Reactions, SessionId, protocol as p},
    script,
};

/// What is shown of a refused scheme, in bytes.
const MAX_SCHEME: usize = 32;
/// Pending requests that are tracked; an action does not wait for more.
const MAX_REQUESTS: usize = 128;
/// Dialogs that are answered automatically between two actions. The next one stays open, which stops the page: a loop
/// of alerts would never end otherwise.
const MAX_ANSWERED_DIALOGS: usize = 20;
/// Resources that may change the page when they arrive. Images, media and streams do not, or never end.
const AWAITED: [&str; 5] = ["Document", "Script", "Stylesheet", "XHR", "Fetch"];

impl Tab {
    /// The families are disjoint: each event is handled by one of these functions and ignored by the others.
    pub fn apply(
        &mut self,
        kind: &EventKind,
        session: &SessionId,
        is_active: bool,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        self.apply_network_event(kind, incidents);
        self.apply_frame_event(kind, session, incidents, reactions);
        self.apply_world_event(kind, session);
        self.apply_navigation_event(kind, incidents);
        self.apply_dialog_event(kind, session, is_active, incidents, reactions);
    }

    fn apply_network_event(&mut self, kind: &EventKind, incidents: &mut Incidents) {
        match kind {
            EventKind::RequestSent(it) => self.request_sent(it, incidents),
            EventKind::ResponseReceived(it) => self.response_received(it),
            EventKind::RequestFinished(it) | EventKind::RequestFailed(it) => {
                self.requests.remove(&it.request_id);
            }
            _ => {}
        }
    }

    fn request_sent(&mut self, request: &p::RequestSent, incidents: &mut Incidents) {
        if request.r#type == "Document" && request.frame_id.as_ref() == Some(&self.target) {
            // Reported again for each redirect; the response to a form is often the page that it redirects to.
            self.document_request_is_post = Some(&*request.request.method != "GET");
            if request.redirect_response.is_some() {
                let (url, tab) = (&request.request.url, self.id.to_string());
                incidents.page_events.add(PageEventKind::Redirected, url, &tab);
            }
        }
        if AWAITED.contains(&&*request.r#type) && self.requests.len() < MAX_REQUESTS {
            self.requests.insert(request.request_id.clone(), false);
        }
    }

    fn response_received(&mut self, received: &p::ResponseReceived) {
        self.note_document_response(received);
        if received.r#type == "Document" && received.frame_id.as_ref() == Some(&self.target) {
            // Chromium gives a document's request the id of its loader.
            self.document_response = Some((received.request_id.clone(), received.response.status));
        }
        if received.response.mime_type == "text/event-stream" {
            // It never ends.
            self.requests.remove(&received.request_id);
        } else if &*received.r#type == "Fetch"
            && let Some(has_response) = self.requests.get_mut(&received.request_id)
        {
            // A page that does not read the body never gets the rest of it.
            *has_response = true;
        }
    }

    fn apply_frame_event(
        &mut self,
        kind: &EventKind,
        session: &SessionId,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        match kind {
            EventKind::FrameAttached(it) => {
                self.frames.attach(&it.frame_id, Some(&it.parent_frame_id), session);
            }
            EventKind::FrameDetached(it) if it.reason != "swap" => self.frames.remove(&it.frame_id),
            EventKind::FrameNavigated(it) => self.frame_navigated(&it.frame, session, incidents, reactions),
            _ => {}
        }
    }

    fn frame_navigated(
        &mut self,
        frame: &p::Frame,
        session: &SessionId,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        // Mostly known before: see `State::handle_paused_request` and `note_document_response`.
        self.context_group.add_document(&frame.url);
        if frame.id == self.target {
            self.document_committed(frame, incidents, reactions);
        }
        self.frames.attach(&frame.id, frame.parent_id.as_deref(), session);
        if let Some(known) = self.frames.get_mut(&frame.id) {
            known.set_url(&frame.url);
        }
    }

    fn document_committed(
        &mut self,
        frame: &p::Frame,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        self.frames.keep_only(&frame.id);
        let started = self.started_navigations.iter().rfind(|(loader, _)| *loader == frame.loader_id);
        let started = started.map(|(_, commits)| *commits);
        self.note_document(frame.loader_id.clone(), started);
        // A page without a request comes from a cache, and the method that once requested it is unknown.
        self.posted = self.document_request_is_post.take().unwrap_or(frame.url.starts_with("http"));
        let response = self.document_response.take();
        self.status = response
            .filter(|(loader, _)| frame.loader_id.as_ref() == Some(loader))
            .map(|(_, status)| status)
            .filter(|status| *status > 0);
        self.navigation = PendingNavigation::None;
        self.requests.clear();
        self.dialog = None;
        self.leaving = false;
        frame.unreachable_url.as_deref().unwrap_or(&frame.url).clone_into(&mut self.url);
        if self.url != "about:blank" {
            incidents.page_events.add(PageEventKind::Navigated, &self.url, &self.id.to_string());
        }
        if let Some(scheme) = refused_scheme(&frame.url) {
            let scheme = incidents.page_text(scheme, MAX_SCHEME);
            self.refused_scheme = Some(scheme.clone());
            incidents.add(Incident::SchemeRefused { scheme });
            reactions.post(Some(&self.session), &p::Navigate { url: "about:blank" });
        }
    }

    fn apply_world_event(&mut self, kind: &EventKind, session: &SessionId) {
        match kind {
            EventKind::ContextCreated(it) => self.context_created(&it.context, session),
            EventKind::ContextDestroyed(it) => self.frames.forget_world(&it.execution_context_unique_id),
            EventKind::ContextsCleared(_) => self.frames.forget_worlds_of(session),
            _ => {}
        }
    }

    fn context_created(&mut self, context: &p::Context, session: &SessionId) {
        let Some(data) = context.aux_data.as_ref() else { return };
        if data.is_default {
            self.frames.set_page_world(&data.frame_id, &context.unique_id, session);
        } else if context.name == script::WORLD {
            let world = FrameWorld { unique: context.unique_id.clone(), id: context.id };
            self.frames.set_world(&data.frame_id, world, session);
        }
    }

    fn apply_navigation_event(&mut self, kind: &EventKind, incidents: &mut Incidents) {
        match kind {
            EventKind::NavigatedWithin(it) => self.navigated_within_document(it, incidents),
            EventKind::Lifecycle(it) if it.frame_id == self.target => self.lifecycle(it),
            EventKind::NavigationRequested(it)
                if it.frame_id == self.target && it.disposition == "currentTab" =>
            {
                self.navigation_requested();
            }
            // A page that reloads in a minute is not about to navigate.
            EventKind::NavigationScheduled(it) if it.frame_id == self.target && it.delay < 1.0 => {
                self.navigation_requested();
            }
            EventKind::NavigationStarted(it)
                if it.frame_id == self.target && !it.navigation_type.ends_with("ameDocument") =>
            {
                self.navigation = PendingNavigation::Started;
                if self.started_navigations.len() == MAX_LOADERS {
                    self.started_navigations.pop_front();
                }
                self.started_navigations.push_back((it.loader_id.clone(), self.commits));
            }
            EventKind::NavigationCleared(it)
                if it.frame_id == self.target && self.navigation == PendingNavigation::Requested =>
            {
                self.navigation = PendingNavigation::None;
            }
            EventKind::LoadingStopped(it) if it.frame_id == self.target => {
                // Chromium reports the load event first, unless there is none. A page that is about to be replaced
                // may stop as well.
                self.load_progress.stopped |=
                    !self.load_progress.load && self.navigation == PendingNavigation::None;
                self.navigation = PendingNavigation::None;
            }
            _ => {}
        }
    }

    fn navigation_requested(&mut self) {
        if self.navigation == PendingNavigation::None {
            self.navigation = PendingNavigation::Requested;
        }
    }

    fn navigated_within_document(&mut self, navigated: &p::NavigatedWithin, incidents: &mut Incidents) {
        if navigated.frame_id == self.target {
            self.url = navigated.url.to_string();
            self.navigation = PendingNavigation::None;
            self.same_document_navigations += 1;
            let detail = format!("{} within the page", self.id);
            incidents.page_events.add(PageEventKind::Navigated, &self.url, &detail);
        } else if let Some(frame) = self.frames.get_mut(&navigated.frame_id) {
            frame.set_url(&navigated.url);
        }
    }

    fn lifecycle(&mut self, event: &p::Lifecycle) {
        if event.name == "init" {
            self.load_progress = LoadProgress::default();
            if self.loaders.len() == MAX_LOADERS {
                self.loaders.pop_front();
            }
            self.loaders.push_back(event.loader_id.clone());
        }
        if self.loaders.back() != Some(&event.loader_id) {
            return;
        }
        match &*event.name {
            "DOMContentLoaded" => self.load_progress.dom_content_loaded = true,
            "load" => self.load_progress.load = true,
            "networkIdle" => self.load_progress.network_idle = true,
            _ => {}
        }
    }

    fn apply_dialog_event(
        &mut self,
        kind: &EventKind,
        session: &SessionId,
        is_active: bool,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        match kind {
            EventKind::DialogOpening(it) => {
                self.dialog_opening(it, session, is_active, incidents, reactions);
            }
            EventKind::DialogClosed(_) => self.dialog = None,
            EventKind::FileChooserOpened(_) => incidents.add(Incident::UploadRefused),
            _ => {}
        }
    }

    /// Accepts alerts and `beforeunload`: an alert asks nothing, and the agent wants to leave. Dismisses dialogs of
    /// background tabs. Any other dialog waits for the agent.
    fn dialog_opening(
        &mut self,
        dialog: &p::DialogOpening,
        session: &SessionId,
        is_active: bool,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        let message = incidents.page_text(&dialog.message, MAX_TITLE);
        let kind = match &*dialog.r#type {
            "alert" => "alert",
            "beforeunload" => "beforeunload",
            "prompt" => "prompt",
            _ => "confirm",
        };
        let needs_agent = is_active && matches!(kind, "confirm" | "prompt");
        if (needs_agent || self.answered_dialogs == MAX_ANSWERED_DIALOGS) && !self.leaving {
            let url = dialog.url.to_string();
            // Never shown, only sent back to the page.
            let default_prompt =
                dialog.default_prompt.as_ref().map(|text| text.to_string()).unwrap_or_default();
            let detail = format!("{kind} {:?}, waits", message.as_str());
            incidents.page_events.add(PageEventKind::Dialog, &url, &detail);
            self.dialog = Some(OpenDialog { session: session.clone(), kind, message, url, default_prompt });
            return;
        }
        self.answered_dialogs = (self.answered_dialogs + 1).min(MAX_ANSWERED_DIALOGS);
        let accept = matches!(kind, "alert" | "beforeunload");
        reactions.post(Some(session), &p::HandleDialog { accept, prompt_text: None });
        incidents.add(Incident::Dialog { kind, message, accepted: accept });
    }
}

/// Only web pages, about:blank and Chromium's error page may fill a tab.
fn refused_scheme(url: &str) -> Option<&str> {
    let scheme = url.split(':').next().unwrap_or_default();
    let allowed =
        matches!(scheme, "http" | "https" | "chrome-error") || url == "about:blank" || url.is_empty();
    (!allowed).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cdp::Id, state::documents::DocumentRegistry};
    use policy::TabId;

    fn id(text: &str) -> Id {
        serde_json::from_value(text.into()).unwrap()
    }

    #[test]
    fn only_web_pages_may_fill_a_tab() {
        for (url, refused) in [
            ("http://a/", None),
            ("https://a/", None),
            ("about:blank", None),
            ("", None),
            ("chrome-error://chromewebdata/", None),
            ("about:srcdoc", Some("about")),
            ("blob:http://a/1", Some("blob")),
            ("data:text/html,x", Some("data")),
            ("file:///etc/passwd", Some("file")),
            ("chrome://version", Some("chrome")),
        ] {
            assert_eq!(refused_scheme(url), refused, "{url}");
        }
    }

    /// Documents as `(loader, commits when its navigation started)`, in the order in which they were committed.
    #[test]
    fn a_document_that_the_page_left_behind_is_told_apart_from_a_redirect() {
        for (documents, replaced) in [
            (&[("asked", 0)][..], false),
            (&[("asked", 0), ("redirect", 1)], false),
            (&[("before", 0), ("asked", 1)], false),
            (&[("asked", 0), ("trap", 0)], true),
            (&[("asked", 0), ("trap", 0), ("trap again", 2)], true),
            (&[("before", 0), ("asked", 1), ("redirect", 2), ("next", 3)], false),
            (&[("x", 0); 20], true),
        ] {
            let mut tab = Tab::new(TabId(1), id("T"), SessionId::from("page"), &DocumentRegistry::default());
            for (loader, started) in documents {
                tab.note_document(Some(id(loader)), Some(*started));
            }
            assert_eq!(tab.was_replaced_by_predecessor(&id("asked")), replaced, "{documents:?}");
        }
    }
}
