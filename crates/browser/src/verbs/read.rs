//! Reading: every frame's snapshot, taken at once and stitched into one.

use super::Viewer;
use crate::{
    ask::AskError,
    browser::{Browser, SnapshotOptions},
    cdp::{CallError, Id, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    locate::FRAME_WAIT,
    snapshot::{
        Cursor, Document, FrameAnswer, FrameSnapshot, Last, MOST_NODES, Page, Shown, Snapshot, Told, View,
        stitch,
    },
    text::cut,
};
use futures_util::future::join_all;
use policy::{Part, Read, ReadFormat, TokenBudget};
use serde::Serialize;
use std::{collections::HashMap, sync::Arc};

const ATTEMPTS: usize = 3;

/// What the main frame may send, in bytes of JSON.
const MAIN_FRAME_BYTES: usize = 24 << 20;
/// What all other frames together may send. A node can take 20 times its JSON in memory, so this is less.
const OTHER_FRAMES_BYTES: usize = 4 << 20;
const OTHER_FRAMES_NODES: usize = 20_000;

/// What the script is asked for of one frame.
#[derive(Serialize)]
pub(crate) struct Wanted<'a> {
    prefix: &'a str,
    /// The script keeps to both, and counts what it leaves out.
    nodes: usize,
    pub bytes: usize,
    options: &'a SnapshotOptions,
    links: bool,
    /// Garbage was collected: the script reads a large page only then.
    swept: bool,
    /// The answer that this one may build on.
    known: Option<u64>,
}

/// Whether the addresses of links are read too: only those who read a page want them, and they take a third of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Told,
    LeftOut,
}

/// A page and where it came from.
pub(super) struct Reading {
    pub url: String,
    /// None for a page that was replaced while it was read, or that is read from an earlier snapshot.
    document: Option<Document>,
    pub page: Arc<Page>,
}

impl Browser {
    /// The page after an action, or what changed in it, whichever is shorter; within the default budget.
    pub(super) async fn page_after(
        &self,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        let reading = self.read_page(Links::LeftOut, deadline).await?;
        let (serial, max_depth) = (self.snapshots().next_serial(), self.options.snapshot.max_depth);
        let view = View::of(&reading.page, serial, ReadFormat::Outline, TokenBudget::default(), max_depth);
        let mut shown = reading.page.show(&view);
        let mut folded = Vec::new();
        let known = reading.document.as_ref().filter(|_| !viewer.full);
        let known = known.and_then(|document| self.snapshots().take_last(&viewer.caller, document));
        if let Some(last) = known
            && let Some(changes) = reading.page.changes_since(&last, &view, &shown)
        {
            (shown, folded) = (changes, last.folded);
        }
        Ok(self.snapshot(reading, shown, &view, Some((viewer, folded))))
    }

    /// A part of the page as it is now, or of an earlier snapshot.
    pub(super) async fn read_part(
        &self,
        read: &Read,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        let max_depth = read.max_depth.unwrap_or(self.options.snapshot.max_depth);
        let shown = |page: &Page, serial| View::of(page, serial, read.format, read.tokens, max_depth);
        if let Part::Cursor(text) = &read.part {
            let stale = || BrowserError::StaleCursor { cursor: cut(text, 40) };
            let cursor = Cursor::parse(text).ok_or_else(stale)?;
            let (url, page) = self.snapshots().find(&cursor).ok_or_else(stale)?;
            let view = View { span: cursor.span, ..shown(&page, cursor.serial) };
            let shown = page.show(&view);
            return Ok(self.snapshot(Reading { url, document: None, page }, shown, &view, None));
        }
        let links = if read.format == ReadFormat::Outline { Links::LeftOut } else { Links::Told };
        let reading = self.read_page(links, deadline).await?;
        let page = &reading.page;
        let mut view = shown(page, self.snapshots().next_serial());
        if let Part::Root(reference) = &read.part {
            let there = page.nodes.iter().position(|node| node.reference.as_deref() == Some(reference));
            let at = there.ok_or_else(|| BrowserError::stale(reference))?;
            view.span = page.subtree(at);
        }
        let shown = page.show(&view);
        // Markdown has no refs, so whoever read it knows too little of the page.
        let whole = read.part == Part::Page && read.format != ReadFormat::Markdown;
        Ok(self.snapshot(reading, shown, &view, whole.then_some((viewer, Vec::new()))))
    }

    /// Keeps the page if something of it is left for a cursor, and notes who knows it now: a viewer who was shown
    /// all of it, but for what these earlier snapshots folded.
    fn snapshot(
        &self,
        Reading { url, document, page }: Reading,
        shown: Shown,
        view: &View,
        known: Option<(&Viewer, Vec<u64>)>,
    ) -> Snapshot {
        let left = if view.span == page.whole() { page.left } else { 0 };
        let mut snapshots = self.snapshots();
        if shown.folds {
            snapshots.keep(view.serial, &url, &page);
        }
        if let Some((viewer, mut folded)) = known {
            folded.extend(shown.folds.then_some(view.serial));
            let caller = viewer.caller.clone();
            let (serial, page) = (view.serial, Arc::clone(&page));
            snapshots.set_last(document.map(|document| Last { caller, document, serial, page, folded }));
        }
        Snapshot {
            url,
            title: page.title.clone(),
            status: page.status,
            serial: view.serial,
            content: shown.content,
            left_out: left.saturating_add(shown.hidden),
        }
    }

    /// The page as it is now, with its address.
    pub(super) async fn read_page(&self, links: Links, deadline: Deadline) -> Result<Reading, BrowserError> {
        let mut attempts = 1;
        loop {
            let frames = self.frames_to_ask();
            let ready = self.snapshots().take_ready();
            let ready = ready.filter(|ready| links == Links::LeftOut && ready.frames == frames);
            let page = match ready {
                Some(ready) => stitch(ready.snapshot, HashMap::new()),
                None => self.read_frames(&frames, links, deadline).await?,
            };
            // A page that was replaced meanwhile is read again, or its refs would be those of the old one.
            let same = self.frames_to_ask().first() == frames.first();
            if attempts == ATTEMPTS || same {
                let document = frames.into_iter().next().filter(|_| same);
                // Chromium tells of a title late, or not at all.
                if let Some(tab) = self.shared.lock().tab.as_mut().filter(|_| same) {
                    tab.title.clone_from(&page.title);
                }
                let page = match self.mask() {
                    Some(mask) => page.without(&mask),
                    None => page,
                };
                return Ok(Reading { url: self.state().url, document, page: Arc::new(page) });
            }
            attempts += 1;
        }
    }

    async fn sweep(&self, frame: &str, limit: Deadline) -> Result<(), AskError> {
        let Some((session, _)) = self.world(frame, limit).await? else { return Ok(()) };
        match self.connection.call(Some(&session), &p::CollectGarbage {}, limit.at).await {
            Ok(_) | Err(CallError::Refused { .. }) => Ok(()),
            Err(error) => Err(AskError::Failed(self.explain(limit.error(error)).await)),
        }
    }

    async fn read_frames(
        &self,
        frames: &[(String, String)],
        links: Links,
        deadline: Deadline,
    ) -> Result<Page, BrowserError> {
        // First who shows whom, so that each frame's content finds its place.
        let children =
            frames.iter().skip(1).map(|(frame, _)| self.introduce(frame, deadline.within(FRAME_WAIT)));
        for introduced in join_all(children).await {
            bearable(introduced)?;
        }
        let take = || {
            join_all(
                frames.iter().enumerate().map(|(place, _)| self.read_frame(frames, place, links, deadline)),
            )
        };
        let is_still = |taken: &Result<FrameSnapshot, _>| taken.as_ref().is_ok_and(|taken| taken.still);
        let (taken, met) = self.ask_knowing_roots(frames, deadline, take, is_still).await;
        let mut answers = frames.iter().map(|(frame, _)| frame.clone()).zip(taken);
        let Some((_, main)) = answers.next() else { return Err(BrowserError::TabClosed) };
        let main = main?;
        let mut parts = HashMap::new();
        for (frame, answer) in answers {
            if let Some(part) = bearable(answer)? {
                parts.insert(frame, part);
            }
        }
        let page = stitch(main, parts);
        Ok(Page { complete: page.complete && met.whole, ..page })
    }
}

impl Browser {
    /// One frame of these; the first is the tab's own document.
    async fn read_frame(
        &self,
        frames: &[(String, String)],
        place: usize,
        links: Links,
        deadline: Deadline,
    ) -> Result<FrameSnapshot, AskError> {
        let (frame, prefix) = &frames[place];
        let links = links == Links::Told;
        let others = frames.len() - 1;
        // Only the tab's own document is long enough for it to matter what was told before.
        let (limit, (mut wanted, known)) = if place == 0 {
            (deadline, self.wanted_of_tab(frame, prefix))
        } else {
            let (nodes, bytes) = (OTHER_FRAMES_NODES / others, OTHER_FRAMES_BYTES / others);
            (deadline.within(FRAME_WAIT), (self.wanted(prefix, nodes, bytes), None))
        };
        let known = known.filter(|told: &Told| told.links == links);
        wanted.links = links;
        wanted.known = known.as_ref().map(|told| told.serial);
        let mut answer: FrameAnswer = self.ask_up_to(wanted.bytes, frame, "snapshot", &wanted, limit).await?;
        if answer.is_too_large() {
            self.sweep(frame, limit).await?;
            wanted.swept = true;
            answer = self.ask_up_to(wanted.bytes, frame, "snapshot", &wanted, limit).await?;
        }
        let told = answer.into_snapshot(prefix, known.as_ref()).ok_or(AskError::Gone)?;
        if place == 0 {
            self.note_told(frame, &told, links);
        }
        Ok(told)
    }

    fn wanted<'a>(&'a self, prefix: &'a str, nodes: usize, bytes: usize) -> Wanted<'a> {
        let options = &self.options.snapshot;
        Wanted { prefix, nodes, bytes, options, links: false, swept: false, known: None }
    }

    /// What the tab's own document is asked for, and what its answer may build on.
    pub(crate) fn wanted_of_tab<'a>(&'a self, frame: &str, prefix: &'a str) -> (Wanted<'a>, Option<Told>) {
        let known = self.known_world(frame).and_then(|world| self.snapshots().told_by(&world));
        let serial = known.as_ref().filter(|told| !told.links).map(|told| told.serial);
        let wanted = self.wanted(prefix, MOST_NODES, MAIN_FRAME_BYTES);
        (Wanted { known: serial, ..wanted }, known)
    }

    pub(crate) fn note_told(&self, frame: &str, told: &FrameSnapshot, links: bool) {
        let world = self.known_world(frame);
        self.snapshots().set_told(world.and_then(|world| told.told(world, links)));
    }

    fn known_world(&self, frame: &str) -> Option<Id> {
        let state = self.shared.lock();
        let world = state.tab.as_ref()?.frames.get(frame)?.world.as_ref()?;
        Some(world.unique.clone())
    }
}

/// A frame that went, or hangs, is left out; the page around it is still worth reading.
fn bearable<T>(answer: Result<T, AskError>) -> Result<Option<T>, BrowserError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(
            AskError::Gone | AskError::Failed(BrowserError::Timeout { .. } | BrowserError::PageScript { .. }),
        ) => Ok(None),
        Err(AskError::Failed(error)) => Err(error),
    }
}
