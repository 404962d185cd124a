//! The events that the driver listens to; all others pass by undecoded.

use super::{SessionId, protocol as p};

#[derive(Clone, Debug)]
pub struct Event {
    /// The target it came from; none for the browser itself.
    pub session: Option<SessionId>,
    pub kind: EventKind,
}

/// Come with every response or word; they are read only by those who asked for them.
pub(super) const FOR_SOME: [&str; 3] = [
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
            /// `None` for an event that is not known, or not in the form that is known.
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
    "Inspector.targetCrashed" => RendererCrashed(p::Nothing),
    "Inspector.targetReloadedAfterCrash" => RendererBack(p::Nothing),
    "Network.eventSourceMessageReceived" => StreamSaid(p::StreamSaid),
    "Network.loadingFailed" => RequestFailed(p::RequestDone),
    "Network.loadingFinished" => RequestFinished(p::RequestDone),
    "Network.requestWillBeSent" => RequestSent(p::RequestSent),
    "Network.responseReceived" => ResponseReceived(p::ResponseReceived),
    "Network.responseReceivedExtraInfo" => HeadReceived(p::HeadReceived),
    "Network.webSocketFrameReceived" => SocketSaid(p::SocketSaid),
    "Page.frameAttached" => FrameAttached(p::FrameAttached),
    "Page.frameClearedScheduledNavigation" => NavigationCleared(p::OfFrame),
    "Page.frameDetached" => FrameDetached(p::FrameDetached),
    "Page.frameNavigated" => FrameNavigated(p::FrameNavigated),
    "Page.frameRequestedNavigation" => NavigationRequested(p::NavigationRequested),
    "Page.frameScheduledNavigation" => NavigationScheduled(p::NavigationScheduled),
    "Page.frameStartedNavigating" => NavigationStarted(p::NavigationStarted),
    "Page.frameStoppedLoading" => LoadingStopped(p::OfFrame),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_unknown_or_of_another_form_is_no_event() {
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
