//! What a click would really hit, told by Chromium, which sees into closed shadow roots as no script can.

use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    locate::{Element, Problem},
};
use serde::Deserialize;

/// A point of a frame's viewport, and how far that viewport is scrolled.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    left: f64,
    top: f64,
}

/// Nothing is wrong, unless a problem is told.
#[derive(Deserialize)]
struct Struck {
    problem: Option<Problem>,
    by: Option<String>,
}

impl Browser {
    /// Fails unless a click at the point hits the element whose facts were told, `reached`.
    ///
    /// The point is one of the outermost frame that the element's session speaks for.
    pub(crate) async fn strikes(
        &self,
        element: &Element,
        reached: &str,
        point: Point,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let stale = || BrowserError::StaleRef { reference: element.reference.clone() };
        let covered = || Problem::Covered.of(&element.reference, Some("another frame".to_owned()));
        let (_, number) = parse_ref(reached).ok_or_else(stale)?;
        let Some((session, world)) = self.world(&element.frame, deadline).await? else {
            return Err(stale());
        };
        // A cast of a float saturates; what is off the page hits nothing.
        let (x, y) = ((point.x + point.left).floor() as i64, (point.y + point.top).floor() as i64);
        let hit =
            match self.connection.call(Some(&session), &p::GetNodeForLocation { x, y }, deadline.at).await {
                Ok(hit) if hit.frame_id == element.frame => hit.backend_node_id,
                Ok(_) => return Err(covered()),
                Err(CallError::Refused { .. }) => {
                    return Err(Problem::Invisible.of(&element.reference, None));
                }
                Err(error) => return Err(self.explain(deadline.error(error)).await),
            };
        let told = self.hand_over(&session, &world, hit, "struck", &number, deadline).await;
        match told? {
            None => Err(stale()),
            Some(Struck { problem: Some(problem), by }) => Err(problem.of(&element.reference, by)),
            Some(Struck { problem: None, .. }) => Ok(()),
        }
    }
}
