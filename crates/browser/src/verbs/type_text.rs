//! Typing: into the field that was decided on, and only while it has the focus.

use super::{After, unchanged};
use crate::{
    ask::AskError,
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    locate::{Element, Problem, Purpose},
};
use policy::{ElementFacts, LoadState, TypeText};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Focus {
    number: u64,
    all: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Focused {
    Problem { problem: Problem, by: Option<String> },
    Ready { empty: bool },
}

impl Browser {
    pub(super) async fn type_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<After, BrowserError> {
        let element = self.element(&decided.element)?;
        let aim = self.aim(&element, Purpose::Type, deadline).await?;
        unchanged(decided, &aim.facts)?;
        let commits = self.start();
        let empty = self.focus(&element, typing.clear_first, deadline).await?;
        if typing.clear_first && !empty {
            self.press("Delete", 46, None, deadline).await?;
            // Clearing runs the page's own code, which may move the focus.
            self.focus(&element, false, deadline).await?;
        }
        if !typing.text.is_empty() {
            self.call_tab(&p::InsertText { text: &typing.text }, deadline).await?;
        }
        if typing.submit {
            self.focus(&element, false, deadline).await?;
            self.press("Enter", 13, Some("\r"), deadline).await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        self.after(commits, deadline).await
    }

    async fn focus(&self, element: &Element, all: bool, deadline: Deadline) -> Result<bool, BrowserError> {
        let focus = Focus { number: element.number, all };
        match self.ask(&element.frame, "focusField", &focus, deadline).await {
            Ok(Focused::Ready { empty }) => Ok(empty),
            Ok(Focused::Problem { problem, by }) => Err(problem.of(&element.reference, by)),
            Err(AskError::Gone) => Err(BrowserError::StaleRef { reference: element.reference.clone() }),
            Err(AskError::Failed(error)) => Err(error),
        }
    }

    async fn press(
        &self,
        key: &str,
        windows_virtual_key_code: u32,
        text: Option<&str>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let event = |r#type, text| p::DispatchKey { r#type, key, code: key, windows_virtual_key_code, text };
        let down = event(if text.is_some() { "keyDown" } else { "rawKeyDown" }, text);
        let up = event("keyUp", None);
        tokio::try_join!(self.call_tab(&down, deadline), self.call_tab(&up, deadline))?;
        Ok(())
    }
}
