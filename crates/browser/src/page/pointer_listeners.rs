//! Elements that listen to clicks or pointers: found through CDP, and passed to the page script, which cannot see them.
//!
//! Chromium lists all listeners of a document in a millisecond or two. Resolving a node for the script takes a tenth of one,
//! so only new nodes are resolved. Many nodes with listeners that stand in one place of the page's code are mostly links or
//! buttons, which have refs anyway: of those, a sample is resolved first.

use super::{FRAME_WAIT, ScriptCallError, delegated_handlers::PageDocument, script_call::unless_gone};
use crate::{
    browser::Browser,
    cdp::{Id, SessionId, protocol as p},
    deadline::Deadline,
    script::ScriptFunction,
    snapshot::PageCounts,
    state::{DelegatingNode, DocumentHandle, FrameWorld, KnownListeners},
};
use futures_util::future::{join, join_all};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use tokio::time::Instant;

pub(super) const POINTER_EVENTS: [&str; 10] = [
    "click",
    "dblclick",
    "mousedown",
    "mouseup",
    "pointerdown",
    "pointerup",
    "touchstart",
    "touchend",
    "contextmenu",
    "drop",
];
/// What opens a menu or a tooltip. Rows and cells listen for it too, many at one place of the page's code.
const HOVER_EVENTS: [&str; 4] = ["mouseenter", "mouseover", "pointerenter", "pointerover"];
const MAX_HOVERED: usize = 60;
const MAX_HOVERED_IN_PLACE: usize = 24;
/// The root of a framework listens to everything, for the elements inside.
pub(super) const MAX_EVENT_TYPES: usize = 20;
/// Chromium descends recursively: a depth of 100,000 crashes its tab.
const MAX_DEPTH: usize = 2_000;
/// Nodes of one place in the page's code that are resolved before it is known whether any of them needs to be.
const SAMPLE: usize = 12;
/// Nodes that are resolved for one reading; the others wait for the next one.
const MAX_RESOLVED: usize = 600;
/// With more listeners in a process none are listed: 30,000 take Chromium seconds, and many megabytes.
const MAX_LISTENERS: f64 = 5_000.0;
/// A list that takes longer is not made again for this multiple of its duration.
const QUICK_LIST: Duration = Duration::from_millis(4);
const LIST_PAUSE_FACTOR: u32 = 20;
/// Nodes that are remembered for one document.
const MAX_KNOWN: usize = 100_000;

/// What may have changed the page since its listeners were last listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinceList {
    /// Styles and layout were computed for a reading, a moment ago.
    OwnReading,
    Anything,
}

/// A node with pointer listeners that the script does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListeningNode {
    id: i64,
    /// Where in the page's code its first listener is.
    place: (i64, i64),
}

impl Browser {
    /// Passes elements with new pointer listeners to the script. True if it counts some of them as actionable, so that an
    /// earlier reading lacks refs.
    ///
    /// If it fails, the page is read without: the reading itself reports a page that is gone or hangs. `since` is what may
    /// have changed since the last list without a new one being made.
    pub(crate) async fn register_listeners(
        &self,
        frames: &[(String, String)],
        since: SinceList,
        deadline: Deadline,
    ) -> bool {
        let registered = join_all(frames.iter().enumerate().map(|(place, (frame, _))| {
            let limit = if place == 0 { deadline } else { deadline.within(FRAME_WAIT) };
            self.register_listeners_in(frame, since, limit)
        }))
        .await;
        let mut sessions: Vec<SessionId> = Vec::new();
        let mut found = false;
        for one in registered {
            match one {
                Ok(Some((session, acts))) => {
                    found |= acts;
                    if !sessions.contains(&session) {
                        sessions.push(session);
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(?error, "listeners of a frame are not known"),
            }
        }
        for session in sessions {
            let release = p::ReleaseHandles { object_group: p::LISTENER_HANDLES };
            // The reading does not wait for the reply.
            if let Err(error) = self.connection.send(Some(&session), &release, deadline.at).await {
                tracing::debug!(%error, "handles of listening nodes were not released");
            }
        }
        found
    }

    /// The session whose handles are to be released, and whether the script counts any of the nodes as actionable.
    async fn register_listeners_in(
        &self,
        frame: &str,
        since: SinceList,
        limit: Deadline,
    ) -> Result<Option<(SessionId, bool)>, ScriptCallError> {
        let Some((session, world)) = self.script_world(frame, limit).await? else { return Ok(None) };
        // The list before the first reading may be of a page whose scripts had not all run.
        if since == SinceList::Anything && self.is_list_paused(frame, Instant::now()) {
            return Ok(None);
        }
        let (document, counts) =
            join(self.document_handle(frame, &session, &world, limit), self.page_counts(&session, limit))
                .await;
        let (document, counts) = (document?, counts?);
        let Some(document) = document else { return Ok(None) };
        if counts
            .is_none_or(|counts| counts.listeners > MAX_LISTENERS || self.is_listed(frame, counts, since))
        {
            return Ok(None);
        }
        let begun = Instant::now();
        let command = p::GetEventListeners { object_id: &document.handle, depth: MAX_DEPTH, pierce: true };
        let found = self.connection.call(Some(&session), &command, limit.at).await;
        let Some(found) = unless_gone(found, limit)? else {
            self.forget_listeners(frame);
            return Ok(None);
        };
        self.pause_list(frame, begun.elapsed());
        let new = self.unknown_nodes(frame, &world, listening_nodes(&found.listeners));
        let is_new = !new.is_empty();
        let mut acts = false;
        let mut waiting = 0;
        if is_new {
            let all = new.len();
            let (sample, rest) = sample_places(new);
            let click = ScriptFunction::RegisterListeners;
            let acting = self.register_nodes(frame, &session, &world, click, &sample, limit).await?;
            let useful: HashSet<(i64, i64)> = acting.iter().map(|node| node.place).collect();
            let (mut needed, mut others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|node| useful.contains(&node.place));
            // Those that are hardly needed are registered a few at a time, by the readings to come.
            others.truncate(SAMPLE);
            needed.append(&mut others);
            needed.truncate(MAX_RESOLVED);
            let more = self.register_nodes(frame, &session, &world, click, &needed, limit).await?;
            acts = !acting.is_empty() || !more.is_empty();
            waiting = all - sample.len() - needed.len();
        }
        let hovered = self.unknown_hovered(frame, hovered_nodes(&found.listeners));
        if !hovered.is_empty() {
            let hover = ScriptFunction::RegisterHoverListeners;
            acts |= !self.register_nodes(frame, &session, &world, hover, &hovered, limit).await?.is_empty();
        }
        let is_new = is_new || !hovered.is_empty();
        let page = PageDocument { frame, session: &session, world: &world.unique, document: &document };
        let delegated = self.register_delegated(&page, &found.listeners, limit).await?;
        self.set_listed(frame, counts.filter(|_| waiting == 0));
        Ok((is_new || delegated.is_some()).then(|| (session, acts || delegated == Some(true))))
    }

    /// The handle of the frame's document in the page's own world, which is kept as long as the document. With one of another
    /// world Chromium 156 lists the listeners of all worlds, and its tab crashes some navigations later.
    async fn document_handle(
        &self,
        frame: &str,
        session: &SessionId,
        world: &FrameWorld,
        limit: Deadline,
    ) -> Result<Option<DocumentHandle>, ScriptCallError> {
        let page_world = {
            let state = self.shared.lock();
            let Some(frame) = state.tab.as_ref().and_then(|tab| tab.frames.get(frame)) else {
                return Ok(None);
            };
            if let Some(known) = frame.listeners.as_ref().filter(|known| known.world == world.unique) {
                return Ok(Some(known.document.clone()));
            }
            frame.page_world.clone()
        };
        let Some(page_world) = page_world else { return Ok(None) };
        // A page can neither replace nor shadow this property of its window. The handle is of no group, so that the lists do
        // not hold the handlers.
        let command =
            p::EvaluateHandle { expression: "document", unique_context_id: &page_world, silent: true };
        let handle = self.connection.call(Some(session), &command, limit.at).await;
        let Some(handle) = unless_gone(handle, limit)?.and_then(|found| found.result.object_id) else {
            return Ok(None);
        };
        let describe = p::DescribeNode { object_id: &handle };
        let described = self.connection.call(Some(session), &describe, limit.at).await;
        let Some(described) = unless_gone(described, limit)? else {
            return Ok(None);
        };
        let document = DocumentHandle { handle, id: described.node.backend_node_id };
        if let Some(known) = self.shared.lock().tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
            let world = world.unique.clone();
            known.listeners = Some(KnownListeners {
                world,
                document: document.clone(),
                nodes: HashSet::new(),
                hovered: HashSet::new(),
                delegating: Vec::new(),
                handlers: None,
                dispatches: false,
                framework: None,
                paused_until: None,
                listed: None,
            });
        }
        Ok(Some(document))
    }

    /// Whether a list would hold nothing that the last one did not.
    fn is_listed(&self, frame: &str, now: PageCounts, since: SinceList) -> bool {
        let state = self.shared.lock();
        let known = state.tab.as_ref().and_then(|tab| tab.frames.get(frame));
        let listed = known.and_then(|known| known.listeners.as_ref()).and_then(|known| known.listed);
        listed.is_some_and(|listed| {
            listed.has_same_nodes(&now) && (since == SinceList::OwnReading || listed.is_same_rendering(&now))
        })
    }

    fn set_listed(&self, frame: &str, counts: Option<PageCounts>) {
        let mut state = self.shared.lock();
        let known = state.tab.as_mut().and_then(|tab| tab.frames.get_mut(frame));
        if let Some(known) = known.and_then(|known| known.listeners.as_mut()) {
            known.listed = counts;
        }
    }

    /// A reading computes styles and layout itself. Without other nodes or listeners the last list still holds.
    pub(crate) fn note_rendering(&self, worlds: &[Id], after: PageCounts) {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return };
        for world in worlds {
            if let Some(known) = tab.frames.listeners_of_world(world)
                && let Some(listed) = known.listed.as_mut().filter(|listed| listed.has_same_nodes(&after))
            {
                *listed = after;
            }
        }
    }

    fn is_list_paused(&self, frame: &str, now: Instant) -> bool {
        let state = self.shared.lock();
        let known = state.tab.as_ref().and_then(|tab| tab.frames.get(frame));
        let until = known.and_then(|known| known.listeners.as_ref()).and_then(|known| known.paused_until);
        until.is_some_and(|until| now < until)
    }

    fn pause_list(&self, frame: &str, took: Duration) {
        let until = (took > QUICK_LIST).then(|| Instant::now() + took * LIST_PAUSE_FACTOR);
        let mut state = self.shared.lock();
        let known = state.tab.as_mut().and_then(|tab| tab.frames.get_mut(frame));
        if let Some(known) = known.and_then(|known| known.listeners.as_mut()) {
            known.paused_until = until;
        }
    }

    fn forget_listeners(&self, frame: &str) {
        if let Some(known) = self.shared.lock().tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
            known.listeners = None;
        }
    }

    fn unknown_nodes(
        &self,
        frame: &str,
        world: &FrameWorld,
        mut found: Vec<ListeningNode>,
    ) -> Vec<ListeningNode> {
        let state = self.shared.lock();
        let known = state.tab.as_ref().and_then(|tab| tab.frames.get(frame));
        let known = known.and_then(|known| known.listeners.as_ref());
        match known.filter(|known| known.world == world.unique && known.nodes.len() < MAX_KNOWN) {
            Some(known) => found.retain(|node| !known.nodes.contains(&node.id)),
            None => found.clear(),
        }
        found
    }

    /// Of the nodes that listen for being hovered, those that the script does not know.
    fn unknown_hovered(&self, frame: &str, mut found: Vec<ListeningNode>) -> Vec<ListeningNode> {
        let state = self.shared.lock();
        let known = state.tab.as_ref().and_then(|tab| tab.frames.get(frame));
        let Some(known) = known.and_then(|known| known.listeners.as_ref()) else { return Vec::new() };
        found.retain(|node| !known.hovered.contains(&node.id) && !known.nodes.contains(&node.id));
        found.truncate(MAX_HOVERED.saturating_sub(known.hovered.len()));
        found
    }

    /// Passes nodes to the script. Those that it counts as actionable, they or parts of them.
    async fn register_nodes(
        &self,
        frame: &str,
        session: &SessionId,
        world: &FrameWorld,
        function: ScriptFunction,
        nodes: &[ListeningNode],
        limit: Deadline,
    ) -> Result<Vec<ListeningNode>, ScriptCallError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let resolved = join_all(nodes.iter().map(|node| {
            let command = p::ResolveNode {
                backend_node_id: node.id,
                execution_context_id: world.id,
                object_group: p::LISTENER_HANDLES,
            };
            async move { self.connection.call(Some(session), &command, limit.at).await }
        }))
        .await;
        let mut handles = Vec::new();
        for (node, resolved) in nodes.iter().zip(resolved) {
            // A node may be gone.
            let handle = unless_gone(resolved, limit)?.and_then(|found| found.object.object_id);
            handles.extend(handle.map(|handle| (*node, handle)));
        }
        let ids: Vec<&str> = handles.iter().map(|(_, handle)| &**handle).collect();
        let acts: Option<Vec<(bool, i64)>> =
            self.call_script_with_nodes(session, world, &ids, function, limit).await?;
        let acts = acts.unwrap_or_default();
        let delegating = handles.iter().zip(&acts).filter_map(|((node, _), (_, place))| {
            let place = usize::try_from(*place).ok()?;
            Some(DelegatingNode { id: node.id, place: Some(place) })
        });
        if let Some(known) = self.shared.lock().tab.as_mut().and_then(|tab| tab.frames.get_mut(frame))
            && let Some(known) = known.listeners.as_mut().filter(|known| known.world == world.unique)
        {
            let given = nodes.iter().map(|node| node.id);
            match function {
                ScriptFunction::RegisterHoverListeners => known.hovered.extend(given),
                _ => known.nodes.extend(given),
            }
            known.delegating.extend(delegating);
        }
        let acts = handles.iter().zip(&acts).filter(|(_, (acts, _))| *acts);
        Ok(acts.map(|((node, _), _)| *node).collect())
    }
}

/// The nodes with pointer listeners, in page order.
fn listening_nodes(listeners: &[p::EventListener]) -> Vec<ListeningNode> {
    let mut nodes: Vec<ListeningNode> = Vec::new();
    let mut types: HashMap<i64, HashSet<&str>> = HashMap::new();
    for listener in listeners {
        let Some(id) = listener.backend_node_id else { continue };
        let is_pointer = POINTER_EVENTS.iter().any(|event| listener.r#type == **event);
        types.entry(id).or_default().insert(&listener.r#type);
        if is_pointer && nodes.last().is_none_or(|last| last.id != id) {
            nodes.push(ListeningNode { id, place: (listener.line_number, listener.column_number) });
        }
    }
    nodes.retain(|node| types[&node.id].len() <= MAX_EVENT_TYPES);
    nodes
}

/// The nodes that listen for being hovered, in page order, without those that are one of many.
fn hovered_nodes(listeners: &[p::EventListener]) -> Vec<ListeningNode> {
    let mut nodes: Vec<ListeningNode> = Vec::new();
    let mut seen = HashSet::new();
    let mut in_place: HashMap<(i64, i64), usize> = HashMap::new();
    for listener in listeners.iter().filter(|it| HOVER_EVENTS.iter().any(|event| it.r#type == **event)) {
        let Some(id) = listener.backend_node_id.filter(|id| seen.insert(*id)) else { continue };
        let place = (listener.line_number, listener.column_number);
        *in_place.entry(place).or_default() += 1;
        nodes.push(ListeningNode { id, place });
    }
    nodes.retain(|node| in_place[&node.place] <= MAX_HOVERED_IN_PLACE);
    nodes
}

/// A few nodes of each place, and the rest.
fn sample_places(nodes: Vec<ListeningNode>) -> (Vec<ListeningNode>, Vec<ListeningNode>) {
    let mut seen: HashMap<(i64, i64), usize> = HashMap::new();
    let (mut sample, rest): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| {
        let count = seen.entry(node.place).or_default();
        *count += 1;
        *count <= SAMPLE
    });
    sample.truncate(MAX_RESOLVED);
    (sample, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners(text: &str) -> Vec<p::EventListener> {
        let listener = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            serde_json::json!({
                "type": words[0], "backendNodeId": words[1].parse::<i64>().unwrap(),
                "lineNumber": words[2].parse::<i64>().unwrap(), "columnNumber": 0,
            })
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(listener);
        serde_json::from_value(lines.collect()).unwrap()
    }

    fn ids(nodes: &[ListeningNode]) -> Vec<i64> {
        nodes.iter().map(|node| node.id).collect()
    }

    #[test]
    fn nodes_with_pointer_listeners_are_listed_once() {
        let found = listening_nodes(&listeners(
            "click 4 1
             mousedown 4 2
             load 5 1
             pointerdown 6 1",
        ));
        assert_eq!(ids(&found), [4, 6]);
    }

    #[test]
    fn a_menu_that_opens_when_hovered_is_listed_and_the_rows_of_a_table_are_not() {
        let rows: String = (0..30).map(|n| format!("mouseenter {} 7\n", n + 100)).collect();
        let found =
            hovered_nodes(&listeners(&format!("mouseenter 4 1\npointerover 4 2\nmouseover 5 1\n{rows}")));
        assert_eq!(ids(&found), [4, 5]);
    }

    #[test]
    fn the_root_of_a_framework_is_left_out() {
        let all: String = (0..80).map(|n| format!("event{n} 7 1\n")).collect();
        assert_eq!(ids(&listening_nodes(&listeners(&format!("{all}click 7 1\nclick 8 1")))), [8]);
    }

    #[test]
    fn of_many_nodes_with_the_same_listener_a_sample_comes_first() {
        let many: String = (0..50).map(|n| format!("click {} 1\n", n + 10)).collect();
        let (sample, rest) = sample_places(listening_nodes(&listeners(&format!("{many}click 99 2"))));
        assert_eq!((sample.len(), rest.len()), (SAMPLE + 1, 50 - SAMPLE));
        assert!(ids(&sample).contains(&99));
    }
}
