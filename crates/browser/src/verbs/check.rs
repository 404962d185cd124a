//! Setting checkboxes, radio buttons and switches.

use super::{ActionNote, click::repeatable_click};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{InputGesture, MousePress},
    script::ScriptFunction,
    targeting::{Element, Purpose, gone_as},
};
use policy::{Check, ElementFacts, LoadState};
use serde::Deserialize;

#[derive(Deserialize)]
struct CheckboxState {
    checked: Option<String>,
}

impl Browser {
    pub(super) async fn check(
        &self,
        check: &Check,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, target_use) = self.relocate(&check.target, decided, Purpose::Check, deadline).await?;
        self.begin_action();
        let wanted = if check.checked { "true" } else { "false" };
        if self.checked(&element, deadline).await?.as_deref() != Some(wanted) {
            let input = repeatable_click(&element, target_use, Some(decided));
            self.send_guarded(input, InputGesture::Click(MousePress::single()), deadline).await?;
            self.settle(LoadState::Load, deadline).await?;
            let now = match self.checked(&element, deadline).await {
                Err(BrowserError::StaleRef { .. }) => None,
                now => now?,
            };
            if now.is_some_and(|now| now != wanted) {
                return Err(BrowserError::ElementUnchanged { element: element.reference });
            }
        }
        Ok(None)
    }

    /// `None` for an element without a checked state.
    async fn checked(&self, element: &Element, deadline: Deadline) -> Result<Option<String>, BrowserError> {
        let argument = serde_json::json!({ "number": element.number });
        let state: CheckboxState = self
            .call_script(&element.frame, ScriptFunction::ReadChecked, &argument, deadline)
            .await
            .map_err(|error| gone_as(error, element.stale()))?;
        Ok(state.checked)
    }
}
