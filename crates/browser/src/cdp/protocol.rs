//! The commands and events in use, with the field names of CDP.

use super::{
    Command, SessionId,
    bounded::{BoundedText, BoundedUrl, Id, SensitiveText, WholeUrl},
    closed_roots::ClosedRoots,
    connection::MAX_MESSAGE_BYTES,
    headers::{IssuedHeaders, RequestHeaders, ResponseHeaders},
};
use crate::text::ScriptTextLimits;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use std::fmt;

/// A result or event without fields that the driver reads.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Nothing {}

macro_rules! commands {
    ($(
        $(#[$doc:meta])*
        $method:literal $name:ident $(<$life:lifetime>)?
        { $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? } -> $response:ty $(, at most $bytes:expr)?;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Serialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name $(<$life>)? { $($(#[$meta])* pub $field: $type,)* }

            impl $(<$life>)? Command for $name $(<$life>)? {
                const METHOD: &'static str = $method;
                type Response = $response;
                $(fn max_reply(&self) -> usize { $bytes })?
            }
        )*
    };
}

commands! {
    /// Grants the listed permissions and rejects all others, for every origin.
    "Browser.grantPermissions" GrantPermissions { permissions: Vec<String> } -> Nothing;
    "Browser.close" CloseBrowser {} -> Nothing;
    /// Ends the browser process at once, without cleaning up.
    "Browser.crash" CrashBrowser {} -> Nothing;
    "Browser.getVersion" GetVersion {} -> Nothing;
    "Browser.setDownloadBehavior" SetDownloadBehavior<'a> { behavior: &'a str, events_enabled: bool } -> Nothing;
    "DOM.describeNode" DescribeNode<'a> { object_id: &'a str } -> Described;
    /// To the given depth; shadow roots and frames are included without their content.
    "DOM.describeNode" DescribeTree<'a> { object_id: &'a str, depth: usize } -> DescribedTree, at most MAX_MESSAGE_BYTES;
    "DOM.disable" DisableDom {} -> Nothing;
    "DOM.enable" EnableDom {} -> Nothing;
    "DOM.getFrameOwner" GetFrameOwner<'a> { frame_id: &'a str } -> FrameOwner;
    /// In the outermost frame of the session; descends into frames of the same process.
    "DOM.getNodeForLocation" GetNodeForLocation { x: i64, y: i64 } -> NodeForLocation;
    "DOM.performSearch" PerformSearch<'a> { query: &'a str, include_user_agent_shadow_dom: bool } -> SearchFound;
    "DOM.resolveNode" ResolveNode {
        backend_node_id: i64, execution_context_id: i64, object_group: &'static str,
    } -> ResolvedNode;
    "DOMDebugger.getEventListeners" GetEventListeners<'a> { object_id: &'a str, depth: usize, pierce: bool } -> EventListeners, at most MAX_LISTENERS_REPLY;
    /// In the page's own world. Such a handle is for Chromium only; nothing is called with it.
    "DOM.resolveNode" ResolveInPage { backend_node_id: i64, object_group: &'static str } -> ResolvedNode;
    "Emulation.setDeviceMetricsOverride" SetDeviceMetrics {
        width: u32, height: u32, device_scale_factor: f64, mobile: bool,
    } -> Nothing;
    /// Without patterns: every request of the target stays paused.
    "Fetch.enable" HoldRequests {} -> Nothing;
    "Fetch.disable" DisableInterception {} -> Nothing;
    "Fetch.enable" InterceptRequests { patterns: Vec<RequestPattern> } -> Nothing;
    "Fetch.failRequest" FailRequest<'a> { request_id: &'a str, error_reason: &'static str } -> Nothing;
    "Fetch.fulfillRequest" FulfillRequest<'a> {
        request_id: &'a str, response_code: u16, response_headers: [HeaderLine<'static>; 2], body: &'static str,
    } -> Nothing;
    /// Answers a paused request without the site.
    "Fetch.fulfillRequest" AnswerWithStatus<'a> {
        request_id: &'a str, response_code: u16, response_headers: [HeaderLine<'static>; 1],
    } -> Nothing;
    /// Refused in any case: by one reason while the request is paused, and by another once it is gone.
    "Fetch.getResponseBody" ProbePausedRequest<'a> { request_id: &'a str } -> Nothing;
    "HeapProfiler.collectGarbage" CollectGarbage {} -> Nothing;
    "Input.dispatchKeyEvent" DispatchKey<'a> {
        r#type: &'a str,
        key: &'a str,
        code: &'a str,
        windows_virtual_key_code: u32,
        modifiers: u32,
        #[serde(skip_serializing_if = "Option::is_none")] text: Option<&'a str>,
    } -> Nothing;
    "Input.dispatchDragEvent" DispatchDrag<'a> {
        r#type: &'a str, x: f64, y: f64, data: &'a RawValue, modifiers: u32,
    } -> Nothing;
    "Input.dispatchMouseEvent" TurnWheel<'a> {
        r#type: &'a str, x: f64, y: f64, delta_x: f64, delta_y: f64,
    } -> Nothing;
    "Input.dispatchMouseEvent" DispatchMouse<'a> {
        r#type: &'a str, x: f64, y: f64, button: &'a str, buttons: u32, click_count: u32, modifiers: u32,
    } -> Nothing;
    "Input.insertText" InsertText<'a> { text: &'a str } -> Nothing;
    /// Drags are reported as events with their data, instead of going to a desktop.
    "Input.setInterceptDrags" InterceptDrags { enabled: bool } -> Nothing;
    "Inspector.enable" EnableInspector {} -> Nothing;
    /// Keeps response bodies outside the renderer, so that they outlive their page.
    "Network.configureDurableMessages" KeepBodies {
        max_total_buffer_size: u32, max_resource_buffer_size: u32,
    } -> Nothing;
    "Network.enable" EnableNetwork {
        max_total_buffer_size: u32, max_resource_buffer_size: u32, max_post_data_size: u32,
    } -> Nothing;
    "Network.getResponseBody" GetResponseBody<'a> { request_id: &'a str } -> ResponseBody, at most MAX_BODY_REPLY;
    "Network.setBypassServiceWorker" BypassServiceWorkers { bypass: bool } -> Nothing;
    "Page.addScriptToEvaluateOnNewDocument" AddScript<'a> {
        source: &'a RawValue, world_name: &'a str, run_immediately: bool,
    } -> Nothing;
    "Page.captureScreenshot" CaptureScreenshot<'a> {
        format: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")] quality: Option<u32>,
        clip: Clip,
        capture_beyond_viewport: bool,
    } -> Captured, at most MAX_MESSAGE_BYTES;
    "Page.bringToFront" BringToFront {} -> Nothing;
    "Page.createIsolatedWorld" CreateIsolatedWorld<'a> { frame_id: &'a str, world_name: &'a str } -> Nothing;
    "Page.enable" EnablePage {} -> Nothing;
    "Page.getFrameTree" GetFrameTree {} -> FrameTreeOf;
    "Page.getNavigationHistory" GetHistory {} -> History;
    "Page.navigateToHistoryEntry" GoToEntry { entry_id: i64 } -> Nothing;
    "Page.reload" Reload {} -> Nothing;
    "Page.getLayoutMetrics" GetLayoutMetrics {} -> LayoutMetrics;
    "Page.handleJavaScriptDialog" HandleDialog<'a> {
        accept: bool,
        #[serde(skip_serializing_if = "Option::is_none")] prompt_text: Option<&'a str>,
    } -> Nothing;
    "Page.navigate" Navigate<'a> { url: &'a str } -> Navigated;
    "Page.removeScriptToEvaluateOnNewDocument" RemoveScript<'a> { identifier: &'a str } -> Nothing;
    "Page.resetNavigationHistory" ResetHistory {} -> Nothing;
    "Page.setInterceptFileChooserDialog" InterceptFileChooser { enabled: bool, cancel: bool } -> Nothing;
    "Page.setLifecycleEventsEnabled" SetLifecycleEvents { enabled: bool } -> Nothing;
    "Page.stopLoading" StopLoading {} -> Nothing;
    "Performance.disable" DisablePerformance {} -> Nothing;
    /// Starts counting layouts and style recalculations.
    "Performance.enable" EnablePerformance {} -> Nothing;
    "Performance.getMetrics" GetMetrics {} -> Metrics;
    "Runtime.disable" DisableRuntime {} -> Nothing;
    "Runtime.enable" EnableRuntime {} -> Nothing;
    "Runtime.evaluate" Evaluate<'a> {
        expression: &'a RawValue, unique_context_id: &'a str, silent: bool,
    } -> Evaluated<IgnoredAny>;
    "Runtime.evaluate" EvaluateHandle<'a> { expression: &'static str, unique_context_id: &'a str, silent: bool } -> Evaluated<IgnoredAny>;
    "Runtime.callFunctionOn" CallForNode<'a> {
        function_declaration: &'a str,
        unique_context_id: &'a str,
        arguments: (ByValue<'a, Option<ScriptTextLimits>>, ByValue<'a, usize>),
        object_group: &'static str,
        silent: bool,
    } -> Evaluated<IgnoredAny>;
    "Runtime.releaseObjectGroup" ReleaseHandles { object_group: &'static str } -> Nothing;
    "Runtime.runIfWaitingForDebugger" Resume {} -> Nothing;
    "Target.closeTarget" CloseTarget<'a> { target_id: &'a str } -> Nothing;
    "Target.createTarget" CreateTarget<'a> { url: &'a str } -> CreatedTarget;
    "Target.getBrowserContexts" GetContexts {} -> BrowserContexts;
    "Target.setAutoAttach" SetAutoAttach {
        auto_attach: bool, wait_for_debugger_on_start: bool, flatten: bool, filter: Vec<TargetFilter>,
    } -> Nothing;
    "Target.setDiscoverTargets" SetDiscoverTargets { discover: bool, filter: Vec<TargetFilter> } -> Nothing;
}

/// Bytes of the bodies that are kept for one target, and of one of them.
const MAX_BODIES: u32 = 16 << 20;
const MAX_BODY: u32 = 1 << 20;
/// Bytes of JSON. Chromium also sends larger bodies than it was asked to keep, if it has them.
const MAX_BODY_REPLY: usize = 8 << 20;
/// Bytes of the list of a document's listeners; each takes less than 200.
pub(super) const MAX_LISTENERS_REPLY: usize = 8 << 20;

impl Default for KeepBodies {
    fn default() -> KeepBodies {
        KeepBodies { max_total_buffer_size: MAX_BODIES, max_resource_buffer_size: MAX_BODY }
    }
}

impl EnableNetwork {
    pub fn with_bodies() -> EnableNetwork {
        EnableNetwork {
            max_total_buffer_size: MAX_BODIES,
            max_resource_buffer_size: MAX_BODY,
            max_post_data_size: 1,
        }
    }

    /// Reports pending requests only.
    pub fn without_bodies() -> EnableNetwork {
        // Zero would be taken for the default, which is megabytes.
        EnableNetwork { max_total_buffer_size: 1, max_resource_buffer_size: 1, max_post_data_size: 1 }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct TargetFilter {
    pub r#type: &'static str,
    pub exclude: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPattern {
    pub url_pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<&'static str>,
    pub request_stage: &'static str,
}

/// Continues a paused request, as it is or with other parts. It derives no `Debug`: its lines may hold secrets, and its body
/// is what people typed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinueRequest<'a> {
    pub request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<&'a str>,
    /// In base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<HeaderLine<'a>>>,
    /// Pauses the response as well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub intercept_response: bool,
}

impl<'a> ContinueRequest<'a> {
    pub fn unchanged(request_id: &'a str) -> ContinueRequest<'a> {
        ContinueRequest {
            request_id,
            method: None,
            post_data: None,
            headers: None,
            intercept_response: false,
        }
    }
}

impl Command for ContinueRequest<'_> {
    const METHOD: &'static str = "Fetch.continueRequest";
    type Response = Nothing;
}

impl<'a> AnswerWithStatus<'a> {
    /// A refused navigation leaves the document as it is; any other request fails.
    pub fn refusal(request_id: &'a str, is_navigation: bool) -> AnswerWithStatus<'a> {
        let response_code = if is_navigation { 204 } else { 403 };
        let no_store = HeaderLine { name: "Cache-Control", value: "no-store" };
        AnswerWithStatus { request_id, response_code, response_headers: [no_store] }
    }
}

/// A header line. It derives no `Debug`: the value may be a secret.
#[derive(Clone, Serialize)]
pub struct HeaderLine<'a> {
    pub name: &'a str,
    pub value: &'a str,
}

impl fmt::Debug for HeaderLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A call of a function of the page script, which returns a `T`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFunction<'a, A, T> {
    pub function_declaration: &'a str,
    /// Unique over all processes. Another process may use the plain context id for the page itself.
    pub unique_context_id: &'a str,
    pub arguments: A,
    pub return_by_value: bool,
    pub await_promise: bool,
    pub silent: bool,
    #[serde(skip)]
    pub max_reply: usize,
    #[serde(skip)]
    pub returns: std::marker::PhantomData<fn() -> T>,
}

impl<A: Serialize, T: DeserializeOwned> Command for CallFunction<'_, A, T> {
    const METHOD: &'static str = "Runtime.callFunctionOn";
    type Response = Evaluated<T>;

    fn max_reply(&self) -> usize {
        self.max_reply
    }
}

/// The group of all node handles, which are released together: a node with a handle is never collected.
pub const HANDLES: &str = "stockade";
/// The same for nodes with listeners, which are resolved while others are in use.
pub const LISTENER_HANDLES: &str = "stockade-listeners";

#[derive(Clone, Debug, Serialize)]
pub struct ByValue<'a, A> {
    pub value: &'a A,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByHandle<'a> {
    pub object_id: &'a str,
}

/// Arguments of a call with any number of nodes.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum CallArgument<'a, A> {
    Value(ByValue<'a, A>),
    Handle(ByHandle<'a>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Deserialize<'de>")]
pub struct Evaluated<T> {
    pub result: RemoteObject<T>,
    pub exception_details: Option<ExceptionDetails>,
}

#[derive(Debug, Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub struct RemoteObject<T> {
    pub value: Option<T>,
    #[serde(rename = "objectId")]
    pub object_id: Option<Id>,
}

#[derive(Debug, Deserialize)]
pub struct ExceptionDetails {
    #[serde(default)]
    pub text: String,
    pub exception: Option<ThrownObject>,
}

#[derive(Debug, Deserialize)]
pub struct ThrownObject {
    #[serde(default)]
    pub description: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Clip {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub scale: f64,
}

/// Structs that Chromium sends: results, event parameters and their parts.
macro_rules! received {
    ($($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name { $($(#[$meta])* pub $field: $type,)* }
        )*
    };
}

received! {
    DescribedTree { node: ClosedRoots }
    SearchFound { result_count: usize }
    EventListeners { listeners: Vec<EventListener> }
    EventListener { r#type: BoundedText, line_number: i64, column_number: i64, backend_node_id: Option<i64> }
    FrameOwner { backend_node_id: i64 }
    NodeForLocation { backend_node_id: i64, frame_id: Id }
    Described { node: DescribedNode }
    DescribedNode { backend_node_id: i64, #[serde(default)] shadow_roots: Vec<ShadowRoot> }
    ShadowRoot { shadow_root_type: BoundedText }
    ResolvedNode { object: Handle }
    Handle { object_id: Option<Id> }
    Captured { data: String }
    Frame { id: Id, #[serde(default)] loader_id: Option<Id>, parent_id: Option<Id>, url: BoundedUrl, unreachable_url: Option<BoundedUrl> }
    FrameTreeOf { frame_tree: FrameTree }
    FrameTree { frame: Frame, #[serde(default)] child_frames: Vec<FrameTree> }
    Metrics { metrics: Vec<Metric> }
    Metric { name: BoundedText, value: f64 }
    LayoutMetrics { css_layout_viewport: Viewport, css_content_size: Size }
    Viewport { page_x: f64, page_y: f64, client_width: f64, client_height: f64 }
    Size { width: f64, height: f64 }
    History { current_index: i64, entries: Vec<HistoryEntry> }
    HistoryEntry { id: i64 }
    DragIntercepted { data: Box<RawValue> }
    RequestSent { request_id: Id, #[serde(default)] r#type: BoundedText, frame_id: Option<Id>, request: Request, redirect_response: Option<Nothing> }
    Request { #[serde(default)] url: BoundedUrl, #[serde(default)] method: BoundedText }
    ResponseReceived { request_id: Id, #[serde(default)] r#type: BoundedText, response: Response, frame_id: Option<Id> }
    Response { #[serde(default)] url: BoundedUrl, #[serde(default)] status: u16, #[serde(default)] mime_type: BoundedText, #[serde(default)] headers: ResponseHeaders }
    RequestDone { request_id: Id }
    ResponseHeadersReceived { #[serde(default)] headers: IssuedHeaders }
    ResponseBody { body: SensitiveText, #[serde(default)] base64_encoded: bool }
    WebSocketCreated { url: BoundedUrl }
    /// A message on a WebSocket.
    WebSocketFrame { response: SocketFrame }
    SocketFrame { #[serde(default)] payload_data: SensitiveText }
    /// A message of an event stream.
    EventSourceMessage { #[serde(default)] data: SensitiveText }
    Navigated { loader_id: Option<Id>, error_text: Option<BoundedText> }
    CreatedTarget { target_id: Id }
    /// Each Chromium process has another default id.
    BrowserContexts { default_browser_context_id: Option<Id> }
    TargetInfo {
        target_id: Id,
        r#type: BoundedText,
        #[serde(default)] title: BoundedText,
        #[serde(default)] url: BoundedUrl,
        parent_frame_id: Option<Id>,
        /// The page that opened it, even if they cannot access each other.
        opener_id: Option<Id>,
        #[serde(default)] can_access_opener: bool,
    }

    Attached { session_id: SessionId, target_info: TargetInfo }
    ContextCreated { context: Context }
    Context { id: i64, name: BoundedText, unique_id: Id, aux_data: Option<ContextData> }
    ContextData { frame_id: Id, #[serde(default)] is_default: bool }
    ContextDestroyed { execution_context_unique_id: Id }
    Detached { session_id: SessionId }
    DialogOpening { message: BoundedText, r#type: BoundedText, #[serde(default)] url: BoundedUrl, default_prompt: Option<BoundedText> }
    DownloadWillBegin { url: BoundedUrl }
    FrameAttached { frame_id: Id, parent_frame_id: Id }
    FrameDetached { frame_id: Id, reason: BoundedText }
    FrameNavigated { frame: Frame }
    InspectorDetached { #[serde(default)] reason: BoundedText }
    Lifecycle { frame_id: Id, loader_id: Id, name: BoundedText }
    NavigatedWithin { frame_id: Id, url: BoundedUrl }
    NavigationRequested { frame_id: Id, disposition: BoundedText }
    NavigationScheduled { frame_id: Id, delay: f64 }
    NavigationStarted { frame_id: Id, #[serde(default)] loader_id: Option<Id>, #[serde(default)] navigation_type: BoundedText }
    FrameEvent { frame_id: Id }
    /// A paused request, or its paused response: then there is a status or an error.
    RequestPaused {
        request_id: Id,
        request: PausedRequest,
        #[serde(default)] resource_type: BoundedText,
        frame_id: Option<Id>,
        redirected_request_id: Option<Id>,
        response_status_code: Option<u16>,
        response_error_reason: Option<BoundedText>,
        #[serde(default)] response_headers: ResponseHeaders,
    }
    PausedRequest {
        url: WholeUrl,
        #[serde(default)] method: BoundedText,
        #[serde(default)] headers: RequestHeaders,
        #[serde(default)] has_post_data: bool,
        /// The parts of the body.
        #[serde(default)] post_data_entries: Vec<PostDataEntry>,
    }
    /// In base64; without bytes for a part that Chromium does not have itself.
    PostDataEntry { bytes: Option<SensitiveText> }
    TargetChanged { target_info: TargetInfo }
    TargetCrashed { target_id: Id, #[serde(default)] status: BoundedText, #[serde(default)] error_code: i64 }
    WindowOpen { url: BoundedUrl }
}

impl InspectorDetached {
    /// Chromium reports a renderer that is gone like this when it cannot find out how it ended: what forks renderers is
    /// gone as well.
    pub fn is_renderer_gone(&self) -> bool {
        &*self.reason == "Render process gone."
    }
}
