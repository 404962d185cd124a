//! The commands and events in use, field for field as Chromium names them.

use super::{
    Command, SessionId,
    bounded::{Address, Id, Unprinted, Words},
    connection::LARGEST_MESSAGE,
    headers::{HandedHeaders, RequestHeaders, ResponseHeaders},
};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use std::fmt;

/// A result or event that carries nothing the driver reads.
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
                $(fn largest_reply(&self) -> usize { $bytes })?
            }
        )*
    };
}

commands! {
    /// Grants what is listed and rejects all else, for every origin.
    "Browser.grantPermissions" GrantPermissions { permissions: Vec<String> } -> Nothing;
    "Browser.getVersion" GetVersion {} -> Nothing;
    "Browser.setDownloadBehavior" SetDownloadBehavior<'a> { behavior: &'a str, events_enabled: bool } -> Nothing;
    "DOM.describeNode" DescribeNode<'a> { object_id: &'a str } -> Described;
    /// As deep as asked, shadow roots and frames by themselves without what is in them.
    "DOM.describeNode" DescribeTree<'a> { object_id: &'a str, depth: usize } -> DescribedTree, at most LARGEST_MESSAGE;
    "DOM.disable" DisableDom {} -> Nothing;
    "DOM.enable" EnableDom {} -> Nothing;
    "DOM.getFrameOwner" GetFrameOwner<'a> { frame_id: &'a str } -> FrameOwner;
    /// In the document of the session's outermost frame; descends into frames of the same process.
    "DOM.getNodeForLocation" GetNodeForLocation { x: i64, y: i64 } -> NodeForLocation;
    "DOM.performSearch" PerformSearch<'a> { query: &'a str, include_user_agent_shadow_dom: bool } -> SearchFound;
    "DOM.resolveNode" ResolveNode {
        backend_node_id: i64, execution_context_id: i64, object_group: &'static str,
    } -> ResolvedNode;
    "Emulation.setDeviceMetricsOverride" SetDeviceMetrics {
        width: u32, height: u32, device_scale_factor: f64, mobile: bool,
    } -> Nothing;
    /// Without patterns: every request of the target waits for an answer, which the driver never gives.
    "Fetch.enable" HoldRequests {} -> Nothing;
    "Fetch.disable" LetRequestsPass {} -> Nothing;
    "Fetch.enable" WatchRequests { patterns: Vec<RequestPattern> } -> Nothing;
    "Fetch.failRequest" FailRequest<'a> { request_id: &'a str, error_reason: &'static str } -> Nothing;
    "Fetch.fulfillRequest" FulfillRequest<'a> {
        request_id: &'a str, response_code: u16, response_headers: [HeaderLine<'static>; 2], body: &'static str,
    } -> Nothing;
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
    /// Drags come as events with what is dragged, instead of going to a desktop that is not there.
    "Input.setInterceptDrags" InterceptDrags { enabled: bool } -> Nothing;
    "Inspector.enable" EnableInspector {} -> Nothing;
    /// Outside of the page, so that they outlive it.
    "Network.configureDurableMessages" KeepBodies {
        max_total_buffer_size: u32, max_resource_buffer_size: u32,
    } -> Nothing;
    "Network.enable" EnableNetwork {
        max_total_buffer_size: u32, max_resource_buffer_size: u32, max_post_data_size: u32,
    } -> Nothing;
    "Network.getResponseBody" GetResponseBody<'a> { request_id: &'a str } -> ResponseBody, at most LARGEST_BODY_TOLD;
    "Network.setBypassServiceWorker" BypassServiceWorkers { bypass: bool } -> Nothing;
    "Page.addScriptToEvaluateOnNewDocument" AddScript<'a> {
        source: &'a RawValue, world_name: &'a str, run_immediately: bool,
    } -> Nothing;
    "Page.captureScreenshot" CaptureScreenshot<'a> {
        format: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")] quality: Option<u32>,
        clip: Clip,
        capture_beyond_viewport: bool,
    } -> Captured, at most LARGEST_MESSAGE;
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
    "Page.resetNavigationHistory" ForgetHistory {} -> Nothing;
    "Page.setInterceptFileChooserDialog" InterceptFileChooser { enabled: bool, cancel: bool } -> Nothing;
    "Page.setLifecycleEventsEnabled" SetLifecycleEvents { enabled: bool } -> Nothing;
    "Page.stopLoading" StopLoading {} -> Nothing;
    "Performance.disable" DisablePerformance {} -> Nothing;
    /// Counts layouts and the like from now on.
    "Performance.enable" EnablePerformance {} -> Nothing;
    "Performance.getMetrics" GetMetrics {} -> Metrics;
    "Runtime.disable" DisableRuntime {} -> Nothing;
    "Runtime.enable" EnableRuntime {} -> Nothing;
    "Runtime.evaluate" Evaluate<'a> {
        expression: &'a RawValue, unique_context_id: &'a str, silent: bool,
    } -> Evaluated<IgnoredAny>;
    "Runtime.callFunctionOn" CallForNode<'a> {
        function_declaration: &'a str,
        unique_context_id: &'a str,
        arguments: [ByValue<'a, usize>; 1],
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

/// Of all replies that are kept for one target, and of one of them.
const KEPT_BODIES: u32 = 16 << 20;
const LARGEST_BODY: u32 = 1 << 20;
/// In JSON. Chromium tells larger ones than it was told to keep, if it has them anyway.
const LARGEST_BODY_TOLD: usize = 8 << 20;

impl Default for KeepBodies {
    fn default() -> KeepBodies {
        KeepBodies { max_total_buffer_size: KEPT_BODIES, max_resource_buffer_size: LARGEST_BODY }
    }
}

impl EnableNetwork {
    pub fn with_bodies() -> EnableNetwork {
        EnableNetwork {
            max_total_buffer_size: KEPT_BODIES,
            max_resource_buffer_size: LARGEST_BODY,
            max_post_data_size: 1,
        }
    }

    /// The driver only wants to know what is on its way.
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

/// A line of a request or a response. It derives no `Debug`: what it says may be a secret.
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

/// One function of the driver's own script; `T` is what it returns.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFunction<'a, A, T> {
    pub function_declaration: &'a str,
    /// System-wide unique, unlike the plain context id, which another process may use for the page itself.
    pub unique_context_id: &'a str,
    pub arguments: A,
    pub return_by_value: bool,
    pub await_promise: bool,
    pub silent: bool,
    #[serde(skip)]
    pub largest_reply: usize,
    #[serde(skip)]
    pub returns: std::marker::PhantomData<fn() -> T>,
}

impl<A: Serialize, T: DeserializeOwned> Command for CallFunction<'_, A, T> {
    const METHOD: &'static str = "Runtime.callFunctionOn";
    type Response = Evaluated<T>;

    fn largest_reply(&self) -> usize {
        self.largest_reply
    }
}

/// Handles to nodes are held under this name until they are let go together: a held node is never collected.
pub const HANDLES: &str = "stockade";

#[derive(Clone, Debug, Serialize)]
pub struct ByValue<'a, A> {
    pub value: &'a A,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByHandle<'a> {
    pub object_id: &'a str,
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

/// Structs that Chromium fills: results, event parameters and what they are made of.
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

/// How deep a tree is described at once; it nests twice as deep in JSON, which ends at 128 levels.
pub const TREE_DEPTH: usize = 40;

/// Of a tree, only the closed shadow roots in it are kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "TreeNode")]
pub struct Tree {
    /// Their backend ids.
    pub closed: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeNode {
    #[serde(default)]
    children: Vec<Tree>,
    #[serde(default)]
    shadow_roots: Vec<TreeRoot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeRoot {
    backend_node_id: i64,
    shadow_root_type: Words,
}

impl From<TreeNode> for Tree {
    fn from(node: TreeNode) -> Tree {
        let own = node.shadow_roots.iter().filter(|root| root.shadow_root_type == "closed");
        let mut closed: Vec<i64> = own.map(|root| root.backend_node_id).collect();
        closed.extend(node.children.into_iter().flat_map(|child| child.closed));
        Tree { closed }
    }
}

received! {
    DescribedTree { node: Tree }
    SearchFound { result_count: usize }
    FrameOwner { backend_node_id: i64 }
    NodeForLocation { backend_node_id: i64, frame_id: Id }
    Described { node: DescribedNode }
    DescribedNode { #[serde(default)] shadow_roots: Vec<ShadowRoot> }
    ShadowRoot { shadow_root_type: Words }
    ResolvedNode { object: Handle }
    Handle { object_id: Option<Id> }
    Captured { data: String }
    Frame { id: Id, parent_id: Option<Id>, url: Address, unreachable_url: Option<Address> }
    FrameTreeOf { frame_tree: FrameTree }
    FrameTree { frame: Frame, #[serde(default)] child_frames: Vec<FrameTree> }
    Metrics { metrics: Vec<Metric> }
    Metric { name: Words, value: f64 }
    LayoutMetrics { css_layout_viewport: Viewport, css_content_size: Size }
    Viewport { page_x: f64, page_y: f64, client_width: f64, client_height: f64 }
    Size { width: f64, height: f64 }
    History { current_index: i64, entries: Vec<HistoryEntry> }
    HistoryEntry { id: i64 }
    DragIntercepted { data: Box<RawValue> }
    RequestSent { request_id: Id, #[serde(default)] r#type: Words, frame_id: Option<Id>, request: Request, redirect_response: Option<Nothing> }
    Request { #[serde(default)] url: Address, #[serde(default)] method: Words }
    ResponseReceived { request_id: Id, #[serde(default)] r#type: Words, response: Response }
    Response { #[serde(default)] url: Address, #[serde(default)] mime_type: Words, #[serde(default)] headers: ResponseHeaders }
    RequestDone { request_id: Id }
    HeadReceived { #[serde(default)] headers: HandedHeaders }
    ResponseBody { body: Unprinted, #[serde(default)] base64_encoded: bool }
    /// What came over a socket.
    SocketSaid { response: SocketFrame }
    SocketFrame { #[serde(default)] payload_data: Unprinted }
    /// A message of a stream of events.
    StreamSaid { #[serde(default)] data: Unprinted }
    Navigated { loader_id: Option<Id>, error_text: Option<Words> }
    CreatedTarget { target_id: Id }
    /// The default one has another id in each start of Chromium.
    BrowserContexts { default_browser_context_id: Option<Id> }
    TargetInfo {
        target_id: Id,
        r#type: Words,
        #[serde(default)] title: Words,
        #[serde(default)] url: Address,
        parent_frame_id: Option<Id>,
        /// The page that opened it, whether the two can reach each other or not.
        opener_id: Option<Id>,
        #[serde(default)] can_access_opener: bool,
    }

    Attached { session_id: SessionId, target_info: TargetInfo }
    ContextCreated { context: Context }
    Context { id: i64, name: Words, unique_id: Id, aux_data: Option<ContextData> }
    ContextData { frame_id: Id }
    ContextDestroyed { execution_context_unique_id: Id }
    Detached { session_id: SessionId }
    DialogOpening { message: Words, r#type: Words, #[serde(default)] url: Address, default_prompt: Option<Words> }
    DownloadWillBegin { url: Address }
    FrameAttached { frame_id: Id, parent_frame_id: Id }
    FrameDetached { frame_id: Id, reason: Words }
    FrameNavigated { frame: Frame }
    Lifecycle { frame_id: Id, loader_id: Id, name: Words }
    NavigatedWithin { frame_id: Id, url: Address }
    NavigationRequested { frame_id: Id, disposition: Words }
    NavigationScheduled { frame_id: Id, delay: f64 }
    NavigationStarted { frame_id: Id, #[serde(default)] navigation_type: Words }
    OfFrame { frame_id: Id }
    /// A request that waits, or the answer to it: then there is a status or an error.
    RequestPaused {
        request_id: Id,
        request: PausedRequest,
        #[serde(default)] resource_type: Words,
        redirected_request_id: Option<Id>,
        response_status_code: Option<u16>,
        response_error_reason: Option<Words>,
        #[serde(default)] response_headers: ResponseHeaders,
    }
    PausedRequest { url: Address, #[serde(default)] headers: RequestHeaders }
    TargetChanged { target_info: TargetInfo }
    TargetCrashed { target_id: Id, #[serde(default)] status: Words, #[serde(default)] error_code: i64 }
    WindowOpen { url: Address }
}
