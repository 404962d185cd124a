//! One tab: its frames, the load progress of its document, pending requests and navigations, and an open dialog.

use super::{
    documents::DocumentRegistry,
    frames::{Frames, MAX_FRAMES},
};
use crate::{
    cdp::{Id, Reactions, SessionId, protocol as p},
    credentials::{BrowsingContextGroup, InjectedRequests, InjectionState},
    script,
    text::PageText,
};
use policy::TabId;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};
use tokio::time::Instant;

/// What is shown of a title or a dialog's message, in bytes.
pub(super) const MAX_TITLE: usize = 512;
/// A tab that has shown so many documents since an action began reloads itself over and over.
const RELOAD_LOOP_COMMITS: u64 = 3;
/// Documents that are remembered, to know that an awaited one has loaded and was left; and navigations.
pub(super) const MAX_LOADERS: usize = 16;

pub(crate) struct Tab {
    pub id: TabId,
    /// The id of the target, and of its main frame.
    pub target: Id,
    pub session: SessionId,
    /// CDP sessions of out-of-process frames.
    pub frame_sessions: HashSet<SessionId>,
    pub frames: Frames,
    /// Neither masked nor cut: see [`super::State::shown_url`].
    pub url: String,
    pub title: String,
    /// The loaders of the last documents, newest last.
    pub loaders: VecDeque<Id>,
    /// Of the newest document.
    pub load_progress: LoadProgress,
    /// Documents shown so far; shows whether an action led to another page.
    pub commits: u64,
    pub navigation: PendingNavigation,
    /// The scheme of a URL that no tab may show.
    pub refused_scheme: Option<PageText>,
    /// `commits` when the present action began.
    pub commits_at_start: u64,
    /// `commits` when the agent's last screenshot began.
    pub commits_at_screenshot: Option<u64>,
    pub same_document_navigations: u64,
    /// The last navigations that were started: the loader, and `commits` at that time.
    pub started_navigations: VecDeque<(Option<Id>, u64)>,
    /// The last documents, newest last.
    pub documents: VecDeque<CommittedDocument>,
    /// Requests since the present action began that have not finished, and whether the response has begun.
    pub requests: HashMap<Id, bool>,
    /// The dialog that waits for an answer; no script of the page runs meanwhile.
    pub dialog: Option<OpenDialog>,
    /// Dialogs answered automatically since the present action began.
    pub answered_dialogs: usize,
    /// The agent is navigating away: further dialogs of this page are dismissed.
    pub leaving: bool,
    pub root_scan: Option<RootScan>,
    /// Whether the last request for the tab's document was other than a GET.
    pub(super) document_request_is_post: Option<bool>,
    /// Whether the document is the response to such a request.
    pub posted: bool,
    /// The last response to a request for the tab's document: the document's loader, and the HTTP status.
    pub(super) document_response: Option<(Id, u16)>,
    /// The HTTP status of the document.
    pub status: Option<u16>,
    pub context_group: BrowsingContextGroup,
    pub injected_requests: InjectedRequests,
}

/// A document that a tab has shown.
#[derive(Debug)]
pub(crate) struct CommittedDocument {
    pub loader: Option<Id>,
    /// `Tab::commits`, this document included.
    pub number: u64,
    /// `Tab::commits` when its navigation started, if that was reported.
    pub started: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct OpenDialog {
    pub session: SessionId,
    pub kind: &'static str,
    pub message: PageText,
    /// The page that opened it.
    pub url: String,
    /// The default text of a prompt, which is the answer if it is accepted without one.
    pub default_prompt: String,
}

/// The last scan for closed shadow roots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootScan {
    /// The document, by its number in the tab.
    pub commits: u64,
    pub ended: Instant,
    pub took: Duration,
    pub is_complete: bool,
}

/// A navigation that has not committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PendingNavigation {
    #[default]
    None,
    /// The page requested it; it may still not happen.
    Requested,
    Started,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadProgress {
    pub dom_content_loaded: bool,
    pub load: bool,
    pub network_idle: bool,
    /// Loading ended without the load event: the connection broke, or the page or the driver stopped it.
    pub stopped: bool,
}

impl Tab {
    /// The registry is shared by all tabs: no ref is issued twice in a session.
    pub fn new(id: TabId, target: Id, session: SessionId, documents: &DocumentRegistry) -> Tab {
        let mut frames = Frames::new(documents);
        frames.attach(&target, None, &session);
        Tab {
            id,
            target,
            session,
            frame_sessions: HashSet::new(),
            frames,
            url: "about:blank".to_owned(),
            title: String::new(),
            loaders: VecDeque::new(),
            load_progress: LoadProgress::default(),
            commits: 0,
            commits_at_screenshot: None,
            navigation: PendingNavigation::None,
            refused_scheme: None,
            commits_at_start: 0,
            same_document_navigations: 0,
            started_navigations: VecDeque::new(),
            documents: VecDeque::new(),
            requests: HashMap::new(),
            dialog: None,
            answered_dialogs: 0,
            leaving: false,
            root_scan: None,
            document_request_is_post: None,
            posted: false,
            document_response: None,
            status: None,
            context_group: BrowsingContextGroup::mixed(),
            injected_requests: InjectedRequests::default(),
        }
    }

    /// The connection is lost. Returns the target to look for on the next one.
    pub fn suspend(&mut self) -> Id {
        self.session = SessionId::from("");
        self.frame_sessions.clear();
        self.frames.suspend();
        self.navigation = PendingNavigation::None;
        self.dialog = None;
        self.requests.clear();
        // Documents load unobserved until the driver is back.
        self.context_group.mark_mixed();
        self.target.clone()
    }

    pub fn reattach(&mut self, session: SessionId) {
        self.frames.attach(&self.target, None, &session);
        self.session = session;
    }

    /// Records the present frame tree of one session.
    pub fn sync_frames(&mut self, root: &p::FrameTree, session: &SessionId) {
        let mut waiting = vec![root];
        while let Some(tree) = waiting.pop() {
            self.frames.attach(&tree.frame.id, tree.frame.parent_id.as_deref(), session);
            if let Some(known) = self.frames.get_mut(&tree.frame.id) {
                known.set_url(&tree.frame.url);
            }
            if tree.frame.id == self.target {
                tree.frame.unreachable_url.as_deref().unwrap_or(&tree.frame.url).clone_into(&mut self.url);
            }
            waiting.extend(tree.child_frames.iter().rev());
        }
    }

    pub fn owns(&self, session: &SessionId) -> bool {
        self.session == *session || self.frame_sessions.contains(session)
    }

    pub fn is_reloading_itself(&self) -> bool {
        self.commits - self.commits_at_start >= RELOAD_LOOP_COMMITS
    }

    pub fn note_document(&mut self, loader: Option<Id>, started: Option<u64>) {
        self.commits += 1;
        if self.documents.len() == MAX_LOADERS {
            self.documents.pop_front();
        }
        self.documents.push_back(CommittedDocument { loader, number: self.commits, started });
    }

    /// Whether a document whose navigation had started before this one was committed was shown after it. The page that
    /// was left had requested it.
    pub fn was_replaced_by_predecessor(&self, loader: &Id) -> bool {
        let Some(at) = self.documents.iter().rposition(|document| document.loader.as_ref() == Some(loader))
        else {
            return self.documents.len() == MAX_LOADERS;
        };
        let requested = &self.documents[at];
        self.documents
            .range(at + 1..)
            .any(|later| later.started.is_some_and(|commits| commits < requested.number))
    }

    pub fn adopt_frame(
        &mut self,
        session: &SessionId,
        target: &p::TargetInfo,
        injected: &InjectionState,
        reactions: &mut Reactions<'_>,
    ) {
        if self.frame_sessions.len() == MAX_FRAMES {
            self.frames.mark_untracked();
            // Its documents load unobserved.
            self.context_group.mark_mixed();
            reactions.post(Some(session), &p::Resume {});
            return;
        }
        self.frame_sessions.insert(session.clone());
        self.frames.attach(&target.target_id, target.parent_frame_id.as_deref(), session);
        let to = Some(session);
        reactions.post(to, &p::EnablePage {});
        reactions.post(to, &p::EnableRuntime {});
        reactions.post(to, &script::install_command());
        reactions.post(to, &attach_to_frames());
        injected.enable_network(session, reactions);
        injected.intercept_requests(session, false, reactions);
        reactions.post(to, &p::Resume {});
    }
}

/// Out-of-process frames attach by themselves, paused until they are set up. Workers are included because Chromium pauses
/// them as well; they are only resumed.
pub(crate) fn attach_to_frames() -> p::SetAutoAttach {
    p::SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: ["iframe", "worker"].map(|r#type| p::TargetFilter { r#type, exclude: false }).into(),
    }
}
