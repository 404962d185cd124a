//! Scrolling: the page, a part of it, or until an element is in view.

use super::Told;
use crate::{
    aim::{How, Looking, Purpose, gone_is},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    locate::Element,
    script::ScriptFunction,
};
use policy::{Direction, Distance, ElementFacts, LoadState, Scroll};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What stays in view when a page is turned: a tenth.
const KEPT_IN_VIEW: f64 = 0.1;

/// How long a page may take to scroll because of a key.
const SCROLLING: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Serialize)]
struct Scroller {
    /// An element in what scrolls; none for the page.
    number: Option<u64>,
    across: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Position {
    at: f64,
    most: f64,
    /// What is in view.
    page: f64,
    /// Where the wheel turns it.
    x: f64,
    y: f64,
}

impl Browser {
    pub(super) async fn scroll(
        &self,
        scroll: &Scroll,
        decided: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<Told, BrowserError> {
        self.start();
        let element = decided.map(|decided| self.element(&decided.element)).transpose()?;
        let purpose = if matches!(scroll, Scroll::To(_)) { Purpose::Scroll } else { Purpose::Wheel };
        let how = How { purpose, spot: None };
        let looking = Looking { how, steady: false, arm: None };
        let aim = match &element {
            Some(element) => Some(self.aim(element, looking, deadline).await?),
            None => None,
        };
        let told = match scroll {
            Scroll::To(_) => None,
            Scroll::By { direction, distance, .. } => {
                let point = aim.map(|aim| (aim.x, aim.y));
                Some(self.turn_wheel(element.as_ref(), point, *direction, *distance, deadline).await?)
            }
        };
        self.settle(LoadState::Load, deadline).await?;
        Ok(told)
    }

    /// Turns the wheel over a point, and tells how far that went.
    async fn turn_wheel(
        &self,
        element: Option<&Element>,
        point: Option<(f64, f64)>,
        direction: Direction,
        distance: Distance,
        deadline: Deadline,
    ) -> Result<String, BrowserError> {
        let across = matches!(direction, Direction::Left | Direction::Right);
        let back = matches!(direction, Direction::Up | Direction::Left);
        let scroller = Scroller { number: element.map(|element| element.number), across };
        let before = self.position(ScriptFunction::StartScroll, element, scroller, deadline).await?;
        let way = match distance {
            Distance::Page => before.page * (1.0 - KEPT_IN_VIEW),
            Distance::Pixels(pixels) => f64::from(pixels),
            Distance::End => before.most,
        };
        let delta = if back { -way } else { way };
        let (x, y) = point.unwrap_or((before.x, before.y));
        let (delta_x, delta_y) = if across { (delta, 0.0) } else { (0.0, delta) };
        self.call_tab(&p::TurnWheel { r#type: "mouseWheel", x, y, delta_x, delta_y }, deadline).await?;
        let after = self.position(ScriptFunction::WaitForScrollEnd, element, scroller, deadline).await?;
        let moved = (after.at - before.at).abs();
        let rest = if back { after.at } else { after.most - after.at };
        Ok(match (moved >= 1.0, rest >= 1.0) {
            (true, true) => format!("scrolled {moved} pixels; {rest} more are left that way"),
            (true, false) => format!("scrolled {moved} pixels, to the end"),
            (false, true) => "nothing scrolled: the page does not let itself be scrolled there".to_owned(),
            (false, false) => "nothing scrolled: it is at its end already".to_owned(),
        })
    }

    /// Waits until the page has come to rest after a key that may have set it scrolling.
    pub(super) async fn scrolling_ends(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let scroller = Scroller { number: None, across: false };
        match self
            .position(ScriptFunction::WaitForScrollEnd, None, scroller, deadline.within(SCROLLING))
            .await
        {
            // The page went, or is busy; what follows finds out which.
            Ok(_) | Err(BrowserError::TabClosed | BrowserError::Timeout { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn position(
        &self,
        question: ScriptFunction,
        element: Option<&Element>,
        scroller: Scroller,
        deadline: Deadline,
    ) -> Result<Position, BrowserError> {
        let main = self.shared.lock().tab.as_ref().map(|tab| tab.target.to_string());
        let frame = element.map(|element| element.frame.clone()).or(main).ok_or(BrowserError::TabClosed)?;
        let position = self.ask(&frame, question, &scroller, deadline).await;
        position.map_err(|error| gone_is(error, element.map_or(BrowserError::TabClosed, Element::stale)))
    }
}
