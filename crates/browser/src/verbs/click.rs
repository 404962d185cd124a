//! Clicking: real mouse events on the permitted element.

use super::ActionNote;
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{GuardedInput, InputGesture, InputKind, MousePress},
    targeting::{Element, Purpose, TargetUse},
};
use policy::{Click, ElementFacts, LoadState};

impl Browser {
    pub(super) async fn click(
        &self,
        click: &Click,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, target_use) = self.relocate(&click.target, decided, Purpose::Click, deadline).await?;
        self.begin_action();
        let press = MousePress { button: click.button, count: click.count, modifiers: click.modifiers };
        let repeatable = click.count == 1;
        let input = GuardedInput {
            element: &element,
            target_use,
            kind: InputKind::Mouse,
            decided: Some(decided),
            repeatable,
            drop: None,
        };
        self.send_guarded(input, InputGesture::Click(press), deadline).await?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }
}

/// A guarded click that may be sent again when the guard blocked it.
pub(super) fn repeatable_click<'a>(
    element: &'a Element,
    target_use: TargetUse,
    decided: Option<&'a ElementFacts>,
) -> GuardedInput<'a> {
    GuardedInput { element, target_use, kind: InputKind::Mouse, decided, repeatable: true, drop: None }
}
