//! Typing: into the field that was decided on, and only while it has the focus.

use super::{After, Viewer, unchanged};
use crate::{
    ask::AskError,
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::Input,
    locate::{Element, Problem, Purpose},
    page_text::{PageText, Words},
};
use policy::{ElementFacts, LoadState, TypeText};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Typing<'a> {
    number: u64,
    text: &'a str,
    /// Whether the text replaces what is there.
    all: bool,
}

#[derive(Serialize)]
struct Focus {
    number: u64,
}

/// It was done, unless a problem is told.
#[derive(Deserialize)]
struct Done {
    problem: Option<Problem>,
    by: Option<PageText>,
}

impl Browser {
    pub(super) async fn type_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<After, BrowserError> {
        let element = self.element(&decided.element)?;
        let aim = self.aim(&element, Purpose::Type, deadline).await?;
        unchanged(decided, &aim.facts)?;
        if !matches!(decided.tag.as_str(), "input" | "textarea") {
            self.is_plain_editor(&element, deadline).await?;
        }
        let commits = self.start();
        let typed = Typing { number: element.number, text: &typing.text, all: typing.clear_first };
        self.in_field(&element, "typeInto", &typed, deadline).await?;
        if typing.submit {
            self.in_field(&element, "focusField", &Focus { number: element.number }, deadline).await?;
            let enter = self.press("Enter", 13, "\r", deadline);
            self.guarded(&element, Input::Keys, deadline, enter).await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        self.after(commits, viewer, deadline).await
    }

    async fn in_field<A: Serialize>(
        &self,
        element: &Element,
        function: &str,
        argument: &A,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        match self.ask(&element.frame, function, argument, deadline).await {
            Ok(Done { problem: None, .. }) => Ok(()),
            Ok(Done { problem: Some(problem), by }) => {
                Err(problem.of(&element.reference, by.map(Words::Page)))
            }
            Err(AskError::Gone) => Err(BrowserError::stale(&element.reference)),
            Err(AskError::Failed(error)) => Err(error),
        }
    }

    async fn press(
        &self,
        key: &str,
        windows_virtual_key_code: u32,
        text: &str,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let event = |r#type, text| p::DispatchKey { r#type, key, code: key, windows_virtual_key_code, text };
        let (down, up) = (event("keyDown", Some(text)), event("keyUp", None));
        tokio::try_join!(self.call_tab(&down, deadline), self.call_tab(&up, deadline))?;
        Ok(())
    }
}
