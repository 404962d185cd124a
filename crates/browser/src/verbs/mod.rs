//! The driver's two entry points: `resolve` only observes; `perform` acts, and accepts only a permitted action.

mod active_tab;
mod check;
mod click;
mod dates;
mod dialog;
mod find;
mod history;
mod navigate;
mod pointer;
mod press;
mod read;
mod read_dom;
mod redact_outcome;
mod screenshot;
mod scroll;
mod select;
mod settle;
mod tabs;
mod type_text;
mod wait_for;

pub use dialog::PendingDialog;
pub use read_dom::CleanedHtml;
pub use screenshot::{MarkedScreenshot, RecordableScreenshot};
pub use tabs::TabInfo;

use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    screenshot::ScreenshotImage,
    snapshot::{CallerId, SearchResult, Snapshot},
    state::Incident,
    targeting::{ActionabilityCheck, Element, Located, Purpose, TargetUse},
    text::{MAX_URL, PageText, RedactedPageText},
};
use audit::Permitted;
use history::HistoryStep;
use policy::{Action, Document, ElementFacts, Facts, LoadState, Scroll, Target};
use redact::{Redacted, RedactedFields};

/// How often an element that the page has replaced is located again.
const MAX_RELOCATIONS: usize = 3;

/// The result of an action. Its texts are raw as the driver returns it, and [`Redacted`](redact::Redacted) in a reply.
#[derive(Clone, Debug, RedactedFields)]
pub enum Outcome<T = String, P = PageText> {
    Navigated {
        final_url: T,
        title: T,
        status: Option<u16>,
        snapshot: Snapshot<T>,
        incidents: Vec<Incident<P>>,
    },
    /// Any action that may change the page.
    Acted(PageAfterAction<T, P>),
    Read(Snapshot<T>),
    Dom(CleanedHtml<T, P>),
    Found(SearchResult<T>),
    Screenshot(ScreenshotImage),
    Tabs(Vec<TabInfo<P>>),
}

/// An outcome that may leave for an agent.
pub type RedactedOutcome = Outcome<Redacted, RedactedPageText>;

/// Who receives the reply, and whether it must have the whole page instead of a delta.
#[derive(Clone, Debug)]
pub struct ReplyOptions {
    pub caller: CallerId,
    pub full: bool,
}

/// A remark beside the page's content.
type ActionNote = Option<String>;

/// The page after an action, once it has settled.
#[derive(Clone, Debug, RedactedFields)]
pub struct PageAfterAction<T = String, P = PageText> {
    pub url: T,
    pub title: T,
    /// Whether the action led to another document.
    pub navigated: bool,
    /// None while a dialog is open: the page cannot be read then.
    pub snapshot: Option<Snapshot<T>>,
    pub dialog: Option<PendingDialog<P>>,
    /// A remark about the action.
    pub note: Option<T>,
    pub incidents: Vec<Incident<P>>,
}

impl Browser {
    /// The facts of the page, and of the element that the action would hit. Changes nothing except the scroll
    /// position.
    pub async fn resolve(&self, action: &Action) -> Result<Facts, BrowserError> {
        self.resolve_within(action, self.limit()).await
    }

    pub async fn resolve_within(&self, action: &Action, limit: TimeLimit) -> Result<Facts, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, action.name());
        self.ensure_tab(action, deadline).await?;
        // A page with an open dialog does not answer.
        tokio::select! {
            biased;
            facts = self.observe(action, deadline) => match facts {
                Err(error) => Err(self.explain_stale_ref(error, deadline).await),
                facts => facts,
            },
            dialog = self.wait_for_dialog(), if !ignores_dialogs(action) => Err(dialog.into_error()),
        }
    }

    async fn observe(&self, action: &Action, deadline: Deadline) -> Result<Facts, BrowserError> {
        if !matches!(action, Action::Navigate(_) | Action::Tabs(_) | Action::Dialog(_)) {
            self.wait_for_navigation(deadline).await?;
        }
        let mut facts = self.page_facts();
        if let Some(target) = action.target() {
            facts.target = self.element_facts(target, purpose_of(action), deadline).await?;
        }
        match action {
            Action::Drag(drag) => facts.to = self.element_facts(&drag.to, Purpose::Drop, deadline).await?,
            Action::Select(select) => {
                if let Some(list) = &facts.target {
                    facts.options = self.match_options(select, list, deadline).await?;
                }
            }
            Action::Dialog(_) => facts.dialog = Some(self.dialog_facts()?),
            _ => {}
        }
        Ok(facts)
    }

    /// The facts of the element that an action on this target would hit. A page may replace the element when it is
    /// scrolled to; then the replacement counts, unless the target is a ref.
    async fn element_facts(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Option<ElementFacts>, BrowserError> {
        let tries = if matches!(target, Target::Ref(_)) { 0 } else { MAX_RELOCATIONS };
        for _ in 0..tries {
            match self.element_facts_once(target, purpose, deadline).await {
                Err(BrowserError::StaleRef { .. }) => {}
                facts => return facts,
            }
        }
        self.element_facts_once(target, purpose, deadline).await
    }

    async fn element_facts_once(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Option<ElementFacts>, BrowserError> {
        let located = match self.locate(target, purpose, deadline).await {
            // Without a focused element, keys go to the page itself.
            Err(BrowserError::NothingThere) if purpose == Purpose::Press => return Ok(None),
            located => located?,
        };
        let Located { element, matches, point, check: first_check } = located;
        let check = ActionabilityCheck { target_use: TargetUse { purpose, point }, steady: false, arm: None };
        let actionable = match first_check {
            Some(reply) => match self.accept_check(&element, reply, deadline).await {
                Ok(actionable) => actionable,
                // It may become ready within the deadline.
                Err(_) => self.wait_actionable(&element, check, deadline).await?,
            },
            None => self.wait_actionable(&element, check, deadline).await?,
        };
        Ok(Some(ElementFacts { matches, ..actionable.facts }))
    }

    /// The element that was decided on, located again in the same way.
    pub(super) async fn relocate(
        &self,
        target: &Target,
        decided: &ElementFacts,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<(Element, TargetUse), BrowserError> {
        let element = self.element(&decided.element)?;
        let Target::Point { .. } = target else { return Ok((element, TargetUse { purpose, point: None })) };
        // A point is resolved again: another element may be there now.
        let found = self.locate(target, purpose, deadline).await?;
        if found.element != element {
            let what = "another element is in its place";
            return Err(BrowserError::TargetChanged { element: decided.element.clone(), what });
        }
        Ok((element, TargetUse { purpose, point: found.point }))
    }

    /// Performs the permitted action on the element it was permitted for, and on no other.
    pub async fn perform(&self, permitted: Permitted, reply: &ReplyOptions) -> Result<Outcome, BrowserError> {
        self.perform_within(permitted, reply, self.limit()).await
    }

    pub async fn perform_within(
        &self,
        permitted: Permitted,
        reply: &ReplyOptions,
        limit: TimeLimit,
    ) -> Result<Outcome, BrowserError> {
        let _turn = self.turn.lock().await;
        let (action, facts) = permitted.into_parts();
        let deadline = Deadline::of(limit, action.name());
        self.ensure_tab(&action, deadline).await?;
        if ignores_dialogs(&action) {
            return self.act(action, facts, reply, deadline).await;
        }
        let may_close = action.may_close_tab();
        let outcome = tokio::select! {
            // An action that answers the dialog, or leaves the page, does so before it waits for anything.
            biased;
            outcome = self.act(action, facts, reply, deadline) => outcome,
            // Input that was sent is not undone; the guard checks it once the dialog is answered.
            dialog = self.wait_for_dialog() => Ok(Outcome::Acted(self.page_with_dialog(dialog))),
        };
        match outcome {
            Err(BrowserError::TabClosed) if may_close && self.shared.lock().activate_previous_tab() => {
                self.call_tab(&p::BringToFront {}, deadline).await?;
                self.begin_action();
                self.settle(LoadState::Load, deadline).await?;
                self.after(None, reply, deadline).await.map(Outcome::Acted)
            }
            Err(error) => Err(self.explain_stale_ref(error, deadline).await),
            outcome => outcome,
        }
    }

    /// The page once what an earlier action started has settled, for an action whose request was held meanwhile.
    pub async fn page_after_hold(
        &self,
        reply: &ReplyOptions,
        limit: TimeLimit,
    ) -> Result<Outcome, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "read");
        let settled = async {
            self.settle(LoadState::Load, deadline).await?;
            self.after(None, reply, deadline).await.map(Outcome::Acted)
        };
        tokio::select! {
            biased;
            outcome = settled => outcome,
            dialog = self.wait_for_dialog() => Ok(Outcome::Acted(self.page_with_dialog(dialog))),
        }
    }

    /// Goes where a navigation went that the proxy kept; it sends the kept request in place of this one.
    pub async fn replay_navigation(
        &self,
        replay: audit::NavigationReplay,
        reply: &ReplyOptions,
        limit: TimeLimit,
    ) -> Result<Outcome, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "navigate");
        let url = policy::WebUrl::parse(replay.url()).map_err(|error| BrowserError::NavigationFailed {
            url: PageText::new(replay.url()),
            net_error: error.to_string(),
        })?;
        let navigate = policy::Navigate { url, wait_for: LoadState::Load };
        self.navigate(&navigate, reply, deadline).await
    }

    async fn act(
        &self,
        action: Action,
        facts: Facts,
        reply: &ReplyOptions,
        deadline: Deadline,
    ) -> Result<Outcome, BrowserError> {
        let Facts { target, to, options, dialog, .. } = facts;
        self.complete_before(&action, deadline).await;
        let note = match action {
            Action::Navigate(navigate) => return self.navigate(&navigate, reply, deadline).await,
            Action::Read(read) => return self.read_part(&read, reply, deadline).await.map(Outcome::Read),
            Action::ReadDom(read_dom) => return self.read_dom(&read_dom, deadline).await.map(Outcome::Dom),
            Action::Find(find) => return self.find(&find, deadline).await.map(Outcome::Found),
            Action::Screenshot(shot) => {
                return self.screenshot(&shot, target.as_ref(), deadline).await.map(Outcome::Screenshot);
            }
            Action::Tabs(tabs) => return self.tabs(&tabs, deadline).await.map(Outcome::Tabs),
            Action::Back => self.go_in_history(HistoryStep::Back, deadline).await,
            Action::Forward => self.go_in_history(HistoryStep::Forward, deadline).await,
            Action::Reload => self.reload(deadline).await,
            Action::Click(click) => self.click(&click, &decided(target)?, deadline).await,
            Action::Hover(hover) => self.hover(&hover, &decided(target)?, deadline).await,
            Action::Drag(drag) => self.drag(&drag, &decided(target)?, &decided(to)?, deadline).await,
            Action::Type(typing) => self.type_text(&typing, &decided(target)?, deadline).await,
            Action::Press(press) => self.press(&press, target.as_ref(), deadline).await,
            Action::Select(select) => self.select(&select, &decided(target)?, &options, deadline).await,
            Action::Check(check) => self.check(&check, &decided(target)?, deadline).await,
            Action::Scroll(scroll) => self.scroll(&scroll, target.as_ref(), deadline).await,
            Action::WaitFor(wait) => self.wait_until(&wait, deadline).await,
            Action::Dialog(answer) => self.answer_dialog(&answer, dialog, deadline).await,
        };
        self.after(note?, reply, deadline).await.map(Outcome::Acted)
    }

    /// The page as it is known without asking it, with its open dialog.
    fn page_with_dialog(&self, dialog: PendingDialog) -> PageAfterAction {
        let mut state = self.shared.lock();
        let incidents = state.take_incidents();
        let tab = state.tab.as_ref();
        PageAfterAction {
            url: tab.map(|tab| state.shown_url(tab)).unwrap_or_default(),
            title: tab.map(|tab| state.shown_title(tab)).unwrap_or_default(),
            navigated: tab.is_some_and(|tab| tab.commits != tab.commits_at_start),
            snapshot: None,
            dialog: Some(dialog),
            note: None,
            incidents,
        }
    }

    /// The page as it is known without asking it.
    fn page_facts(&self) -> Facts {
        let state = self.shared.lock();
        let tab = state.tab.as_ref();
        Facts {
            // Whole, rules are about it, and what is shown of it is masked; a cut is masked here.
            page_url: tab
                .map(|tab| match tab.url.len() {
                    0..=MAX_URL => tab.url.clone(),
                    _ => state.shown_url(tab),
                })
                .unwrap_or_default(),
            document: tab.map(|tab| Document { tab: tab.id.0, count: tab.commits }).unwrap_or_default(),
            posted: tab.is_some_and(|tab| tab.posted),
            ..Facts::default()
        }
    }

    async fn after(
        &self,
        note: ActionNote,
        reply: &ReplyOptions,
        deadline: Deadline,
    ) -> Result<PageAfterAction, BrowserError> {
        let snapshot = self.page_after(reply, deadline).await?;
        let mut state = self.shared.lock();
        Ok(PageAfterAction {
            url: snapshot.url.clone(),
            title: snapshot.title.clone(),
            navigated: state.tab.as_ref().is_some_and(|tab| tab.commits != tab.commits_at_start),
            snapshot: Some(snapshot),
            dialog: None,
            note,
            incidents: state.take_incidents(),
        })
    }
}

/// Chromium lists, opens and closes tabs without the page.
fn ignores_dialogs(action: &Action) -> bool {
    matches!(action, Action::Tabs(_))
}

fn purpose_of(action: &Action) -> Purpose {
    match action {
        Action::Hover(_) => Purpose::Hover,
        Action::Drag(_) => Purpose::Drag,
        Action::Type(_) => Purpose::Type,
        Action::Press(_) => Purpose::Press,
        Action::Select(_) => Purpose::Select,
        Action::Check(_) => Purpose::Check,
        Action::Scroll(Scroll::By { .. }) => Purpose::Wheel,
        Action::Scroll(Scroll::To(_)) => Purpose::Scroll,
        Action::Screenshot(_) => Purpose::See,
        _ => Purpose::Click,
    }
}

/// The element that was decided on. An action without one was never resolved, so there is nothing to act on.
fn decided(facts: Option<ElementFacts>) -> Result<ElementFacts, BrowserError> {
    facts.ok_or_else(|| BrowserError::stale(""))
}
