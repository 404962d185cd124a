//! Hovering and dragging.

use super::ActionNote;
use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    input::{GuardedInput, InputGesture, InputKind},
    targeting::{ActionabilityCheck, Purpose, check_unchanged_visibly},
};
use policy::{Drag, ElementFacts, Hover, LoadState};

impl Browser {
    pub(super) async fn hover(
        &self,
        hover: &Hover,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, target_use) = self.relocate(&hover.target, decided, Purpose::Hover, deadline).await?;
        self.begin_action();
        let input = GuardedInput {
            element: &element,
            target_use,
            kind: InputKind::Mouse,
            decided: Some(decided),
            repeatable: false,
            drop: None,
        };
        self.send_guarded(input, InputGesture::Move, deadline).await?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    /// Presses on one element, moves to another and releases there.
    pub(super) async fn drag(
        &self,
        drag: &Drag,
        from: &ElementFacts,
        to: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, target_use) = self.relocate(&drag.from, from, Purpose::Drag, deadline).await?;
        let (target, drop_use) = self.relocate(&drag.to, to, Purpose::Drop, deadline).await?;
        let end = self
            .wait_actionable(
                &target,
                ActionabilityCheck { target_use: drop_use, steady: false, arm: None },
                deadline,
            )
            .await?;
        check_unchanged_visibly(to, &end.facts)?;
        self.begin_action();
        let input = GuardedInput {
            element: &element,
            target_use,
            kind: InputKind::Mouse,
            decided: Some(from),
            repeatable: false,
            drop: Some(&target),
        };
        self.call_tab(&p::InterceptDrags { enabled: true }, deadline).await?;
        let dragged = self.send_guarded(input, InputGesture::Drag(&end), deadline).await;
        self.call_tab(&p::InterceptDrags { enabled: false }, deadline).await?;
        dragged?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }
}
