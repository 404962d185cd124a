//! The events that the driver handles; all others are ignored undecoded.

use super::{SessionId, protocol as p};

#[derive(Clone, Debug)]
pub struct Event {
    /// The target it came from; none for the browser itself.
    pub session: Option<SessionId>,
    pub kind: EventKind,
}

/// Events with every response or message; decoded only after [`super::Connection::enable_opt_in_events`].
pub(super) const OPT_IN_EVENTS: [&str; 3] = [
    "Network.eventSourceMessageReceived",
    "Network.responseReceivedExtraInfo",
    "Network.webSocketFrameReceived",
];

macro_rules! events {
    ($($method:literal => $variant:ident($params:ty),)*) => {
        #[derive(Clone, Debug)]
        pub enum EventKind {
            $($variant($params),)*
        }

        impl EventKind {
            /// `None` for an event that is unknown or has an unknown form.
            pub(super) fn decode(method: &str, params: &str) -> Option<EventKind> {
                let decoded = match method {
                    $($method => serde_json::from_str(params).map(EventKind::$variant),)*
                    _ => return None,
                };
                decoded.inspect_err(|error| tracing::debug!(%error, method, "cdp event not understood")).ok()
            }
        }
    };
}

events! {
    "Browser.downloadWillBegin" => DownloadWillBegin(p::DownloadWillBegin),
    "Fetch.requestPaused" => RequestPaused(p::RequestPaused),
    "Input.dragIntercepted" => DragIntercepted(p::DragIntercepted),
    "Inspector.detached" => InspectorDetached(p::InspectorDetached),
    "Inspector.targetCrashed" => RendererCrashed(p::Nothing),
    "Inspector.targetReloadedAfterCrash" => RendererReloaded(p::Nothing),
    "Network.eventSourceMessageReceived" => EventSourceMessage(p::EventSourceMessage),
    "Network.loadingFailed" => RequestFailed(p::RequestDone),
    "Network.loadingFinished" => RequestFinished(p::RequestDone),
    "Network.requestWillBeSent" => RequestSent(p::RequestSent),
    "Network.responseReceived" => ResponseReceived(p::ResponseReceived),
    "Network.responseReceivedExtraInfo" => ResponseHeadersReceived(p::ResponseHeadersReceived),
    "Network.webSocketCreated" => WebSocketCreated(p::WebSocketCreated),
    "Network.webSocketFrameReceived" => WebSocketFrame(p::WebSocketFrame),
    "Page.frameAttached" => FrameAttached(p::FrameAttached),
    "Page.frameClearedScheduledNavigation" => NavigationCleared(p::FrameEvent),
    "Page.frameDetached" => FrameDetached(p::FrameDetached),
    "Page.frameNavigated" => FrameNavigated(p::FrameNavigated),
    "Page.frameRequestedNavigation" => NavigationRequested(p::NavigationRequested),
    "Page.frameScheduledNavigation" => NavigationScheduled(p::NavigationScheduled),
    "Page.frameStartedNavigating" => NavigationStarted(p::NavigationStarted),
    "Page.frameStoppedLoading" => LoadingStopped(p::FrameEvent),
    "Page.fileChooserOpened" => FileChooserOpened(p::Nothing),
    "Page.javascriptDialogClosed" => DialogClosed(p::Nothing),
    "Page.javascriptDialogOpening" => DialogOpening(p::DialogOpening),
    "Page.lifecycleEvent" => Lifecycle(p::Lifecycle),
    "Page.navigatedWithinDocument" => NavigatedWithin(p::NavigatedWithin),
    "Page.windowOpen" => WindowOpen(p::WindowOpen),
    "Runtime.executionContextCreated" => ContextCreated(p::ContextCreated),
    "Runtime.executionContextDestroyed" => ContextDestroyed(p::ContextDestroyed),
    "Runtime.executionContextsCleared" => ContextsCleared(p::Nothing),
    "Target.attachedToTarget" => Attached(p::Attached),
    "Target.detachedFromTarget" => Detached(p::Detached),
    "Target.targetCrashed" => TargetCrashed(p::TargetCrashed),
    "Target.targetInfoChanged" => TargetChanged(p::TargetChanged),
}

impl EventKind {
    /// Whether the renderer of the event's target is gone.
    pub fn is_renderer_crash(&self) -> bool {
        match self {
            EventKind::RendererCrashed(_) => true,
            EventKind::InspectorDetached(detached) => detached.is_renderer_gone(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_malformed_events_are_ignored() {
        for (method, params, known) in [
            ("Page.frameStoppedLoading", r#"{"frameId":"F","new":{"field":1}}"#, true),
            ("Page.frameStoppedLoading", r#"{"frameId":7}"#, false),
            ("Page.frameStoppedLoading", "{}", false),
            ("Page.somethingNew", r#"{"frameId":"F"}"#, false),
            ("Inspector.targetCrashed", "{}", true),
        ] {
            assert_eq!(EventKind::decode(method, params).is_some(), known, "{method} {params}");
        }
    }
}
