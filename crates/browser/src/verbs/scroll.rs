//! Scrolling: the page, a part of it, or to an element.

use super::ActionNote;
use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    script::ScriptFunction,
    targeting::{ActionabilityCheck, Element, Purpose, TargetUse, gone_as},
};
use policy::{Direction, Distance, ElementFacts, LoadState, Scroll};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Fraction of the view that stays visible when scrolling by a page.
const PAGE_OVERLAP: f64 = 0.1;

/// Time limit for a page to finish scrolling after a key.
const SCROLL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Serialize)]
struct ScrollRequest {
    /// An element in the scroll container; none for the page.
    number: Option<u64>,
    #[serde(rename = "across")]
    horizontal: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Position {
    at: f64,
    most: f64,
    /// Length of the visible part.
    page: f64,
    /// Point for the wheel event.
    x: f64,
    y: f64,
}

impl Browser {
    pub(super) async fn scroll(
        &self,
        scroll: &Scroll,
        decided: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        self.begin_action();
        let element = decided.map(|decided| self.element(&decided.element)).transpose()?;
        let purpose = if matches!(scroll, Scroll::To(_)) { Purpose::Scroll } else { Purpose::Wheel };
        let target_use = TargetUse { purpose, point: None };
        let check = ActionabilityCheck { target_use, steady: false, arm: None };
        let actionable = match &element {
            Some(element) => Some(self.wait_actionable(element, check, deadline).await?),
            None => None,
        };
        let note = match scroll {
            Scroll::To(_) => None,
            Scroll::By { direction, distance, .. } => {
                let point = actionable.map(|actionable| (actionable.x, actionable.y));
                Some(self.turn_wheel(element.as_ref(), point, *direction, *distance, deadline).await?)
            }
        };
        self.settle(LoadState::Load, deadline).await?;
        Ok(note)
    }

    /// Turns the wheel at a point, and reports the distance scrolled.
    async fn turn_wheel(
        &self,
        element: Option<&Element>,
        point: Option<(f64, f64)>,
        direction: Direction,
        distance: Distance,
        deadline: Deadline,
    ) -> Result<String, BrowserError> {
        let horizontal = matches!(direction, Direction::Left | Direction::Right);
        let back = matches!(direction, Direction::Up | Direction::Left);
        let request = ScrollRequest { number: element.map(|element| element.number), horizontal };
        let before = self.position(ScriptFunction::StartScroll, element, request, deadline).await?;
        let length = match distance {
            Distance::Page => before.page * (1.0 - PAGE_OVERLAP),
            Distance::Pixels(pixels) => f64::from(pixels),
            Distance::End => before.most,
        };
        let delta = if back { -length } else { length };
        let (x, y) = point.unwrap_or((before.x, before.y));
        let (delta_x, delta_y) = if horizontal { (delta, 0.0) } else { (0.0, delta) };
        self.call_tab(&p::TurnWheel { r#type: "mouseWheel", x, y, delta_x, delta_y }, deadline).await?;
        let after = self.position(ScriptFunction::WaitForScrollEnd, element, request, deadline).await?;
        let moved = (after.at - before.at).abs();
        let rest = if back { after.at } else { after.most - after.at };
        Ok(match (moved >= 1.0, rest >= 1.0) {
            (true, true) => format!("scrolled {moved} pixels; {rest} more are left that way"),
            (true, false) => format!("scrolled {moved} pixels, to the end"),
            (false, true) => {
                "nothing scrolled: this part of the page cannot scroll in that direction".to_owned()
            }
            (false, false) => "nothing scrolled: it is at its end already".to_owned(),
        })
    }

    /// Waits until scrolling has ended after a key that may have started it.
    pub(super) async fn wait_for_scrolling(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let request = ScrollRequest { number: None, horizontal: false };
        match self
            .position(ScriptFunction::WaitForScrollEnd, None, request, deadline.within(SCROLL_TIMEOUT))
            .await
        {
            // The page is gone or busy; what follows finds out which.
            Ok(_) | Err(BrowserError::TabClosed | BrowserError::Timeout { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn position(
        &self,
        function: ScriptFunction,
        element: Option<&Element>,
        request: ScrollRequest,
        deadline: Deadline,
    ) -> Result<Position, BrowserError> {
        let main = self.shared.lock().tab.as_ref().map(|tab| tab.target.to_string());
        let frame = element.map(|element| element.frame.clone()).or(main).ok_or(BrowserError::TabClosed)?;
        let position = self.call_script(&frame, function, &request, deadline).await;
        position.map_err(|error| gone_as(error, element.map_or(BrowserError::TabClosed, Element::stale)))
    }
}
