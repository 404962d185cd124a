//! Hit tests by Chromium: what a click or text would really reach, including closed shadow roots that no script sees.

use super::{actionability::TargetProblem, locate::Element};
use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    page::MAX_SCRIPT_REPLY,
    script::ScriptFunction,
    state::parse_ref,
    text::AttributedText,
};
use serde::{Deserialize, de::IgnoredAny};
use std::marker::PhantomData;

/// A point of a frame's viewport, and how far that viewport is scrolled.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct ViewportPoint {
    pub x: f64,
    pub y: f64,
    left: f64,
    top: f64,
}

/// Without a problem, the hit is right.
#[derive(Deserialize)]
struct HitTestReply {
    problem: Option<TargetProblem>,
    by: Option<String>,
}

impl Browser {
    /// Fails unless a click at the point hits the element with the ref `reached`.
    ///
    /// The point is in the outermost frame of the element's CDP session.
    pub(super) async fn verify_hit(
        &self,
        element: &Element,
        reached: &str,
        point: ViewportPoint,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let stale = || BrowserError::stale(&element.reference);
        let covered = || {
            TargetProblem::Covered
                .into_error(&element.reference, Some(AttributedText::Driver("another frame")))
        };
        let (_, number) = parse_ref(reached).ok_or_else(stale)?;
        let Some((session, world)) = self.script_world(&element.frame, deadline).await? else {
            return Err(stale());
        };
        // A cast of a float saturates; a point off the page hits nothing.
        let (x, y) = ((point.x + point.left).floor() as i64, (point.y + point.top).floor() as i64);
        let hit =
            match self.connection.call(Some(&session), &p::GetNodeForLocation { x, y }, deadline.at).await {
                Ok(hit) if hit.frame_id == element.frame => hit.backend_node_id,
                Ok(_) => return Err(covered()),
                Err(CallError::Refused { .. }) => {
                    return Err(TargetProblem::Invisible.into_error(&element.reference, None));
                }
                Err(error) => return Err(self.with_crash_status(deadline.error(error)).await),
            };
        let reply = self
            .call_script_with_node(&session, &world, hit, ScriptFunction::CheckHit, &number, deadline)
            .await;
        match reply? {
            None => Err(stale()),
            Some(HitTestReply { problem: Some(problem), by }) => {
                Err(problem.into_error(&element.reference, self.covering_text(by)))
            }
            Some(HitTestReply { problem: None, .. }) => Ok(()),
        }
    }

    /// Fails if an editor has a closed shadow root: an element inside could take the focus, and the text.
    pub(crate) async fn reject_editor_with_closed_root(
        &self,
        element: &Element,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let stale = || BrowserError::stale(&element.reference);
        let Some((session, world)) = self.script_world(&element.frame, deadline).await? else {
            return Err(stale());
        };
        let to = Some(&session);
        let limits = self.text_cutter().script_limits();
        let find = p::CallFunction::<_, IgnoredAny> {
            function_declaration: ScriptFunction::FindEditingHost.declaration(),
            unique_context_id: &world.unique,
            arguments: (p::ByValue { value: &limits }, p::ByValue { value: &element.number }),
            return_by_value: false,
            await_promise: false,
            silent: true,
            max_reply: MAX_SCRIPT_REPLY,
            returns: PhantomData,
        };
        let failed = async |error| Err(self.with_crash_status(deadline.error(error)).await);
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
            return Err(TargetProblem::NotEditable.into_error(&element.reference, None));
        }
        Ok(())
    }
}
