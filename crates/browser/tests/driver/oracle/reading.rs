//! Two readings of the same page at one moment: Chromium's accessibility tree and the snapshot, matched by DOM node.

use crate::support::Driver;
use browser::cdp::{Command, EventKind, SessionId};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// One frame, read twice. DOM nodes are backend ids; snapshot nodes without one were not found by the oracle.
pub struct Frame {
    pub chromium: Vec<AxNode>,
    pub ours: Vec<OurNode>,
    /// The element of a DOM node, for reports.
    pub tags: HashMap<i64, String>,
    /// Nodes that Chromium itself put inside controls.
    pub internal: HashSet<i64>,
    /// Elements in which a style changes the case of letters: they or something inside of them.
    pub recased: HashSet<i64>,
    pub chromium_time: Duration,
    pub our_time: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AxNode {
    pub node_id: String,
    #[serde(default)]
    pub ignored: bool,
    pub role: Option<AxValue>,
    pub name: Option<AxValue>,
    #[serde(default)]
    pub properties: Vec<AxProperty>,
    pub parent_id: Option<String>,
    #[serde(default)]
    pub child_ids: Vec<String>,
    #[serde(rename = "backendDOMNodeId")]
    pub dom: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct AxValue {
    #[serde(default)]
    pub value: serde_json::Value,
}

#[derive(Debug, Deserialize)]
pub struct AxProperty {
    pub name: String,
    pub value: AxValue,
}

impl AxNode {
    pub fn role(&self) -> &str {
        self.role.as_ref().and_then(|role| role.value.as_str()).unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.name.as_ref().and_then(|name| name.value.as_str()).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
pub struct OurNode {
    #[serde(rename = "d")]
    pub depth: usize,
    #[serde(rename = "r")]
    pub role: String,
    #[serde(rename = "n", default)]
    pub name: String,
    #[serde(rename = "s", default)]
    pub states: serde_json::Map<String, serde_json::Value>,
    #[serde(rename = "v")]
    pub value: Option<String>,
    #[serde(rename = "e")]
    pub reference: Option<String>,
    #[serde(rename = "w")]
    pub visible_label: Option<String>,
    #[serde(skip)]
    pub dom: Option<i64>,
}

/// Reads every frame of the tab both ways.
pub async fn read_frames(driver: &Driver, sessions: &[SessionId]) -> Vec<Frame> {
    let mut frames = Vec::new();
    for session in sessions {
        let tree = call(driver, session, &GetFrameTree {}).await.frame_tree;
        let mut waiting = vec![tree];
        while let Some(tree) = waiting.pop() {
            frames.push(read_frame(driver, session, &tree.frame.id).await);
            waiting.extend(tree.child_frames);
        }
    }
    frames
}

/// Sessions of the tab's out-of-process frames, the tab itself first.
pub fn sessions(
    driver: &Driver,
    events: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<browser::cdp::Event>>,
) -> Vec<SessionId> {
    let mut sessions = vec![driver.first_tab.clone()];
    while let Ok(event) = events.try_recv() {
        if let EventKind::Attached(it) = &event.kind
            && it.target_info.r#type == "iframe"
        {
            sessions.push(it.session_id.clone());
        }
    }
    sessions
}

async fn read_frame(driver: &Driver, session: &SessionId, frame: &str) -> Frame {
    let world = CreateIsolatedWorld { frame_id: frame, world_name: "stockade" };
    let context = call(driver, session, &world).await.execution_context_id;
    let asked = Instant::now();
    let mut chromium = in_order(call(driver, session, &GetFullAxTree { frame_id: frame }).await.nodes);
    let chromium_time = asked.elapsed();
    let asked = Instant::now();
    let timed: Returned<serde::de::IgnoredAny> = evaluate(
        driver,
        session,
        context,
        "stockade.takeSnapshot(null, { prefix: '', nodes: 1e6, bytes: 1e9 })",
    )
    .await;
    let our_time = asked.elapsed();
    assert!(timed.value.is_some());
    let reading: SnapshotReading =
        evaluate(driver, session, context, READ_SCRIPT).await.value.expect("our script answers");
    let document: Returned<()> = evaluate_handle(driver, session, context, "document").await;
    let object_id = document.object_id.expect("a document is an object");
    let described = call(driver, session, &DescribeNode { object_id, depth: -1, pierce: true }).await;
    let (numbered, tags, internal) = number(described.node);
    // Two kinds that are generic in Chromium, and that the snapshot names by their purpose.
    for node in chromium.iter_mut().filter(|node| node.role() == "generic") {
        let tag = node.dom.and_then(|dom| tags.get(&dom)).map_or("", String::as_str);
        let role = match tag {
            _ if tag.starts_with("<pre ") => "Pre",
            _ if tag.contains(" contenteditable=") && !tag.contains(" contenteditable=false") => "editable",
            _ => continue,
        };
        node.role = Some(AxValue { value: role.into() });
    }
    assert_eq!(numbered.len(), reading.numbered, "both sides count the same DOM nodes");
    let ours = reading.nodes.into_iter().zip(reading.sources).map(|(mut node, source)| {
        node.dom = source.map(|source| numbered[source]);
        node
    });
    let recased = reading.recased.into_iter().map(|at| numbered[at]).collect();
    Frame { chromium, ours: ours.collect(), tags, internal, recased, chromium_time, our_time }
}

/// In page order; Chromium lists its nodes level by level.
fn in_order(nodes: Vec<AxNode>) -> Vec<AxNode> {
    let root = nodes.iter().find(|node| node.parent_id.is_none()).map(|node| node.node_id.clone());
    let mut by_id: HashMap<String, AxNode> =
        nodes.into_iter().map(|node| (node.node_id.clone(), node)).collect();
    let mut waiting: Vec<String> = root.into_iter().collect();
    let mut ordered = Vec::with_capacity(by_id.len());
    while let Some(id) = waiting.pop() {
        let Some(node) = by_id.remove(&id) else { continue };
        waiting.extend(node.child_ids.iter().rev().cloned());
        ordered.push(node);
    }
    ordered
}

/// Numbers every element in document order, shadow roots before children, and reports the number of each node.
const READ_SCRIPT: &str = "(() => {
  const numbers = new Map();
  const waiting = [document];
  while (waiting.length) {
    const node = waiting.pop();
    if (node.nodeType === 1) numbers.set(node, numbers.size);
    const root = node.nodeType === 1 ? stockade.shadowRootOf(node) : null;
    const below = root ? [root] : [];
    below.push(...Node.prototype.__lookupGetter__('childNodes').call(node));
    for (let i = below.length - 1; i >= 0; i -= 1) if (below[i].nodeType !== 3) waiting.push(below[i]);
  }
  const recased = new Set();
  for (const el of numbers.keys()) {
    if (getComputedStyle(el).textTransform === 'none') continue;
    for (let at = el; at && !recased.has(at); at = at.parentElement) recased.add(at);
  }
  const sources = [];
  const { nodes } = JSON.parse(stockade.takeSnapshot(null, { prefix: '', nodes: 1e6, bytes: 1e9, sources }));
  return { nodes, numbered: numbers.size, sources: sources.map((source) => numbers.get(source) ?? null),
    recased: Array.from(recased, (el) => numbers.get(el)).filter((at) => at !== undefined) };
})()";

/// The same numbering over the nodes of Chromium's DOM domain.
fn number(root: DomNode) -> (Vec<i64>, HashMap<i64, String>, HashSet<i64>) {
    let mut numbered = Vec::new();
    let mut tags = HashMap::new();
    let mut inside = Vec::new();
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        if node.node_type == 1 {
            numbered.push(node.backend_node_id);
            let attributes: Vec<String> =
                node.attributes.chunks(2).map(|pair| format!("{}={}", pair[0], pair[1..].concat())).collect();
            tags.insert(node.backend_node_id, format!("<{} {}>", node.local_name, attributes.join(" ")));
        }
        // Last in, first out: children are pushed before the shadow roots that precede them.
        waiting.extend(node.children.into_iter().rev());
        for root in node.shadow_roots.into_iter().rev() {
            match root.shadow_root_type.as_deref() {
                Some("open" | "closed") => waiting.push(root),
                _ => inside.push(root),
            }
        }
    }
    let mut internal = HashSet::new();
    while let Some(node) = inside.pop() {
        internal.insert(node.backend_node_id);
        inside.extend(node.children);
        inside.extend(node.shadow_roots);
    }
    (numbered, tags, internal)
}

async fn call<C: Command>(driver: &Driver, session: &SessionId, command: &C) -> C::Response {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    driver.connection.call(Some(session), command, deadline).await.unwrap_or_else(|error| panic!("{error:?}"))
}

pub async fn evaluate<T: for<'de> Deserialize<'de>>(
    driver: &Driver,
    session: &SessionId,
    context_id: i64,
    expression: &str,
) -> Returned<T> {
    let returns = std::marker::PhantomData;
    let command = Evaluate { expression, context_id, return_by_value: true, returns };
    call(driver, session, &command).await.result
}

async fn evaluate_handle<T: for<'de> Deserialize<'de>>(
    driver: &Driver,
    session: &SessionId,
    context_id: i64,
    expression: &str,
) -> Returned<T> {
    let returns = std::marker::PhantomData;
    let command = Evaluate { expression, context_id, return_by_value: false, returns };
    call(driver, session, &command).await.result
}

#[derive(Deserialize)]
struct SnapshotReading {
    nodes: Vec<OurNode>,
    numbered: usize,
    sources: Vec<Option<usize>>,
    recased: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Returned<T> {
    pub value: Option<T>,
    pub object_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Evaluate<'a, T> {
    expression: &'a str,
    context_id: i64,
    return_by_value: bool,
    #[serde(skip)]
    returns: std::marker::PhantomData<fn() -> T>,
}

#[derive(Deserialize)]
struct Evaluated<T> {
    result: Returned<T>,
}

impl<T: for<'de> Deserialize<'de>> Command for Evaluate<'_, T> {
    const METHOD: &'static str = "Runtime.evaluate";
    type Response = Evaluated<T>;
}

/// Commands that only this test uses.
macro_rules! command {
    ($method:literal $name:ident $(<$life:lifetime>)? { $($field:ident: $type:ty),* } -> $response:ident { $($(#[$meta:meta])* $got:ident: $got_type:ty),* }) => {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct $name $(<$life>)? { $($field: $type),* }

        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct $response { $($(#[$meta])* $got: $got_type),* }

        impl $(<$life>)? Command for $name $(<$life>)? {
            const METHOD: &'static str = $method;
            type Response = $response;

            /// Chromium's own tree of a long page is many times larger than ours.
            fn max_reply(&self) -> usize {
                64 << 20
            }
        }
    };
}

command!("Page.getFrameTree" GetFrameTree {} -> GotFrameTree { frame_tree: FrameTree });
command!("Page.createIsolatedWorld" CreateIsolatedWorld<'a> { frame_id: &'a str, world_name: &'a str } -> GotWorld { execution_context_id: i64 });
command!("Accessibility.getFullAXTree" GetFullAxTree<'a> { frame_id: &'a str } -> GotTree { nodes: Vec<AxNode> });
command!("DOM.describeNode" DescribeNode { object_id: String, depth: i32, pierce: bool } -> GotNode { node: DomNode });

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameTree {
    frame: FrameId,
    #[serde(default)]
    child_frames: Vec<FrameTree>,
}

#[derive(Deserialize)]
struct FrameId {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DomNode {
    backend_node_id: i64,
    node_type: u32,
    local_name: String,
    #[serde(default)]
    attributes: Vec<String>,
    #[serde(default)]
    children: Vec<DomNode>,
    #[serde(default)]
    shadow_roots: Vec<DomNode>,
    shadow_root_type: Option<String>,
}
