//! Closed shadow roots, which no script can see: found by Chromium, and handed to our own script.
//!
//! To be told of every node takes Chromium a fifth of the time of an accessibility tree, so it is only asked when
//! it counts more nodes than the script can see, which takes a few milliseconds on the longest pages.

use crate::{
    ask::AskError,
    browser::Browser,
    cdp::{CallError, SessionId, protocol as p},
    deadline::Deadline,
    frames::{Counted, World},
    locate::FRAME_WAIT,
    script::ScriptFunction,
};
use futures_util::future::{join, join_all};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// Closed roots may hold closed roots; at deeper ones the look ends, and the snapshot says that it is not whole.
const NESTED: usize = 16;
/// What the description of one tree may take, in bytes. The script weighs it first, and sets out no larger one.
const LARGEST_TREE: usize = 12 << 20;
/// An address this long may be a `data:` one of any length, which a description of what is around it holds twice.
const LONG_ADDRESS: usize = 4 << 10;
const LONGEST_ADDRESSES: usize = 8 << 20;
/// A look that nothing calls for is not taken before this many times of what the last one took.
const LOOK_SHARE: u32 = 100;
/// As long as nothing comes or goes, nodes are counted once in so many times of what counting takes, and never sooner.
const COUNT_SHARE: u32 = 50;
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// What the script sees of a frame.
#[derive(Deserialize)]
struct Seen {
    /// None: there is too much to be counted.
    count: Option<usize>,
    /// Nothing came or went since the last comparison, which was a moment ago.
    same: bool,
}

#[derive(Serialize)]
struct Counting {
    anew: bool,
}

/// How a look for closed roots went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    /// Whether all of them are known now.
    pub whole: bool,
    /// Whether there were some that had not been.
    pub new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Agree,
    Differ,
    /// There is too much to be counted, or more frames than are asked.
    Unknown,
}

/// How roots were last looked for, and how long that took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The document, by its number in the tab.
    commits: u64,
    ended: Instant,
    took: Duration,
    whole: bool,
}

#[derive(Serialize)]
struct SetOut {
    /// Or only what is in the roots that were taken in since.
    all: bool,
    bytes: usize,
}

#[derive(Deserialize)]
struct Set {
    trees: usize,
    whole: bool,
}

/// One process of the tab, with those of its frames that are asked.
pub(crate) struct Process<'a> {
    pub session: SessionId,
    frames: Vec<&'a str>,
    /// Whether it has no others.
    all: bool,
    /// What a description may take beside the addresses of frames.
    bytes: usize,
}

impl Browser {
    /// Takes in the closed shadow roots of these frames that are not known yet.
    ///
    /// It may go on while the frames are asked something else: if there were new ones, that is asked again.
    async fn meet_roots(&self, frames: &[(String, String)], deadline: Deadline) -> Met {
        let processes = self.processes(frames);
        let limit = deadline.within(FRAME_WAIT);
        let met = join_all(processes.iter().map(|process| self.meet_in(process, limit))).await;
        met.into_iter().fold(Met { whole: true, new: false }, |all, met| match met {
            Ok(met) => Met { whole: all.whole && met.whole, new: all.new || met.new },
            Err(AskError::Gone) => all,
            Err(AskError::Failed(error)) => {
                tracing::debug!(%error, "closed shadow roots not looked for");
                Met { whole: false, ..all }
            }
        })
    }

    /// Asks all of these frames something, and again if there were closed roots that they did not know. Frames whose
    /// nodes were counted a moment ago tell by themselves whether any came or went since.
    pub(crate) async fn ask_knowing_roots<T, F: Future<Output = Vec<T>>>(
        &self,
        frames: &[(String, String)],
        deadline: Deadline,
        ask: impl Fn() -> F,
        is_still: impl Fn(&T) -> bool,
    ) -> (Vec<T>, Met) {
        let agreed = self.processes(frames).iter().all(|process| self.have_agreed(process));
        let (answers, met) = if agreed {
            let answers = ask().await;
            if answers.iter().all(is_still) {
                return (answers, Met { whole: true, new: false });
            }
            (answers, self.meet_roots(frames, deadline).await)
        } else {
            join(ask(), self.meet_roots(frames, deadline)).await
        };
        if met.new { (ask().await, met) } else { (answers, met) }
    }

    pub(crate) fn processes<'a>(&self, frames: &'a [(String, String)]) -> Vec<Process<'a>> {
        let state = self.shared.lock();
        let Some(tab) = state.tab.as_ref() else { return Vec::new() };
        let mut asked: HashMap<&SessionId, Vec<&str>> = HashMap::new();
        for (frame, _) in frames {
            if let Some(known) = tab.frames.get(frame) {
                asked.entry(&known.session).or_default().push(frame);
            }
        }
        let process = |(session, frames): (&SessionId, Vec<&'a str>)| {
            let all = !tab.frames.untracked() && tab.frames.of_session(session).count() == frames.len();
            let long = tab.frames.of_session(session).filter(|frame| frame.url_length >= LONG_ADDRESS);
            let bytes = LARGEST_TREE.saturating_sub(long.count() * LONGEST_ADDRESSES);
            Process { session: session.clone(), frames, all, bytes }
        };
        asked.into_iter().map(process).collect()
    }

    async fn meet_in(&self, process: &Process<'_>, limit: Deadline) -> Result<Met, AskError> {
        let begun = Instant::now();
        let agreed = self.have_agreed(process);
        let mut counts = self.compare(process, !agreed, limit).await?;
        if agreed && counts == Counts::Differ {
            // Perhaps the page only changed between the one count and the other.
            counts = self.compare(process, true, limit).await?;
        }
        let took = if agreed { None } else { Some(begun.elapsed()) };
        match counts {
            // Within the time that it was to stand.
            Counts::Agree if agreed => {}
            Counts::Agree => self.note_agreed(process, took),
            Counts::Differ | Counts::Unknown => self.note_agreed(process, None),
        }
        let started = Instant::now();
        if counts == Counts::Agree {
            return Ok(Met { whole: true, new: false });
        }
        if let Some(look) = self.last_look(started).filter(|_| counts == Counts::Unknown) {
            return Ok(Met { whole: look.whole, new: false });
        }
        let met = self.look_in(process, limit).await?;
        self.note_look(started, met.whole);
        Ok(met)
    }

    /// Takes in all closed roots that are not known yet, whatever the counts say: one that is empty by now counts nothing.
    /// False if it could not be looked for them.
    pub(crate) async fn meet_empty_roots(&self, frames: &[(String, String)], deadline: Deadline) -> bool {
        let processes = self.processes(frames);
        let limit = deadline.within(FRAME_WAIT);
        let met = join_all(processes.iter().map(|process| self.look_in(process, limit))).await;
        met.into_iter().all(|met| met.is_ok_and(|met| met.whole))
    }

    async fn look_in(&self, process: &Process<'_>, limit: Deadline) -> Result<Met, AskError> {
        let mut met = Met { whole: true, new: false };
        let mut looked = Ok(());
        for frame in &process.frames {
            match self.look_for_roots(process, frame, limit).await {
                Ok(Met { whole, new }) => {
                    met.whole &= whole;
                    met.new |= new;
                }
                // It has no roots any more.
                Err(AskError::Gone) => {}
                Err(error) => looked = Err(error),
            }
        }
        let release = p::ReleaseHandles { object_group: p::HANDLES };
        let released = self.connection.call(Some(&process.session), &release, limit.at).await;
        looked?;
        released.map_err(|error| AskError::Failed(limit.error(error)))?;
        Ok(met)
    }

    /// Whether its documents are those whose counts agreed a moment ago; then they need only tell that nothing came
    /// or went since.
    pub(crate) fn have_agreed(&self, process: &Process<'_>) -> bool {
        let state = self.shared.lock();
        let (Some(tab), now) = (state.tab.as_ref(), Instant::now()) else { return false };
        process.all
            && process
                .frames
                .iter()
                .all(|frame| tab.frames.get(frame).is_some_and(|frame| frame.is_counted(now)))
    }

    /// With how long it took to find out; None if they did not agree.
    pub(crate) fn note_agreed(&self, process: &Process<'_>, took: Option<Duration>) {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return };
        let until = took.map(|took| Instant::now() + (took * COUNT_SHARE).max(LEAST_PAUSE));
        for frame in &process.frames {
            if let Some(known) = tab.frames.get_mut(frame) {
                let world = known.world.as_ref().map(|world| world.unique.clone());
                known.counted = world.zip(until).map(|(world, until)| Counted { world, until });
            }
        }
    }

    /// Where nothing tells whether there are roots, a look now and then has to do; this is the last, if it still does.
    fn last_look(&self, now: Instant) -> Option<Look> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref()?;
        tab.looked_for_roots
            .filter(|look| look.commits == tab.commits && now - look.ended <= look.took * LOOK_SHARE)
    }

    fn note_look(&self, started: Instant, whole: bool) {
        if let Some(tab) = self.shared.lock().tab.as_mut() {
            let ended = Instant::now();
            let look = Look { commits: tab.commits, ended, took: ended - started, whole };
            tab.looked_for_roots = Some(look);
        }
    }

    /// Whether there is more in a process than its scripts see.
    async fn compare(&self, process: &Process<'_>, anew: bool, limit: Deadline) -> Result<Counts, AskError> {
        let counting = Counting { anew };
        let seen = process
            .frames
            .iter()
            .map(|frame| self.ask::<_, Seen>(frame, ScriptFunction::CountNodes, &counting, limit));
        let mut there = None;
        let seen = if anew {
            let (seen, counted) = join(join_all(seen), self.count_nodes(&process.session, limit)).await;
            there = counted;
            seen
        } else {
            join_all(seen).await
        };
        let seen = seen.into_iter().map(|frame| match frame {
            Err(AskError::Gone) => Ok(Seen { count: None, same: false }),
            other => other,
        });
        let seen: Vec<Seen> = seen.collect::<Result<_, _>>()?;
        if seen.iter().all(|frame| frame.same) {
            return Ok(Counts::Agree);
        }
        if !anew {
            there = self.count_nodes(&process.session, limit).await;
        }
        let seen: Option<usize> = seen.iter().map(|frame| frame.count).sum();
        Ok(match (seen, there) {
            (Some(seen), Some(there)) if process.all && seen == there => Counts::Agree,
            (Some(_), Some(_)) if process.all => Counts::Differ,
            _ => Counts::Unknown,
        })
    }

    /// All elements, texts and comments of a process's documents, those in closed roots too.
    ///
    /// Chromium finds nothing in particular in each of them; what it found is not fetched.
    pub(crate) async fn count_nodes(&self, session: &SessionId, limit: Deadline) -> Option<usize> {
        let to = Some(session);
        let search = p::PerformSearch { query: "", include_user_agent_shadow_dom: false };
        let (enabled, found, disabled) = tokio::join!(
            self.connection.call(to, &p::EnableDom {}, limit.at),
            self.connection.call(to, &search, limit.at),
            // Or Chromium would keep what it found, and tell of every change from now on.
            self.connection.call(to, &p::DisableDom {}, limit.at),
        );
        enabled.and(disabled).and(found).ok().map(|found| found.result_count)
    }

    /// Has Chromium describe the trees that may have closed roots in them; false if not all of them were.
    async fn look_for_roots(
        &self,
        process: &Process<'_>,
        frame: &str,
        limit: Deadline,
    ) -> Result<Met, AskError> {
        let Some((session, world)) = self.world(frame, limit).await? else { return Err(AskError::Gone) };
        let mut whole = true;
        let mut any = false;
        for round in 0..=NESTED {
            let set_out = SetOut { all: round == 0, bytes: process.bytes };
            let set: Set = self.ask(frame, ScriptFunction::QueueTrees, &set_out, limit).await?;
            whole &= set.whole;
            let trees = (0..set.trees).map(|at| self.closed_in(&session, &world, at, limit));
            let found: Vec<Vec<i64>> = join_all(trees).await.into_iter().collect::<Result<_, _>>()?;
            let new = self.not_taken_in(frame, &world, found.concat());
            if new.is_empty() || round == NESTED {
                whole &= new.is_empty();
                break;
            }
            let taken = new.iter().map(|root| {
                self.hand_over(&session, &world, *root, ScriptFunction::RegisterClosedRoot, &(), limit)
            });
            let taken: Vec<Option<bool>> = join_all(taken).await.into_iter().collect::<Result<_, _>>()?;
            whole &= !taken.contains(&Some(false));
            any |= taken.contains(&Some(true));
            let known = new.into_iter().zip(taken).filter(|(_, taken)| *taken == Some(true));
            self.note_taken_in(frame, known.map(|(root, _)| root));
        }
        self.ask::<_, bool>(frame, ScriptFunction::ClearQueuedTrees, &(), limit).await?;
        Ok(Met { whole, new: any })
    }

    /// The closed roots in one of the trees that the script has set out.
    async fn closed_in(
        &self,
        session: &SessionId,
        world: &World,
        at: usize,
        limit: Deadline,
    ) -> Result<Vec<i64>, AskError> {
        let failed = |error| AskError::Failed(limit.error(error));
        let tree = p::CallForNode {
            function_declaration: ScriptFunction::QueuedTree.declaration(),
            unique_context_id: &world.unique,
            arguments: [p::ByValue { value: &at }],
            object_group: p::HANDLES,
            silent: true,
        };
        let tree = match self.connection.call(Some(session), &tree, limit.at).await {
            Ok(found) => found.result.object_id,
            Err(CallError::Refused { .. }) => None,
            Err(error) => return Err(failed(error)),
        };
        let Some(object_id) = tree else { return Err(AskError::Gone) };
        let describe = p::DescribeTree { object_id: &object_id, depth: p::TREE_DEPTH };
        match self.connection.call(Some(session), &describe, limit.at).await {
            Ok(described) => Ok(described.node.closed),
            Err(CallError::Refused { .. }) => Err(AskError::Gone),
            Err(error) => Err(failed(error)),
        }
    }

    fn not_taken_in(&self, frame: &str, world: &World, mut found: Vec<i64>) -> Vec<i64> {
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

    /// The script takes in a bounded number, so there are no more of these.
    fn note_taken_in(&self, frame: &str, roots: impl Iterator<Item = i64>) {
        if let Some(known) = self.shared.lock().tab.as_mut().and_then(|tab| tab.frames.get_mut(frame)) {
            known.roots.extend(roots);
        }
    }
}
