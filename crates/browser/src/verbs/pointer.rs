//! Hovering and dragging.

use super::{ActionNote, check_unchanged_visibly};
use crate::{
    aim::{Aim, Looking, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
};
use policy::{Drag, ElementFacts, Hover, LoadState};

/// Mouse moves between two points: pages observe more than the ends.
const STEPS: u32 = 5;
/// Pixels that the pressed mouse moves to start a drag.
const NUDGE: f64 = 8.0;

impl Browser {
    pub(super) async fn hover(
        &self,
        hover: &Hover,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, how) = self.relocate(&hover.target, decided, Purpose::Hover, deadline).await?;
        self.begin_action();
        let shot = Shot {
            element: &element,
            how,
            input: Input::Mouse,
            decided: Some(decided),
            repeatable: false,
            drop: None,
        };
        self.guarded(shot, Hand::Move, deadline).await?;
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
        let (element, how) = self.relocate(&drag.from, from, Purpose::Drag, deadline).await?;
        let (target, target_how) = self.relocate(&drag.to, to, Purpose::Drop, deadline).await?;
        let end = self.aim(&target, Looking { how: target_how, steady: false, arm: None }, deadline).await?;
        check_unchanged_visibly(to, &end.facts)?;
        self.begin_action();
        let shot = Shot {
            element: &element,
            how,
            input: Input::Mouse,
            decided: Some(from),
            repeatable: false,
            drop: Some(&target),
        };
        self.call_tab(&p::InterceptDrags { enabled: true }, deadline).await?;
        let dragged = self.guarded(shot, Hand::Carry(&end), deadline).await;
        self.call_tab(&p::InterceptDrags { enabled: false }, deadline).await?;
        dragged?;
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    pub(crate) async fn carry(&self, start: &Aim, end: &Aim, deadline: Deadline) -> Result<(), BrowserError> {
        self.shared.lock().dragged = None;
        self.mouse("mouseMoved", start.x, start.y, false, deadline).await?;
        self.mouse("mousePressed", start.x, start.y, true, deadline).await?;
        self.mouse("mouseMoved", start.x + NUDGE, start.y + NUDGE, true, deadline).await?;
        for step in 1..=STEPS {
            let part = f64::from(step) / f64::from(STEPS);
            let (x, y) = (start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part);
            self.drag_to(x, y, deadline).await?;
        }
        let carried = self.shared.lock().dragged.take();
        if let Some(data) = carried {
            let event = p::DispatchDrag { r#type: "drop", x: end.x, y: end.y, data: &data, modifiers: 0 };
            self.call_tab(&event, deadline).await?;
        }
        self.mouse("mouseReleased", end.x, end.y, true, deadline).await
    }

    /// One mouse move of a drag: through the page's own code, or as a drag event once Chromium has started a drag.
    async fn drag_to(&self, x: f64, y: f64, deadline: Deadline) -> Result<(), BrowserError> {
        let carried = self.shared.lock().dragged.clone();
        let Some(data) = carried else { return self.mouse("mouseMoved", x, y, true, deadline).await };
        let event = |r#type| p::DispatchDrag { r#type, x, y, data: &data, modifiers: 0 };
        self.call_tab(&event("dragEnter"), deadline).await?;
        self.call_tab(&event("dragOver"), deadline).await?;
        Ok(())
    }

    pub(crate) async fn mouse(
        &self,
        r#type: &'static str,
        x: f64,
        y: f64,
        pressed: bool,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let (button, count) = if pressed { ("left", 1) } else { ("none", 0) };
        let buttons = u32::from(pressed && r#type != "mouseReleased");
        let event = p::DispatchMouse { r#type, x, y, button, buttons, click_count: count, modifiers: 0 };
        self.call_tab(&event, deadline).await.map(|_| ())
    }
}
