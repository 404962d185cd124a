//! What every tool that acts on a page takes besides, and how it goes through the gate.

use super::super::answer::Answer;
use super::super::server::Call;
use super::page::{self, Picture};
use super::{bad_arguments, target, timeout};
use engine::error::Fault;
use engine::session::RecordMode;
use policy::{Action, Screenshot};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ActionArguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// Return all of the page, not only what the action changed
    #[serde(default)]
    full: bool,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
    /// Also take a picture afterwards; after_screenshot in the reply is its screenshot_id. Costs one more call
    #[serde(default)]
    after_screenshot: bool,
    /// Whether to wait for a person's answer where one is asked (default). With false the call fails at once with the
    /// code approval_pending:ID; browser_pending fetches what came of it
    #[serde(default)]
    wait: Option<bool>,
}

/// What is left for reading the page after a wait by the clock, in seconds.
const AFTER_A_WAIT: f64 = 10.0;

impl ActionArguments {
    /// For an action that takes a known time: the limit is longer, whatever is usual.
    pub fn leave_room_for(&mut self, tool: &str, seconds: f64) -> Result<(), Fault> {
        let limit = *self.timeout_seconds.get_or_insert(seconds + AFTER_A_WAIT);
        if limit > seconds {
            Ok(())
        } else {
            Err(bad_arguments(tool, "timeout_seconds has to be longer than seconds"))
        }
    }
}

/// One action, and the page after it.
pub async fn perform(
    call: &Call<'_>,
    tool: &str,
    asked: ActionArguments,
    action: Action,
) -> Result<Answer, Fault> {
    let timeout = timeout(tool, asked.timeout_seconds)?;
    let index = action.target().and_then(target::index);
    let session = call.session(asked.session_id).await?;
    let patience = if asked.wait == Some(false) { Duration::ZERO } else { call.patience };
    let mut reply = call.act_within(&session, action, timeout, asked.full, patience).await?;
    let picture =
        if asked.after_screenshot { Some(picture(call, reply.session.id.as_str()).await) } else { None };
    reply.actions_left = reply.session.actions_left();
    page::answer(reply, picture, index)
}

/// An action of its own, decided and recorded as any other. The one before it is done, so its failure is a note.
async fn picture(call: &Call<'_>, session: &str) -> Picture {
    let shot = Screenshot { format: call.control.screenshot_format, ..Screenshot::default() };
    match call.act(session, Action::Screenshot(shot), None, false).await {
        Ok(reply) => match reply.image {
            Some(stored) => Picture::Kept(stored.id),
            None if reply.session.record == RecordMode::Off => Picture::NotKept,
            None => Picture::NotCovered,
        },
        Err(fault) => Picture::Failed(fault),
    }
}
