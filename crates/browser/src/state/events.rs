//! Applies CDP events to the state: targets, downloads, paused requests; all else goes to the tab it concerns.

use super::{Incident, MAX_CLOSED_POPUPS, MAX_TABS, State, Tab, TabEnd, attach_to_frames};
use crate::{
    cdp::{Event, EventKind, Reactions, SessionId, protocol as p},
    credentials::BrowsingContextGroup,
    script,
    text::cut,
};

/// Pages that wait to be claimed after a lost connection; others are closed at once.
const MAX_UNCLAIMED: usize = 16;

impl State {
    pub(super) fn apply(&mut self, event: &Event, reactions: &mut Reactions<'_>) {
        match (&event.kind, &event.session) {
            (EventKind::Attached(attached), _) => self.attached(attached, event.session.as_ref(), reactions),
            (EventKind::Detached(gone), _) => self.detached(&gone.session_id),
            (EventKind::TargetCrashed(crash), _) => self.target_crashed(crash, reactions),
            (EventKind::TargetChanged(changed), _) => self.target_changed(&changed.target_info),
            (EventKind::DownloadWillBegin(download), _) => {
                let url = self.incidents.page_url(&download.url);
                self.incidents.add(Incident::DownloadRefused { url });
                self.downloads += 1;
            }
            (EventKind::ResponseHeadersReceived(received), _) => {
                if let Some(values) = &mut self.injected.issued_values {
                    values.record(&received.headers);
                }
            }
            (EventKind::RequestPaused(paused), Some(session)) => {
                self.handle_paused_request(paused, session, reactions);
            }
            // Paused for the whole browser.
            (EventKind::RequestPaused(paused), None) => self.handle_paused_effect(paused, reactions),
            (EventKind::WebSocketCreated(created), _) => {
                if let Some(effects) = &self.injected.effects {
                    effects.note_websocket(&created.url);
                }
            }
            (EventKind::DragIntercepted(drag), Some(session)) => {
                if self.tab.as_ref().is_some_and(|tab| tab.owns(session)) {
                    self.drag_data = Some(drag.data.clone());
                }
            }
            (kind, Some(session)) if kind.is_renderer_crash() => {
                if self.tab.as_ref().is_some_and(|tab| tab.session == *session) {
                    self.ended.get_or_insert(TabEnd::Crashed { status: None });
                }
            }
            (kind, Some(session)) => {
                if self.injected.is_recording() && self.injected.filling.as_ref() != Some(session) {
                    self.injected.responses.record(kind, session);
                }
                // Taken out meanwhile: the tab is borrowed from the same state.
                let mut incidents = std::mem::take(&mut self.incidents);
                match (self.tab_of(session), kind) {
                    (Some((tab, is_active)), _) => {
                        tab.apply(kind, session, is_active, &mut incidents, reactions)
                    }
                    // A tab that is being closed must not wait for an answer to its dialog.
                    (None, EventKind::DialogOpening(_)) => {
                        reactions.post(Some(session), &p::HandleDialog { accept: true, prompt_text: None });
                    }
                    (None, _) => {}
                }
                self.incidents = incidents;
            }
            (_, None) => {}
        }
    }

    fn handle_paused_effect(&self, paused: &p::RequestPaused, reactions: &mut Reactions<'_>) {
        // Nobody decides: it stays paused.
        let Some(effects) = &self.injected.effects else { return };
        let mut tabs = self.tab.iter().chain(&self.background);
        let is_tab = tabs.any(|tab| Some(&tab.target) == paused.frame_id.as_ref());
        effects.handle(paused, is_tab, reactions);
    }

    fn target_changed(&mut self, info: &p::TargetInfo) {
        let mut tabs = self.tab.iter_mut().chain(&mut self.background);
        if let Some(tab) = tabs.find(|tab| tab.target == info.target_id) {
            tab.title = info.title.to_string();
        }
    }

    fn attached(
        &mut self,
        attached: &p::Attached,
        parent: Option<&SessionId>,
        reactions: &mut Reactions<'_>,
    ) {
        let p::Attached { session_id, target_info } = attached;
        match &*target_info.r#type {
            "iframe" => {
                let mut tabs = self.tab.iter_mut().chain(&mut self.background);
                match parent.and_then(|parent| tabs.find(|tab| tab.owns(parent))) {
                    Some(tab) => tab.adopt_frame(session_id, target_info, &self.injected, reactions),
                    // Its tab is gone.
                    None => reactions.post(Some(session_id), &p::Resume {}),
                }
            }
            "page" if self.resuming && self.unclaimed.len() < MAX_UNCLAIMED => {
                self.unclaimed.push(attached.clone());
            }
            "page" if !self.resuming && self.tab_count() < self.tab_limit_for(target_info) => {
                self.adopt(attached, reactions);
            }
            "page" => {
                let url = self.incidents.page_url(&target_info.url);
                self.incidents.add(Incident::PopupClosed { url });
                close_popup(attached, reactions);
                self.closed_popups += 1;
                if self.closed_popups > MAX_CLOSED_POPUPS {
                    self.close_opener(target_info, reactions);
                }
            }
            // A worker, or a kind that was not requested: let it run.
            _ => {
                if self.injected.is_recording() {
                    // Only the worker's own session reports the responses to its requests.
                    self.injected.enable_network(session_id, reactions);
                }
                reactions.post(Some(session_id), &p::Resume {});
            }
        }
    }

    /// One tab more for what the driver opens, which has no opener: a popup must not take its place.
    fn tab_limit_for(&self, page: &p::TargetInfo) -> usize {
        MAX_TABS + usize::from(self.opening && page.opener_id.is_none())
    }

    /// Closes the tab that opened a popup too many.
    fn close_opener(&mut self, popup: &p::TargetInfo, reactions: &mut Reactions<'_>) {
        let Some(opener) = &popup.opener_id else { return };
        if self.tab.as_ref().is_some_and(|tab| tab.target == *opener) {
            self.ended.get_or_insert(TabEnd::OpenedTooManyWindows);
        }
        reactions.post(None, &p::CloseTarget { target_id: opener });
    }

    /// Makes a page a tab of the session, whoever opened it, and sets it up before it runs.
    ///
    /// Waits for no reply: a popup shares the renderer of its opener, and its pause stops both.
    fn adopt(&mut self, page: &p::Attached, reactions: &mut Reactions<'_>) {
        let p::Attached { session_id, target_info } = page;
        let id = self.next_tab_id();
        let mut tab = Tab::new(id, target_info.target_id.clone(), session_id.clone(), &self.documents);
        if !target_info.url.is_empty() {
            tab.url = target_info.url.to_string();
        }
        let mut tabs = self.tab.iter().chain(&self.background);
        let opener = target_info.opener_id.as_ref().and_then(|opener| tabs.find(|tab| tab.target == *opener));
        // Tabs that the driver opens have no opener; `Browser::isolate_tab` gives them a new group.
        tab.context_group = opener.map_or_else(BrowsingContextGroup::mixed, |opener| {
            opener.context_group.for_popup(target_info.can_access_opener)
        });
        let url = self.incidents.page_url(&tab.url);
        self.incidents.add(Incident::TabOpened { tab: id, url });
        self.background.push(tab);
        let to = Some(session_id);
        let (width, height) = self.viewport;
        // The same commands as in `Browser::set_up`, for a tab that is found again.
        reactions.post(to, &p::EnableInspector {});
        reactions.post(to, &p::EnablePage {});
        reactions.post(to, &p::SetLifecycleEvents { enabled: true });
        reactions.post(to, &p::EnableRuntime {});
        reactions.post(to, &p::EnablePerformance {});
        reactions.post(to, &script::install_command());
        reactions.post(to, &attach_to_frames());
        self.injected.enable_network(session_id, reactions);
        reactions.post(to, &p::InterceptFileChooser { enabled: true, cancel: true });
        reactions.post(to, &p::SetDeviceMetrics { width, height, device_scale_factor: 1.0, mobile: false });
        self.injected.intercept_requests(session_id, true, reactions);
        reactions.post(to, &p::Resume {});
    }

    fn detached(&mut self, session: &SessionId) {
        self.unclaimed.retain(|unclaimed| unclaimed.session_id != *session);
        self.injected.responses.forget_session(session);
        if let Some(gone) = self.background.iter().position(|tab| tab.session == *session) {
            self.remove_background_tab(gone);
        } else if self.tab.as_ref().is_some_and(|tab| tab.session == *session) {
            // An action in progress must not continue in another tab.
            self.ended.get_or_insert(TabEnd::Closed);
        } else if let Some((tab, _)) = self.tab_of(session)
            && tab.frame_sessions.remove(session)
        {
            tab.frames.remove_session(session);
        }
    }

    fn target_crashed(&mut self, crash: &p::TargetCrashed, reactions: &mut Reactions<'_>) {
        if self.tab.as_ref().is_some_and(|tab| tab.target == crash.target_id) {
            let status = format!("{}, {}", cut(&crash.status, 64), crash.error_code);
            self.ended = Some(TabEnd::Crashed { status: Some(status) });
        } else if let Some(gone) = self.background.iter().position(|tab| tab.target == crash.target_id) {
            self.remove_background_tab(gone);
            reactions.post(None, &p::CloseTarget { target_id: &crash.target_id });
        }
    }
}

/// Closes a popup before it loads anything: its requests are held.
///
/// It is resumed before it is closed: it shares the renderer of its opener, and its pause would stop the opener for
/// good.
fn close_popup(popup: &p::Attached, reactions: &mut Reactions<'_>) {
    let session = Some(&popup.session_id);
    reactions.post(session, &p::HoldRequests {});
    reactions.post(session, &p::Resume {});
    reactions.post(None, &p::CloseTarget { target_id: &popup.target_info.target_id });
}
