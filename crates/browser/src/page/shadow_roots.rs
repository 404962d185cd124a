//! Closed shadow roots, which no script can see: found through CDP, and passed to the page script.
//!
//! A description of every node takes Chromium a fifth of the time of an accessibility tree. It is requested only when
//! Chromium counts more nodes than the script sees, which takes a few milliseconds on the longest pages.

use super::{FRAME_WAIT, ScriptCallError};
use crate::{
    browser::Browser,
    cdp::{CallError, SessionId, TREE_DEPTH, protocol as p},
    deadline::Deadline,
    script::ScriptFunction,
    state::{CountedWorld, FrameWorld, RootScan},
};
use futures_util::future::{join, join_all};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// Depth of closed roots within closed roots; deeper ones are missed, and the snapshot says that it is incomplete.
const MAX_NESTING: usize = 16;
/// Bytes of the description of one tree. The script estimates them first and offers no larger tree.
const MAX_TREE_BYTES: usize = 12 << 20;
/// A URL this long may be a `data:` URL of any length, and the description of its frame holds it twice.
const LONG_URL: usize = 4 << 10;
const LONG_URL_BYTES: usize = 8 << 20;
/// A scan without a reason waits for this multiple of the duration of the last one.
const SCAN_PAUSE_FACTOR: u32 = 100;
/// While the DOM does not change, a count is trusted for this multiple of its duration, and at least for the pause below.
const COUNT_PAUSE_FACTOR: u32 = 50;
const MIN_COUNT_PAUSE: Duration = Duration::from_secs(1);

/// What the script counts in a frame.
#[derive(Deserialize)]
struct NodeCount {
    /// `None`: too many nodes to count.
    count: Option<usize>,
    /// The DOM has not changed since the last comparison, a moment ago.
    same: bool,
}

#[derive(Serialize)]
struct CountRequest {
    anew: bool,
}

/// The result of a search for closed roots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootDiscovery {
    /// All closed roots are known now.
    pub is_complete: bool,
    /// Some of them were not known before.
    pub found_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountComparison {
    Equal,
    Different,
    /// Too many nodes to count, or more frames than are read.
    Unknown,
}

#[derive(Serialize)]
struct TreesRequest {
    /// All trees, or only those in the roots that were added since.
    all: bool,
    bytes: usize,
}

#[derive(Deserialize)]
struct TreesReply {
    trees: usize,
    whole: bool,
}

/// The readable frames of one renderer process of the tab.
pub(crate) struct RendererFrames<'a> {
    pub session: SessionId,
    frames: Vec<&'a str>,
    /// The process has no other frames.
    is_all: bool,
    /// Bytes that a description may take beside the URLs of frames.
    bytes: usize,
}

impl Browser {
    /// Passes unknown closed roots of these frames to the script.
    ///
    /// May run while the script is called for something else. If there were new roots, that call is repeated.
    async fn discover_roots(&self, frames: &[(String, String)], deadline: Deadline) -> RootDiscovery {
        let renderers = self.renderer_frames(frames);
        let main = frames.first().map(|(frame, _)| frame.as_str());
        let found = join_all(renderers.iter().map(|renderer| {
            // On a busy machine the main frame may take longer; without it there is no reply.
            let holds_main = main.is_some_and(|main| renderer.frames.contains(&main));
            let wait = if holds_main { FRAME_WAIT.max(deadline.left() / 2) } else { FRAME_WAIT };
            self.discover_roots_in(renderer, deadline.within(wait))
        }))
        .await;
        found.into_iter().fold(
            RootDiscovery { is_complete: true, found_new: false },
            |all, found| match found {
                Ok(found) => RootDiscovery {
                    is_complete: all.is_complete && found.is_complete,
                    found_new: all.found_new || found.found_new,
                },
                Err(ScriptCallError::Gone) => all,
                Err(ScriptCallError::Failed(error)) => {
                    tracing::debug!(%error, "search for closed shadow roots failed");
                    RootDiscovery { is_complete: false, ..all }
                }
            },
        )
    }

    /// Makes a call in all of these frames, and repeats it if they had unknown closed roots. Frames whose nodes were
    /// counted a moment ago report by themselves whether the DOM has changed since.
    pub(crate) async fn call_with_known_roots<T, F: Future<Output = Vec<T>>>(
        &self,
        frames: &[(String, String)],
        deadline: Deadline,
        call: impl Fn() -> F,
        is_unchanged: impl Fn(&T) -> bool,
    ) -> (Vec<T>, RootDiscovery) {
        let is_counted = self.renderer_frames(frames).iter().all(|renderer| self.is_counted(renderer));
        let (replies, found) = if is_counted {
            let replies = call().await;
            if replies.iter().all(is_unchanged) {
                return (replies, RootDiscovery { is_complete: true, found_new: false });
            }
            (replies, self.discover_roots(frames, deadline).await)
        } else {
            join(call(), self.discover_roots(frames, deadline)).await
        };
        if found.found_new { (call().await, found) } else { (replies, found) }
    }

    pub(crate) fn renderer_frames<'a>(&self, frames: &'a [(String, String)]) -> Vec<RendererFrames<'a>> {
        let state = self.shared.lock();
        let Some(tab) = state.tab.as_ref() else { return Vec::new() };
        let mut by_session: HashMap<&SessionId, Vec<&str>> = HashMap::new();
        for (frame, _) in frames {
            if let Some(known) = tab.frames.get(frame) {
                by_session.entry(&known.session).or_default().push(frame);
            }
        }
        let renderer = |(session, frames): (&SessionId, Vec<&'a str>)| {
            let is_all =
                !tab.frames.has_untracked() && tab.frames.of_session(session).count() == frames.len();
            let long = tab.frames.of_session(session).filter(|frame| frame.url_length >= LONG_URL);
            let bytes = MAX_TREE_BYTES.saturating_sub(long.count() * LONG_URL_BYTES);
            RendererFrames { session: session.clone(), frames, is_all, bytes }
        };
        by_session.into_iter().map(renderer).collect()
    }

    async fn discover_roots_in(
        &self,
        renderer: &RendererFrames<'_>,
        limit: Deadline,
    ) -> Result<RootDiscovery, ScriptCallError> {
        let begun = Instant::now();
        let is_counted = self.is_counted(renderer);
        let mut counts = self.compare_counts(renderer, !is_counted, limit).await?;
        if is_counted && counts == CountComparison::Different {
            // Perhaps the page only changed between the two counts.
            counts = self.compare_counts(renderer, true, limit).await?;
        }
        let took = if is_counted { None } else { Some(begun.elapsed()) };
        match counts {
            // The earlier count stays valid until its time is up.
            CountComparison::Equal if is_counted => {}
            CountComparison::Equal => self.set_counted(renderer, took),
            CountComparison::Different | CountComparison::Unknown => self.set_counted(renderer, None),
        }
        let started = Instant::now();
        if counts == CountComparison::Equal {
            return Ok(RootDiscovery { is_complete: true, found_new: false });
        }
        if let Some(scan) = self.last_scan(started).filter(|_| counts == CountComparison::Unknown) {
            return Ok(RootDiscovery { is_complete: scan.is_complete, found_new: false });
        }
        let found = self.scan_renderer(renderer, limit).await?;
        self.note_scan(started, found.is_complete);
        Ok(found)
    }

    /// Passes all unknown closed roots to the script without comparing counts: an empty root adds no node. False if the
    /// search failed.
    pub(crate) async fn discover_empty_roots(&self, frames: &[(String, String)], deadline: Deadline) -> bool {
        let renderers = self.renderer_frames(frames);
        let limit = deadline.within(FRAME_WAIT);
        let found = join_all(renderers.iter().map(|renderer| self.scan_renderer(renderer, limit))).await;
        found.into_iter().all(|found| found.is_ok_and(|found| found.is_complete))
    }

    async fn scan_renderer(
        &self,
        renderer: &RendererFrames<'_>,
        limit: Deadline,
    ) -> Result<RootDiscovery, ScriptCallError> {
        let mut all = RootDiscovery { is_complete: true, found_new: false };
        let mut scanned = Ok(());
        for frame in &renderer.frames {
            match self.scan_frame(renderer, frame, limit).await {
                Ok(found) => {
                    all.is_complete &= found.is_complete;
                    all.found_new |= found.found_new;
                }
                // The frame is gone, and its roots with it.
                Err(ScriptCallError::Gone) => {}
                Err(error) => scanned = Err(error),
            }
        }
        let release = p::ReleaseHandles { object_group: p::HANDLES };
        let released = self.connection.call(Some(&renderer.session), &release, limit.at).await;
        scanned?;
        released.map_err(|error| ScriptCallError::Failed(limit.error(error)))?;
        Ok(all)
    }

    /// Whether the counts of its present documents were equal a moment ago. Then they only need to report that the DOM has
    /// not changed since.
    pub(crate) fn is_counted(&self, renderer: &RendererFrames<'_>) -> bool {
        let state = self.shared.lock();
        let (Some(tab), now) = (state.tab.as_ref(), Instant::now()) else { return false };
        renderer.is_all
            && renderer
                .frames
                .iter()
                .all(|frame| tab.frames.get(frame).is_some_and(|frame| frame.is_counted(now)))
    }

    /// `took` is the duration of the count; `None` if the counts were not equal.
    pub(crate) fn set_counted(&self, renderer: &RendererFrames<'_>, took: Option<Duration>) {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return };
        let until = took.map(|took| Instant::now() + (took * COUNT_PAUSE_FACTOR).max(MIN_COUNT_PAUSE));
        for frame in &renderer.frames {
            if let Some(known) = tab.frames.get_mut(frame) {
                let world = known.world.as_ref().map(|world| world.unique.clone());
                known.counted = world.zip(until).map(|(world, until)| CountedWorld { world, until });
            }
        }
    }

    /// Where counts are unknown, an occasional scan has to do. This is the last one, if it is recent enough.
    fn last_scan(&self, now: Instant) -> Option<RootScan> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref()?;
        tab.root_scan
            .filter(|scan| scan.commits == tab.commits && now - scan.ended <= scan.took * SCAN_PAUSE_FACTOR)
    }

    fn note_scan(&self, started: Instant, is_complete: bool) {
        if let Some(tab) = self.shared.lock().tab.as_mut() {
            let ended = Instant::now();
            let scan = RootScan { commits: tab.commits, ended, took: ended - started, is_complete };
            tab.root_scan = Some(scan);
        }
    }

    /// Compares the counts of Chromium and of the script.
    async fn compare_counts(
        &self,
        renderer: &RendererFrames<'_>,
        anew: bool,
        limit: Deadline,
    ) -> Result<CountComparison, ScriptCallError> {
        let request = CountRequest { anew };
        let seen = renderer.frames.iter().map(|frame| {
            self.call_script::<_, NodeCount>(frame, ScriptFunction::CountNodes, &request, limit)
        });
        let mut there = None;
        let seen = if anew {
            let (seen, counted) = join(join_all(seen), self.count_nodes(&renderer.session, limit)).await;
            there = counted;
            seen
        } else {
            join_all(seen).await
        };
        let seen = seen.into_iter().map(|frame| match frame {
            Err(ScriptCallError::Gone) => Ok(NodeCount { count: None, same: false }),
            other => other,
        });
        let seen: Vec<NodeCount> = seen.collect::<Result<_, _>>()?;
        if seen.iter().all(|frame| frame.same) {
            return Ok(CountComparison::Equal);
        }
        if !anew {
            there = self.count_nodes(&renderer.session, limit).await;
        }
        let seen: Option<usize> = seen.iter().map(|frame| frame.count).sum();
        Ok(match (seen, there) {
            (Some(seen), Some(there)) if renderer.is_all && seen == there => CountComparison::Equal,
            (Some(_), Some(_)) if renderer.is_all => CountComparison::Different,
            _ => CountComparison::Unknown,
        })
    }

    /// Counts all elements, texts and comments in the documents of a process, including those in closed roots.
    ///
    /// An empty search matches each of them; the matches are not fetched.
    pub(crate) async fn count_nodes(&self, session: &SessionId, limit: Deadline) -> Option<usize> {
        let to = Some(session);
        let search = p::PerformSearch { query: "", include_user_agent_shadow_dom: false };
        let (enabled, found, disabled) = tokio::join!(
            self.connection.call(to, &p::EnableDom {}, limit.at),
            self.connection.call(to, &search, limit.at),
            // Otherwise Chromium would keep the matches, and report every change from now on.
            self.connection.call(to, &p::DisableDom {}, limit.at),
        );
        enabled.and(disabled).and(found).ok().map(|found| found.result_count)
    }

    /// Lets Chromium describe the trees that may contain closed roots.
    async fn scan_frame(
        &self,
        renderer: &RendererFrames<'_>,
        frame: &str,
        limit: Deadline,
    ) -> Result<RootDiscovery, ScriptCallError> {
        let Some((session, world)) = self.script_world(frame, limit).await? else {
            return Err(ScriptCallError::Gone);
        };
        let mut is_complete = true;
        let mut found_new = false;
        for round in 0..=MAX_NESTING {
            let request = TreesRequest { all: round == 0, bytes: renderer.bytes };
            let reply: TreesReply =
                self.call_script(frame, ScriptFunction::QueueTrees, &request, limit).await?;
            is_complete &= reply.whole;
            let trees = (0..reply.trees).map(|at| self.closed_roots_in(&session, &world, at, limit));
            let found: Vec<Vec<i64>> = join_all(trees).await.into_iter().collect::<Result<_, _>>()?;
            let new = self.unknown_roots(frame, &world, found.concat());
            if new.is_empty() || round == MAX_NESTING {
                is_complete &= new.is_empty();
                break;
            }
            let adopted = new.iter().map(|root| {
                self.call_script_with_node(
                    &session,
                    &world,
                    *root,
                    ScriptFunction::RegisterClosedRoot,
                    &(),
                    limit,
                )
            });
            let adopted: Vec<Option<bool>> = join_all(adopted).await.into_iter().collect::<Result<_, _>>()?;
            is_complete &= !adopted.contains(&Some(false));
            found_new |= adopted.contains(&Some(true));
            let known = new.into_iter().zip(adopted).filter(|(_, adopted)| *adopted == Some(true));
            self.note_roots(frame, known.map(|(root, _)| root));
        }
        self.call_script::<_, bool>(frame, ScriptFunction::ClearQueuedTrees, &(), limit).await?;
        Ok(RootDiscovery { is_complete, found_new })
    }

    /// The closed roots in one of the trees that the script offers.
    async fn closed_roots_in(
        &self,
        session: &SessionId,
        world: &FrameWorld,
        at: usize,
        limit: Deadline,
    ) -> Result<Vec<i64>, ScriptCallError> {
        let failed = |error| ScriptCallError::Failed(limit.error(error));
        let limits = self.text_cutter().script_limits();
        let tree = p::CallForNode {
            function_declaration: ScriptFunction::QueuedTree.declaration(),
            unique_context_id: &world.unique,
            arguments: (p::ByValue { value: &limits }, p::ByValue { value: &at }),
            object_group: p::HANDLES,
            silent: true,
        };
        let tree = match self.connection.call(Some(session), &tree, limit.at).await {
            Ok(found) => found.result.object_id,
            Err(CallError::Refused { .. }) => None,
            Err(error) => return Err(failed(error)),
        };
        let Some(object_id) = tree else { return Err(ScriptCallError::Gone) };
        let describe = p::DescribeTree { object_id: &object_id, depth: TREE_DEPTH };
        match self.connection.call(Some(session), &describe, limit.at).await {
            Ok(described) => Ok(described.node.closed),
            Err(CallError::Refused { .. }) => Err(ScriptCallError::Gone),
            Err(error) => Err(failed(error)),
        }
    }

    fn unknown_roots(&self, frame: &str, world: &FrameWorld, mut found: Vec<i64>) -> Vec<i64> {
        let mut state = self.shared.lock();
        if let Some(known) = state.tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
            if known.roots_known_to.as_ref() != Some(&world.unique) {
                known.roots_known_to = Some(world.unique.clone());
                known.roots.clear();
            }
            found.retain(|root| !known.roots.contains(root));
        }
        found
    }

    /// The script adopts a bounded number of roots, so the set is bounded too.
    fn note_roots(&self, frame: &str, roots: impl Iterator<Item = i64>) {
        if let Some(known) = self.shared.lock().tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
            known.roots.extend(roots);
        }
    }
}
