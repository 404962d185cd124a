//! The two doors of the driver: `resolve` only looks, `perform` acts and takes nothing but a permitted action.

mod click;
mod find;
mod navigate;
mod read;
mod screenshot;
mod settle;
mod type_text;

pub use screenshot::{Image, Omitted};

use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    incident::Incident,
    locate::Purpose,
    snapshot::{CallerId, Found, Snapshot},
};
use policy::{Action, ElementFacts, Facts, Permitted};

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
    Clicked(After),
    Typed(After),
    Read(Snapshot),
    Found(Found),
    Screenshot(Image),
}

/// Whom a reply is for, and whether it is to tell all of the page or may tell what changed in it.
#[derive(Clone, Debug)]
pub struct Viewer {
    pub caller: CallerId,
    pub full: bool,
}

/// The page after an action, once it has settled.
#[derive(Clone, Debug)]
pub struct After {
    pub url: String,
    pub title: String,
    /// Whether the action led to another document.
    pub navigated: bool,
    pub snapshot: Snapshot,
    pub incidents: Vec<Incident>,
}

impl Browser {
    /// The facts of the page, and of the element that the action would really hit. Changes nothing but scrolling.
    pub async fn resolve(&self, action: &Action) -> Result<Facts, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = self.deadline(action.name());
        self.ensure_tab(action, deadline).await?;
        let Some(target) = action.target() else {
            return Ok(Facts { page_url: self.page_url(), target: None });
        };
        let purpose = if matches!(action, Action::Type(_)) { Purpose::Type } else { Purpose::Click };
        let found = async {
            let (element, matches) = self.locate(target, deadline).await?;
            let facts = self.aim(&element, purpose, deadline).await?.facts;
            Ok(ElementFacts { matches, ..facts })
        };
        match found.await {
            Ok(target) => Ok(Facts { page_url: self.page_url(), target: Some(target) }),
            Err(error) => Err(self.with_fate(error, deadline).await),
        }
    }

    /// Does what was permitted, to the element it was permitted for and no other.
    pub async fn perform(&self, permitted: Permitted, viewer: &Viewer) -> Result<Outcome, BrowserError> {
        let _turn = self.turn.lock().await;
        let (action, facts) = permitted.into_parts();
        let deadline = self.deadline(action.name());
        self.ensure_tab(&action, deadline).await?;
        match self.act(action, facts, viewer, deadline).await {
            Err(error) => Err(self.with_fate(error, deadline).await),
            done => done,
        }
    }

    async fn act(
        &self,
        action: Action,
        facts: Facts,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<Outcome, BrowserError> {
        match action {
            Action::Navigate(navigate) => self.navigate(&navigate, viewer, deadline).await,
            Action::Click(_) => self.click(&decided(facts)?, viewer, deadline).await.map(Outcome::Clicked),
            Action::Type(typing) => {
                self.type_text(&typing, &decided(facts)?, viewer, deadline).await.map(Outcome::Typed)
            }
            Action::Read(read) => self.read_part(&read, viewer, deadline).await.map(Outcome::Read),
            Action::Find(find) => self.find(&find, deadline).await.map(Outcome::Found),
            Action::Screenshot(shot) => self.screenshot(&shot, deadline).await.map(Outcome::Screenshot),
        }
    }

    fn page_url(&self) -> String {
        self.shared.lock().tab.as_ref().map(|tab| tab.url.clone()).unwrap_or_default()
    }

    async fn after(&self, commits: u64, viewer: &Viewer, deadline: Deadline) -> Result<After, BrowserError> {
        let snapshot = self.page_after(viewer, deadline).await?;
        let mut state = self.shared.lock();
        let navigated = state.tab.as_ref().is_some_and(|tab| tab.commits != commits);
        Ok(After {
            url: snapshot.url.clone(),
            title: snapshot.title.clone(),
            navigated,
            snapshot,
            incidents: state.incidents.take(),
        })
    }
}

/// The element that was decided on. An action without one was never resolved, so there is nothing to act on.
fn decided(facts: Facts) -> Result<ElementFacts, BrowserError> {
    facts.target.ok_or_else(|| BrowserError::stale(""))
}

/// Whether an element is still what was decided on; its text and matches may have changed.
fn unchanged(decided: &ElementFacts, now: &ElementFacts) -> Result<(), BrowserError> {
    let what = if decided.element != now.element {
        "another element is in its place"
    } else if decided.origin != now.origin {
        "its site"
    } else if decided.role != now.role || decided.tag != now.tag {
        "its role"
    } else if decided.name != now.name {
        "its name"
    } else if decided.input_type != now.input_type || decided.secret != now.secret {
        "its kind of field"
    } else if decided.href != now.href {
        "where it leads"
    } else if decided.form != now.form {
        "where its form goes"
    } else {
        return Ok(());
    };
    Err(BrowserError::TargetChanged { element: decided.element.clone(), what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{FormFacts, Origin};

    fn button() -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "button".into(),
            name: "Next".into(),
            text: "Next".into(),
            tag: "button".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: None,
            secret: false,
            href: None,
            form: Some(FormFacts { method: "post".into(), action: "http://shop.test/next".into() }),
            matches: 1,
        }
    }

    #[test]
    fn an_element_that_changed_after_the_decision_is_not_acted_on() {
        let other_form = FormFacts { method: "post".into(), action: "http://evil.test/".into() };
        for (now, expected) in [
            (button(), None),
            (ElementFacts { text: "Next (2)".into(), matches: 3, ..button() }, None),
            (ElementFacts { element: "e2".into(), ..button() }, Some("another element is in its place")),
            (ElementFacts { name: "Delete account".into(), ..button() }, Some("its name")),
            (ElementFacts { secret: true, ..button() }, Some("its kind of field")),
            (ElementFacts { href: Some("http://evil.test/".into()), ..button() }, Some("where it leads")),
            (ElementFacts { form: Some(other_form), ..button() }, Some("where its form goes")),
            (ElementFacts { origin: Origin::of("http://evil.test/"), ..button() }, Some("its site")),
        ] {
            let told = match unchanged(&button(), &now) {
                Err(BrowserError::TargetChanged { what, .. }) => Some(what),
                _ => None,
            };
            assert_eq!(told, expected, "{now:?}");
        }
    }
}
