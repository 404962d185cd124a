//! Reading a page: takes every frame's snapshot at once and merges them into one.

use super::ReplyOptions;
use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    page::{FRAME_WAIT, Probed, ScriptCallError, SinceList},
    script::ScriptFunction,
    snapshot::{
        CallerBaseline, Cursor, DocumentKey, FrameBaseline, FrameReply, FrameSnapshot, OpenedCursor, Page,
        RenderedView, Snapshot, View, merge_frames,
    },
    text::cut,
};
use futures_util::future::{FutureExt as _, join, join_all};
use policy::{Action, Part, Read, ReadFormat, TokenBudget};
use serde::Serialize;
use std::{collections::HashMap, sync::Arc, time::Duration};

const MAX_ATTEMPTS: usize = 3;
/// How long reading the rest of a page may hold up what follows.
const COMPLETION_WAIT: Duration = Duration::from_secs(3);
const WAIT_BEFORE_LEAVING: Duration = Duration::from_millis(500);

/// Limit for all other frames together. It is lower, because a node can take 20 times its JSON in memory.
const MAX_OTHER_FRAMES_BYTES: usize = 4 << 20;
const MAX_OTHER_FRAMES_NODES: usize = 20_000;

/// Whether link addresses are included. Only Markdown and trees have them, and they take a third of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Included,
    Omitted,
}

/// What a reading is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadingScope {
    pub links: Links,
    /// Include where elements with refs are.
    pub boxes: bool,
    /// With a budget the reading may lack what a reply of that size does not show.
    pub shows: Option<TokenBudget>,
    /// How long the walk over the page may take, if not as long as usual.
    pub patience: Option<Duration>,
}

impl ReadingScope {
    /// All of the page.
    pub fn whole(links: Links) -> ReadingScope {
        ReadingScope { links, boxes: false, shows: None, patience: None }
    }

    /// Whether an earlier reading with these links may stand for this one.
    fn accepts(self, links: Links, snapshot: &FrameSnapshot, shows: Option<usize>) -> bool {
        let is_thorough = self.patience.is_none() || snapshot.complete;
        self.links == links && !self.boxes && is_thorough && snapshot.is_enough_for(shows)
    }
}

/// A page with its address and document.
pub(super) struct PageReading {
    pub url: String,
    /// None if the page was replaced while it was read, or comes from an earlier snapshot.
    document: Option<DocumentKey>,
    pub page: Arc<Page>,
}

impl Browser {
    /// The page after an action, or what changed in it, whichever is shorter; within the default budget.
    pub(super) async fn page_after(
        &self,
        reply: &ReplyOptions,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        let is_known = self.readable_frames().first().is_some_and(|document| {
            !reply.full && self.snapshots().has_caller_baseline(&reply.caller, document)
        });
        let shows = if is_known { None } else { Some(TokenBudget::default()) };
        let scope = ReadingScope { shows, ..ReadingScope::whole(Links::Omitted) };
        let reading = self.read_page(scope, deadline).await?;
        let (serial, max_depth) = (self.snapshots().next_serial(), self.options.snapshot.max_depth);
        let view =
            View::whole_page(&reading.page, serial, ReadFormat::Outline, TokenBudget::default(), max_depth);
        let mut rendered = reading.page.render(&view);
        let mut folded = Vec::new();
        let known = reading.document.as_ref().filter(|_| !reply.full);
        let known = known.and_then(|document| self.snapshots().take_caller_baseline(&reply.caller, document));
        if let Some(seen) = known
            && let Some(delta) = reading.page.render_delta(&seen, &view, &rendered)
        {
            (rendered, folded) = (delta, seen.folded);
        }
        Ok(self.finish_snapshot(reading, rendered, &view, Some((reply, folded))))
    }

    /// A part of the page as it is now, or of an earlier snapshot.
    pub(super) async fn read_part(
        &self,
        read: &Read,
        reply: &ReplyOptions,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        let max_depth = read.max_depth.unwrap_or(self.options.snapshot.max_depth);
        let view_of =
            |page: &Page, serial| View::whole_page(page, serial, read.format, read.tokens, max_depth);
        if let Part::Cursor(text) = &read.part {
            let stale = || BrowserError::StaleCursor { cursor: cut(text, 40) };
            let cursor = Cursor::parse(text).ok_or_else(stale)?;
            if self.snapshots().is_partial(&cursor) {
                self.complete_reading(deadline.within(COMPLETION_WAIT)).await;
            }
            let OpenedCursor { url, page, span, serial } =
                self.snapshots().open(&cursor).ok_or_else(stale)?;
            let view = View { span, ..view_of(&page, serial) };
            let rendered = page.render(&view);
            return Ok(self.finish_snapshot(
                PageReading { url, document: None, page },
                rendered,
                &view,
                None,
            ));
        }
        let links = if read.format == ReadFormat::Outline { Links::Omitted } else { Links::Included };
        let is_whole_outline = read.part == Part::Page && read.format == ReadFormat::Outline;
        let shows = is_whole_outline.then_some(read.tokens);
        let scope = ReadingScope { shows, boxes: read.boxes, ..ReadingScope::whole(links) };
        let reading = self.read_page(scope, deadline).await?;
        let page = &reading.page;
        let mut view = view_of(page, self.snapshots().next_serial());
        if let Part::Root(reference) = &read.part {
            let found = page.nodes.iter().position(|node| node.reference.as_deref() == Some(reference));
            let at = found.ok_or_else(|| BrowserError::stale(reference))?;
            view.span = page.subtree_span(at);
        }
        let rendered = page.render(&view);
        // Markdown has no refs, so its reader has not seen enough of the page for a delta. With boxes every line differs.
        let whole = read.part == Part::Page && read.format != ReadFormat::Markdown && !read.boxes;
        Ok(self.finish_snapshot(reading, rendered, &view, whole.then_some((reply, Vec::new()))))
    }

    /// Stores the page if it has folds, and records what the caller has seen: all of the page, except what these
    /// earlier snapshots folded.
    fn finish_snapshot(
        &self,
        PageReading { url, document, page }: PageReading,
        rendered: RenderedView,
        view: &View,
        seen_by: Option<(&ReplyOptions, Vec<u64>)>,
    ) -> Snapshot {
        let omitted = if view.span == page.whole_span() { page.omitted_nodes } else { 0 };
        let mut snapshots = self.snapshots();
        if rendered.folds {
            snapshots.store(view.serial, &url, &page);
        }
        if let Some((reply, mut folded)) = seen_by {
            folded.extend(rendered.folds.then_some(view.serial));
            let caller = reply.caller.clone();
            let (serial, page) = (view.serial, Arc::clone(&page));
            snapshots.set_caller_baseline(document.map(|document| CallerBaseline {
                caller,
                document,
                serial,
                page,
                folded,
            }));
        }
        Snapshot {
            url,
            title: page.title.clone(),
            status: page.status,
            serial: view.serial,
            content: rendered.content,
            left_out: omitted.saturating_add(rendered.hidden),
        }
    }

    /// Reads what earlier readings deferred, before an action may change the page.
    pub(super) async fn complete_before(&self, action: &Action, deadline: Deadline) {
        let wait = match action {
            Action::Read(_) | Action::ReadDom(_) | Action::Find(_) | Action::Screenshot(_) => return,
            // A page that does not answer can still be left.
            Action::Navigate(_) | Action::Back | Action::Forward | Action::Reload | Action::Tabs(_) => {
                WAIT_BEFORE_LEAVING
            }
            _ => COMPLETION_WAIT,
        };
        self.complete_reading(deadline.within(wait)).await;
    }

    async fn complete_reading(&self, deadline: Deadline) {
        // A page with an open dialog does not answer.
        let has_dialog = self.shared.lock().tab.as_ref().is_some_and(|tab| tab.dialog.is_some());
        if has_dialog || self.snapshots().partial_readings().is_empty() {
            return;
        }
        // If it fails the page is gone or hangs; then its cursors are stale.
        let completed = self.read_page(ReadingScope::whole(Links::Omitted), deadline).await;
        let mut snapshots = self.snapshots();
        if completed.is_err() || !snapshots.partial_readings().is_empty() {
            snapshots.complete(&[], &[]);
        }
    }

    /// The page as it is now, with its address.
    pub(super) async fn read_page(
        &self,
        scope: ReadingScope,
        deadline: Deadline,
    ) -> Result<PageReading, BrowserError> {
        let shows = scope.shows.filter(|_| self.text_cutter().redactor().is_none()).map(TokenBudget::bytes);
        let mut attempts = 1;
        let mut has_waited = false;
        loop {
            let frames = self.readable_frames();
            // What has new listeners has no ref in an earlier reading.
            let settled = self.snapshots().take_settled();
            let since = if settled.as_ref().is_some_and(|settled| settled.has_listeners) {
                SinceList::OwnReading
            } else {
                SinceList::Anything
            };
            let is_ready = !self.register_listeners(&frames, since, deadline).await;
            let ready = settled.filter(|_| is_ready);
            let ready = ready.filter(|ready| {
                ready.frames == frames && scope.accepts(Links::Omitted, &ready.snapshot, shows)
            });
            let mut page = match ready {
                Some(ready) => merge_frames(ready.snapshot, HashMap::new()),
                None => self.read_frames(&frames, scope, shows, deadline).await?,
            };
            if page.animating && !has_waited {
                has_waited = true;
                self.wait_idle(deadline).await?;
                continue;
            }
            // A page that was replaced meanwhile is read again; otherwise its refs would belong to the old one.
            let same = self.readable_frames().first() == frames.first();
            if attempts == MAX_ATTEMPTS || same {
                let document = frames.first().cloned().filter(|_| same);
                // Chromium reports titles late, or not at all.
                if let Some(tab) = self.shared.lock().tab.as_mut().filter(|_| same) {
                    tab.title.clone_from(&page.title);
                }
                // The page of Chromium that stands for an empty error response knows no status.
                let status = self.shared.lock().tab.as_ref().and_then(|tab| tab.status);
                page.status = page.status.or(status.filter(|_| same));
                let text = self.text_cutter();
                if text.redactor().is_some() {
                    let masked = page.clone().redacted(&text);
                    self.mark_secret_fields(&frames, page.fields_masked_in(&masked), deadline).await?;
                    page = masked;
                }
                self.complete_snapshots(&mut page);
                return Ok(PageReading { url: self.state().url, document, page: Arc::new(page) });
            }
            attempts += 1;
        }
    }

    /// Fills in what earlier snapshots of this page lack.
    fn complete_snapshots(&self, page: &mut Page) {
        if let Some(ranges) = page.parts.take() {
            self.snapshots().complete(&page.nodes, &ranges);
        }
    }

    /// Makes fields secret whose values were masked: an edit would leave a value that nothing recognizes.
    async fn mark_secret_fields(
        &self,
        frames: &[(String, String)],
        refs: impl Iterator<Item = &str>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let mut numbers: HashMap<&str, Vec<u64>> = HashMap::new();
        for reference in refs {
            let own = frames.iter().find_map(|(frame, prefix)| {
                let number = reference.strip_prefix(prefix.as_str())?.strip_prefix('e')?;
                Some((frame.as_str(), number.parse().ok()?))
            });
            if let Some((frame, number)) = own {
                numbers.entry(frame).or_default().push(number);
            }
        }
        for (frame, numbers) in numbers {
            let request = MarkSecretFields { numbers };
            let marked =
                self.call_script::<_, bool>(frame, ScriptFunction::MarkSecretFields, &request, deadline);
            omit_if_unavailable(marked.await)?;
        }
        Ok(())
    }

    async fn collect_garbage(&self, frame: &str, limit: Deadline) -> Result<(), ScriptCallError> {
        let Some((session, _)) = self.script_world(frame, limit).await? else { return Ok(()) };
        match self.connection.call(Some(&session), &p::CollectGarbage {}, limit.at).await {
            Ok(_) | Err(CallError::Refused { .. }) => Ok(()),
            Err(error) => Err(ScriptCallError::Failed(self.with_crash_status(limit.error(error)).await)),
        }
    }

    async fn read_frames(
        &self,
        frames: &[(String, String)],
        scope: ReadingScope,
        shows: Option<usize>,
        deadline: Deadline,
    ) -> Result<Page, BrowserError> {
        let links = scope.links == Links::Included;
        let stamp = if scope.boxes {
            None
        } else {
            match self.probe_unchanged(frames, links, deadline).await {
                Ok(Probed::Unchanged(readings, stamp)) => {
                    if readings.iter().all(|reading| scope.accepts(scope.links, reading, shows)) {
                        return merge_readings(frames, readings);
                    }
                    Some(stamp)
                }
                Ok(Probed::Changed(stamp)) => stamp,
                // Reading repeats the attempt, or reports why.
                Err(ScriptCallError::Gone) => None,
                Err(error) => return Err(error.into()),
            }
        };
        // Embedding elements are identified first, so that each frame's content gets its place.
        let children = frames
            .iter()
            .skip(1)
            .map(|(frame, _)| self.register_frame_owner(frame, deadline.within(FRAME_WAIT)));
        for introduced in join_all(children).await {
            omit_if_unavailable(introduced)?;
        }
        let take = || {
            let readings = frames
                .iter()
                .enumerate()
                .map(|(place, _)| self.read_frame(frames, place, scope, shows, deadline));
            let counts = self.counts_after(stamp.as_ref(), deadline);
            join(join_all(readings), counts)
                .map(|(taken, after)| taken.into_iter().map(move |taken| (taken, after)).collect())
        };
        let is_still =
            |taken: &(Result<FrameSnapshot, _>, _)| taken.0.as_ref().is_ok_and(|taken| taken.still);
        let (taken, roots) = self.call_with_known_roots(frames, deadline, take, is_still).await;
        let mut after = None;
        let mut readings = Vec::with_capacity(frames.len());
        let mut read = Vec::with_capacity(frames.len());
        for (place, (frame, (reading, counts))) in frames.iter().zip(taken).enumerate() {
            after = counts;
            let reading = if place == 0 { Some(reading?) } else { omit_if_unavailable(reading)? };
            if let Some(reading) = reading {
                read.push(frame.clone());
                readings.push(reading);
            }
        }
        if let Some(main) = readings.first_mut() {
            main.complete &= roots.is_complete;
        }
        if let Some(stamp) = stamp {
            self.remember_reading(stamp, &readings, after);
        }
        merge_readings(&read, readings)
    }
}

/// The page of these frames; the first is the main frame.
fn merge_readings(frames: &[(String, String)], readings: Vec<FrameSnapshot>) -> Result<Page, BrowserError> {
    let mut readings = frames.iter().map(|(frame, _)| frame.clone()).zip(readings);
    let (_, main) = readings.next().ok_or(BrowserError::TabClosed)?;
    Ok(merge_frames(main, readings.collect()))
}

impl Browser {
    /// Reads one of these frames; the first is the main frame.
    async fn read_frame(
        &self,
        frames: &[(String, String)],
        place: usize,
        scope: ReadingScope,
        shows: Option<usize>,
        deadline: Deadline,
    ) -> Result<FrameSnapshot, ScriptCallError> {
        let (frame, prefix) = &frames[place];
        let links = scope.links == Links::Included;
        let others = frames.len() - 1;
        // Only the main frame is large enough for diffs to matter.
        let (limit, (mut request, known)) = if place == 0 {
            (deadline, self.main_frame_request(frame, prefix))
        } else {
            let (nodes, bytes) = (MAX_OTHER_FRAMES_NODES / others, MAX_OTHER_FRAMES_BYTES / others);
            (deadline.within(FRAME_WAIT), (self.snapshot_request(prefix, nodes, bytes), None))
        };
        let known = known.filter(|baseline: &FrameBaseline| baseline.links == links && !scope.boxes);
        (request.links, request.boxes) = (links, scope.boxes);
        request.milliseconds = scope.patience.map(|patience| patience.as_millis());
        request.known = known.as_ref().map(|baseline| baseline.serial);
        // Other frames are read whole.
        if place == 0 {
            request.shows = shows;
            let readings = self.snapshots().partial_readings();
            request.completes = (shows.is_none() && !readings.is_empty()).then_some(readings);
        }
        let mut answer: FrameReply = self
            .call_script_bounded(request.bytes, frame, ScriptFunction::TakeSnapshot, &request, limit)
            .await?;
        if answer.is_too_large() {
            self.collect_garbage(frame, limit).await?;
            request.swept = true;
            answer = self
                .call_script_bounded(request.bytes, frame, ScriptFunction::TakeSnapshot, &request, limit)
                .await?;
        }
        let mut snapshot =
            answer.into_snapshot(prefix, known.as_ref(), &self.text_cutter()).ok_or(ScriptCallError::Gone)?;
        snapshot.shows = request.shows;
        if place == 0 && !scope.boxes {
            self.set_frame_baseline(frame, &snapshot, links);
        }
        Ok(snapshot)
    }
}

/// Omits a frame that is gone or hangs; the page around it is still useful.
#[derive(Serialize)]
struct MarkSecretFields {
    numbers: Vec<u64>,
}

fn omit_if_unavailable<T>(answer: Result<T, ScriptCallError>) -> Result<Option<T>, BrowserError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(
            ScriptCallError::Gone
            | ScriptCallError::Failed(BrowserError::Timeout { .. } | BrowserError::PageScript { .. }),
        ) => Ok(None),
        Err(ScriptCallError::Failed(error)) => Err(error),
    }
}
