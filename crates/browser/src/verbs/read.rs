//! Reading: every frame's snapshot, taken at once and stitched into one.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    locate::FRAME_WAIT,
    snapshot::{Cursor, FrameSnapshot, MOST_NODES, Page, Snapshot, View, stitch},
    tab::LONGEST_TITLE,
    text::cut,
};
use futures_util::future::join_all;
use policy::{Part, Read, ReadFormat};
use serde::Serialize;
use std::{collections::HashMap, sync::Arc};

const ATTEMPTS: usize = 3;

/// What the main frame may send, in bytes of JSON.
const MAIN_FRAME_BYTES: usize = 24 << 20;
/// What all other frames together may send. A node can take 20 times its JSON in memory, so this is less.
const OTHER_FRAMES_BYTES: usize = 4 << 20;
const OTHER_FRAMES_NODES: usize = 20_000;

#[derive(Serialize)]
struct Wanted<'a> {
    prefix: &'a str,
    /// The script keeps to both, and counts what it leaves out.
    nodes: usize,
    bytes: usize,
}

impl Browser {
    /// The whole page within the default budget.
    pub(super) async fn read(
        &self,
        format: ReadFormat,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        self.read_part(&Read { format, ..Read::default() }, deadline).await
    }

    /// A part of the page as it is now, or of an earlier snapshot.
    pub(super) async fn read_part(&self, read: &Read, deadline: Deadline) -> Result<Snapshot, BrowserError> {
        let max_depth = read.max_depth.unwrap_or(self.options.max_depth);
        let shown = |page: &Page, serial| View::of(page, serial, read.format, read.tokens, max_depth);
        if let Part::Cursor(text) = &read.part {
            let stale = || BrowserError::StaleCursor { cursor: cut(text, 40) };
            let cursor = Cursor::parse(text).ok_or_else(stale)?;
            let (url, page) = self.snapshots().find(&cursor).ok_or_else(stale)?;
            let view = View { span: cursor.span, ..shown(&page, cursor.serial) };
            return Ok(self.snapshot(url, page, &view));
        }
        let (url, page) = self.read_page(deadline).await?;
        let mut view = shown(&page, self.snapshots().next_serial());
        if let Part::Root(reference) = &read.part {
            let there = page.nodes.iter().position(|node| node.reference.as_deref() == Some(reference));
            let at = there.ok_or_else(|| BrowserError::StaleRef { reference: cut(reference, 32) })?;
            view.span = page.subtree(at);
        }
        Ok(self.snapshot(url, Arc::new(page), &view))
    }

    /// Writes a snapshot, and keeps the page if something of it is left for a cursor.
    fn snapshot(&self, url: String, page: Arc<Page>, view: &View) -> Snapshot {
        let shown = page.show(view);
        let left = if view.span == page.whole() { page.left } else { 0 };
        if shown.folds {
            self.snapshots().keep(view.serial, &url, &page);
        }
        Snapshot {
            url,
            title: page.title.clone(),
            status: page.status,
            content: shown.content,
            left_out: left.saturating_add(shown.hidden),
        }
    }

    /// The page as it is now, with its address.
    pub(super) async fn read_page(&self, deadline: Deadline) -> Result<(String, Page), BrowserError> {
        let mut attempts = 1;
        loop {
            let frames = self.frames_to_ask();
            let page = self.read_frames(&frames, deadline).await?;
            // A page that was replaced meanwhile is read again, or its refs would be those of the old one.
            if attempts == ATTEMPTS || self.frames_to_ask().first() == frames.first() {
                return Ok((self.titled(&page.title), page));
            }
            attempts += 1;
        }
    }

    /// Notes the title that was read, which Chromium tells later; returns the address.
    fn titled(&self, title: &str) -> String {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return String::new() };
        tab.title = cut(title, LONGEST_TITLE);
        tab.url.clone()
    }

    async fn read_frames(
        &self,
        frames: &[(String, String)],
        deadline: Deadline,
    ) -> Result<Page, BrowserError> {
        // First who shows whom, so that each frame's content finds its place.
        let children =
            frames.iter().skip(1).map(|(frame, _)| self.introduce(frame, deadline.within(FRAME_WAIT)));
        for introduced in join_all(children).await {
            bearable(introduced)?;
        }
        let asked = frames.iter().enumerate().map(|(place, (frame, prefix))| {
            let others = frames.len() - 1;
            let (limit, nodes, bytes) = if place == 0 {
                (deadline, MOST_NODES, MAIN_FRAME_BYTES)
            } else {
                (deadline.within(FRAME_WAIT), OTHER_FRAMES_NODES / others, OTHER_FRAMES_BYTES / others)
            };
            async move {
                let wanted = Wanted { prefix, nodes, bytes };
                let told: FrameSnapshot = self.ask_up_to(bytes, frame, "snapshot", &wanted, limit).await?;
                Ok::<_, AskError>(told.of_frame(prefix))
            }
        });
        let mut answers = frames.iter().map(|(frame, _)| frame.clone()).zip(join_all(asked).await);
        let Some((_, main)) = answers.next() else { return Err(BrowserError::TabClosed) };
        let main = main?;
        let mut parts = HashMap::new();
        for (frame, answer) in answers {
            if let Some(part) = bearable(answer)? {
                parts.insert(frame, part);
            }
        }
        Ok(stitch(main, parts))
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
