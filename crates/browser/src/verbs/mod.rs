//! The two doors of the driver: `resolve` only looks, `perform` acts and takes nothing but a permitted action.

mod choose;
mod click;
mod dates;
mod dialog;
mod find;
mod history;
mod keyboard;
mod navigate;
mod pointer;
mod read;
mod read_dom;
mod screenshot;
mod scroll;
mod settle;
mod tabs;
mod type_text;
mod wait_for;

pub(crate) use click::Press;
pub use dialog::Question;
pub(crate) use keyboard::Stroke;
pub(crate) use read::Wanted;
pub use read_dom::Dom;
pub(crate) use screenshot::Framed;
pub use screenshot::{Image, Kept, Omitted, Picture};
pub use tabs::TabInfo;

use crate::{
    aim::{How, Looking, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    incident::Incident,
    locate::{Element, Located},
    snapshot::{CallerId, Found, Snapshot},
};
use audit::Permitted;
use history::Step;
use policy::{Action, Document, ElementFacts, Facts, LoadState, Scroll, Target};

/// How often an element that a page has put another in the place of is looked for again.
const REPLACED: usize = 3;

/// What an action came to.
#[derive(Clone, Debug)]
pub enum Outcome {
    Navigated {
        final_url: String,
        title: String,
        status: Option<u16>,
        snapshot: Snapshot,
        incidents: Vec<Incident>,
    },
    /// Anything that may change the page.
    Acted(After),
    Read(Snapshot),
    Dom(Dom),
    Found(Found),
    Screenshot(Image),
    Tabs(Vec<TabInfo>),
}

/// Whom a reply is for, and whether it is to tell all of the page or may tell what changed in it.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub caller: CallerId,
    pub full: bool,
}

/// What a verb has to say beside what the page shows.
type Told = Option<String>;

/// The page after an action, once it has settled.
#[derive(Clone, Debug)]
pub struct After {
    pub url: String,
    pub title: String,
    /// Whether the action led to another document.
    pub navigated: bool,
    /// None while a question of the page's waits for an answer: nothing can be read of it.
    pub snapshot: Option<Snapshot>,
    pub question: Option<Question>,
    /// What else there is to say of the action, in our words.
    pub told: Option<String>,
    pub incidents: Vec<Incident>,
}

impl Browser {
    /// The facts of the page, and of the element that the action would really hit. Changes nothing but scrolling.
    pub async fn resolve(&self, action: &Action) -> Result<Facts, BrowserError> {
        self.resolve_within(action, self.limit()).await
    }

    pub async fn resolve_within(&self, action: &Action, limit: TimeLimit) -> Result<Facts, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, action.name());
        self.ensure_tab(action, deadline).await?;
        // A page that puts a question meanwhile does not answer ours.
        tokio::select! {
            biased;
            facts = self.facts(action, deadline) => match facts {
                Err(error) => Err(self.with_fate(error, deadline).await),
                facts => facts,
            },
            question = self.asked(), if !ignores_questions(action) => Err(question.error()),
        }
    }

    async fn facts(&self, action: &Action, deadline: Deadline) -> Result<Facts, BrowserError> {
        if !matches!(action, Action::Navigate(_) | Action::Tabs(_) | Action::Dialog(_)) {
            self.arrive(deadline).await?;
        }
        let mut facts = self.page_facts();
        if let Some(target) = action.target() {
            facts.target = self.facts_of(target, purpose_of(action), deadline).await?;
        }
        match action {
            Action::Drag(drag) => facts.to = self.facts_of(&drag.to, Purpose::Drop, deadline).await?,
            Action::Select(select) => {
                if let Some(list) = &facts.target {
                    facts.options = self.options_meant(select, list, deadline).await?;
                }
            }
            Action::Dialog(_) => facts.dialog = Some(self.dialog_facts()?),
            _ => {}
        }
        Ok(facts)
    }

    /// The facts of the element that an action on this target would really hit. A page may put another in its place when it
    /// is scrolled to: then that one is meant, unless it was named by its ref.
    async fn facts_of(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Option<ElementFacts>, BrowserError> {
        let tries = if matches!(target, Target::Ref(_)) { 0 } else { REPLACED };
        for _ in 0..tries {
            match self.facts_once(target, purpose, deadline).await {
                Err(BrowserError::StaleRef { .. }) => {}
                facts => return facts,
            }
        }
        self.facts_once(target, purpose, deadline).await
    }

    async fn facts_once(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Option<ElementFacts>, BrowserError> {
        let located = match self.locate(target, purpose, deadline).await {
            // Keys may go to the page itself, when nothing on it has the focus.
            Err(BrowserError::NothingThere) if purpose == Purpose::Press => return Ok(None),
            located => located?,
        };
        let Located { element, matches, spot, looked } = located;
        let looking = Looking { how: How { purpose, spot }, steady: false, arm: None };
        let aim = match looked {
            Some(looked) => match self.aimed(&element, looked, deadline).await {
                Ok(aim) => aim,
                // It may become ready yet.
                Err(_) => self.aim(&element, looking, deadline).await?,
            },
            None => self.aim(&element, looking, deadline).await?,
        };
        Ok(Some(ElementFacts { matches, ..aim.facts }))
    }

    /// The element that was decided on, found again the way it was found first.
    pub(super) async fn again(
        &self,
        target: &Target,
        decided: &ElementFacts,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<(Element, How), BrowserError> {
        let element = self.element(&decided.element)?;
        let Target::Point { .. } = target else { return Ok((element, How { purpose, spot: None })) };
        // Where a point leads is asked anew: another element may be there now.
        let there = self.locate(target, purpose, deadline).await?;
        if there.element != element {
            let what = "another element is in its place";
            return Err(BrowserError::TargetChanged { element: decided.element.clone(), what });
        }
        Ok((element, How { purpose, spot: there.spot }))
    }

    /// Does what was permitted, to the element it was permitted for and no other.
    pub async fn perform(&self, permitted: Permitted, viewer: &Viewer) -> Result<Outcome, BrowserError> {
        self.perform_within(permitted, viewer, self.limit()).await
    }

    pub async fn perform_within(
        &self,
        permitted: Permitted,
        viewer: &Viewer,
        limit: TimeLimit,
    ) -> Result<Outcome, BrowserError> {
        let _turn = self.turn.lock().await;
        let (action, facts) = permitted.into_parts();
        let deadline = Deadline::of(limit, action.name());
        self.ensure_tab(&action, deadline).await?;
        if ignores_questions(&action) {
            return self.act(action, facts, viewer, deadline).await;
        }
        let may_close = action.may_close_tab();
        let outcome = tokio::select! {
            // An action that answers a question, or leaves the page that asks, does so before it waits for anything.
            biased;
            outcome = self.act(action, facts, viewer, deadline) => outcome,
            // What was sent to the page is not undone: it finds its guard when the question is answered.
            question = self.asked() => Ok(Outcome::Acted(self.interrupted(question))),
        };
        match outcome {
            Err(BrowserError::TabClosed) if may_close && self.shared.lock().fall_back() => {
                self.call_tab(&p::BringToFront {}, deadline).await?;
                self.start();
                self.settle(LoadState::Load, deadline).await?;
                self.after(None, viewer, deadline).await.map(Outcome::Acted)
            }
            Err(error) => Err(self.with_fate(error, deadline).await),
            outcome => outcome,
        }
    }

    async fn act(
        &self,
        action: Action,
        facts: Facts,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<Outcome, BrowserError> {
        let Facts { target, to, options, dialog, .. } = facts;
        let told = match action {
            Action::Navigate(navigate) => return self.navigate(&navigate, viewer, deadline).await,
            Action::Read(read) => return self.read_part(&read, viewer, deadline).await.map(Outcome::Read),
            Action::ReadDom(wanted) => return self.read_dom(&wanted, deadline).await.map(Outcome::Dom),
            Action::Find(find) => return self.find(&find, deadline).await.map(Outcome::Found),
            Action::Screenshot(shot) => {
                return self.screenshot(&shot, target.as_ref(), deadline).await.map(Outcome::Screenshot);
            }
            Action::Tabs(wanted) => return self.tabs(&wanted, deadline).await.map(Outcome::Tabs),
            Action::Back => self.step(Step::Back, deadline).await,
            Action::Forward => self.step(Step::Forward, deadline).await,
            Action::Reload => self.reload(deadline).await,
            Action::Click(click) => self.click(&click, &decided(target)?, deadline).await,
            Action::Hover(hover) => self.hover(&hover, &decided(target)?, deadline).await,
            Action::Drag(drag) => self.drag(&drag, &decided(target)?, &decided(to)?, deadline).await,
            Action::Type(typing) => self.type_text(&typing, &decided(target)?, deadline).await,
            Action::Press(press) => self.press(&press, target.as_ref(), deadline).await,
            Action::Select(select) => self.select(&select, &decided(target)?, &options, deadline).await,
            Action::Check(check) => self.check(&check, &decided(target)?, deadline).await,
            Action::Scroll(scroll) => self.scroll(&scroll, target.as_ref(), deadline).await,
            Action::WaitFor(wanted) => self.wait_until(&wanted, deadline).await,
            Action::Dialog(answer) => self.answer_dialog(&answer, dialog, deadline).await,
        };
        self.after(told?, viewer, deadline).await.map(Outcome::Acted)
    }

    /// The page as it is known without asking it.
    fn interrupted(&self, question: Question) -> After {
        let mut state = self.shared.lock();
        let incidents = state.take_incidents();
        let tab = state.tab.as_ref();
        After {
            url: tab.map(|tab| tab.url.clone()).unwrap_or_default(),
            title: tab.map(|tab| tab.title.clone()).unwrap_or_default(),
            navigated: tab.is_some_and(|tab| tab.commits != tab.begun),
            snapshot: None,
            question: Some(question),
            told: None,
            incidents,
        }
    }

    /// The page, as it is known without asking it.
    fn page_facts(&self) -> Facts {
        let state = self.shared.lock();
        let tab = state.tab.as_ref();
        Facts {
            page_url: tab.map(|tab| tab.url.clone()).unwrap_or_default(),
            document: tab.map(|tab| Document { tab: tab.id.0, count: tab.commits }).unwrap_or_default(),
            posted: tab.is_some_and(|tab| tab.posted),
            ..Facts::default()
        }
    }

    async fn after(&self, told: Told, viewer: &Viewer, deadline: Deadline) -> Result<After, BrowserError> {
        let snapshot = self.page_after(viewer, deadline).await?;
        let mut state = self.shared.lock();
        Ok(After {
            url: snapshot.url.clone(),
            title: snapshot.title.clone(),
            navigated: state.tab.as_ref().is_some_and(|tab| tab.commits != tab.begun),
            snapshot: Some(snapshot),
            question: None,
            told,
            incidents: state.take_incidents(),
        })
    }
}

/// Tabs are listed, opened and closed by Chromium, without the page.
fn ignores_questions(action: &Action) -> bool {
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

/// Whether an element is still what was decided on; its text and matches may have changed.
pub(crate) fn unchanged(decided: &ElementFacts, now: &ElementFacts) -> Result<(), BrowserError> {
    is_same(decided, now.differs_from(decided))
}

/// The same; and where a person was asked, it also looks as it did to them.
pub(crate) fn unchanged_to_the_eye(decided: &ElementFacts, now: &ElementFacts) -> Result<(), BrowserError> {
    let looks = || now.appearance_difference(decided).filter(|_| decided.appearance.pinned);
    is_same(decided, now.differs_from(decided).or_else(looks))
}

/// The same, but for its place.
pub(crate) fn unchanged_in_itself(decided: &ElementFacts, now: &ElementFacts) -> Result<(), BrowserError> {
    let holds = || now.content_difference(decided).filter(|_| decided.appearance.pinned);
    is_same(decided, now.differs_from(decided).or_else(holds))
}

fn is_same(decided: &ElementFacts, changed: Option<&'static str>) -> Result<(), BrowserError> {
    match changed {
        Some(what) => Err(BrowserError::TargetChanged { element: decided.element.clone(), what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Appearance, FormButton, FormFacts, Origin};

    fn button() -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "button".into(),
            name: "Next".into(),
            text: "Next".into(),
            tag: "button".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: None,
            editable: false,
            secret: false,
            href: None,
            form: Some(FormFacts {
                method: "post".into(),
                action: "http://shop.test/next".into(),
                ..FormFacts::default()
            }),
            matches: 1,
            appearance: Appearance::default(),
        }
    }

    #[test]
    fn an_element_that_changed_after_the_decision_is_not_acted_on() {
        let other_form = FormFacts { action: "http://evil.test/".into(), ..button().form.unwrap() };
        let other_button = FormFacts { button: Some(FormButton::default()), ..button().form.unwrap() };
        for (now, expected) in [
            (button(), None),
            (ElementFacts { text: "Next (2)".into(), matches: 3, ..button() }, None),
            (ElementFacts { element: "e2".into(), ..button() }, Some("another element is in its place")),
            (ElementFacts { name: "Delete account".into(), ..button() }, Some("its name")),
            (ElementFacts { secret: true, ..button() }, Some("its kind of field")),
            (ElementFacts { href: Some("http://evil.test/".into()), ..button() }, Some("where it leads")),
            (ElementFacts { form: Some(other_form), ..button() }, Some("where its form goes")),
            (ElementFacts { form: Some(other_button), ..button() }, Some("the button that sends its form")),
            (ElementFacts { origin: Origin::of("http://evil.test/"), ..button() }, Some("its site")),
        ] {
            let told = match unchanged(&button(), &now) {
                Err(BrowserError::TargetChanged { what, .. }) => Some(what),
                _ => None,
            };
            assert_eq!(told, expected, "{now:?}");
        }
    }

    #[test]
    fn what_a_person_was_asked_about_also_looks_as_it_did() {
        for (is_bound, expected) in [(false, None), (true, Some("its text"))] {
            let appearance = Appearance { pinned: is_bound, ..Appearance::default() };
            let decided = ElementFacts { appearance, ..button() };
            let now = ElementFacts { text: "Buy".into(), ..button() };
            let told = match unchanged_to_the_eye(&decided, &now) {
                Err(BrowserError::TargetChanged { what, .. }) => Some(what),
                _ => None,
            };
            assert_eq!(told, expected);
        }
    }
}
