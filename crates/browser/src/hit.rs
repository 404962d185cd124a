//! What a click or text would really reach, told by Chromium, which sees closed shadow roots as no script can.

use crate::{
    aim::Problem,
    ask::LARGEST_ANSWER,
    browser::Browser,
    cdp::{CallError, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    locate::Element,
    page_text::{PageText, Words},
    script::ScriptFunction,
};
use serde::{Deserialize, de::IgnoredAny};
use std::marker::PhantomData;

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
    by: Option<PageText>,
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
        let stale = || BrowserError::stale(&element.reference);
        let covered = || Problem::Covered.of(&element.reference, Some(Words::Ours("another frame")));
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
        let told = self.hand_over(&session, &world, hit, ScriptFunction::CheckHit, &number, deadline).await;
        match told? {
            None => Err(stale()),
            Some(Struck { problem: Some(problem), by }) => {
                Err(problem.of(&element.reference, by.map(Words::Page)))
            }
            Some(Struck { problem: None, .. }) => Ok(()),
        }
    }
    /// Fails if an editor has a closed shadow root: what is inside could take the focus, and the text, for it.
    pub(crate) async fn is_plain_editor(
        &self,
        element: &Element,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let stale = || BrowserError::stale(&element.reference);
        let Some((session, world)) = self.world(&element.frame, deadline).await? else {
            return Err(stale());
        };
        let to = Some(&session);
        let find = p::CallFunction::<_, IgnoredAny> {
            function_declaration: ScriptFunction::FindEditingHost.declaration(),
            unique_context_id: &world.unique,
            arguments: [p::ByValue { value: &element.number }],
            return_by_value: false,
            await_promise: false,
            silent: true,
            largest_reply: LARGEST_ANSWER,
            returns: PhantomData,
        };
        let failed = async |error| Err(self.explain(deadline.error(error)).await);
        let editor = match self.connection.call(to, &find, deadline.at).await {
            Ok(found) => found.result.object_id,
            Err(CallError::Refused { .. }) => None,
            Err(error) => return failed(error).await,
        };
        let Some(object_id) = editor else { return Err(stale()) };
        let node =
            match self.connection.call(to, &p::DescribeNode { object_id: &object_id }, deadline.at).await {
                Ok(described) => described.node,
                Err(CallError::Refused { .. }) => return Err(stale()),
                Err(error) => return failed(error).await,
            };
        if node.shadow_roots.iter().any(|root| root.shadow_root_type == "closed") {
            return Err(Problem::NotEditable.of(&element.reference, None));
        }
        Ok(())
    }
}
