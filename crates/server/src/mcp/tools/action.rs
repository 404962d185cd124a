//! Arguments that all acting tools share, and how an action runs through the gate.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::page::{self, AfterScreenshot};
use super::{bad_arguments, target, timeout};
use engine::error::Fault;
use engine::session::RecordMode;
use policy::{Action, Screenshot};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;
use vault::Host;

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
    /// Also take a screenshot afterwards; after_screenshot in the reply is its screenshot_id. Costs one more action
    #[serde(default)]
    after_screenshot: bool,
    /// Whether to wait for a person's answer where one is asked (default). With false the call fails at once with the
    /// code approval_pending:ID; browser_pending returns the result
    #[serde(default)]
    wait: Option<bool>,
}

/// Seconds left for reading the page after a timed wait.
const READ_SECONDS_AFTER_WAIT: f64 = 10.0;

impl ActionArguments {
    /// Extends the default time limit for an action that takes a known time.
    pub fn leave_room_for(&mut self, tool: &str, seconds: f64) -> Result<(), Fault> {
        let limit = *self.timeout_seconds.get_or_insert(seconds + READ_SECONDS_AFTER_WAIT);
        if limit > seconds {
            Ok(())
        } else {
            Err(bad_arguments(tool, "timeout_seconds has to be longer than seconds"))
        }
    }
}

/// Runs one action and renders the page after it.
pub async fn perform(
    call: &Call<'_>,
    tool: &str,
    asked: ActionArguments,
    action: Action,
) -> Result<ToolReply, Fault> {
    perform_at(call, tool, asked, action, None).await
}

/// The same for an action that goes to a host: see [`Call::session_for_host`].
pub async fn perform_at(
    call: &Call<'_>,
    tool: &str,
    asked: ActionArguments,
    action: Action,
    host: Option<&Host>,
) -> Result<ToolReply, Fault> {
    let timeout = timeout(tool, asked.timeout_seconds)?;
    let index = action.target().and_then(target::index);
    let session = call.session_for_host(asked.session_id, host).await?;
    let patience = if asked.wait == Some(false) { Duration::ZERO } else { call.patience };
    let mut reply = call.act_within(&session, action, timeout, asked.full, patience).await?;
    let picture =
        if asked.after_screenshot { Some(picture(call, reply.session.id.as_str()).await) } else { None };
    reply.actions_left = reply.session.actions_left();
    page::render(reply, picture, index)
}

/// Takes the screenshot as an action of its own, decided and recorded like any other. The action before it is done, so
/// a failure becomes a note.
async fn picture(call: &Call<'_>, session: &str) -> AfterScreenshot {
    let shot = Screenshot { format: call.control.screenshot_format, ..Screenshot::default() };
    match call.act(session, Action::Screenshot(shot), None, false).await {
        Ok(reply) => match reply.image {
            Some(stored) => AfterScreenshot::Kept(stored.id),
            None if reply.session.record == RecordMode::Off => AfterScreenshot::NotKept,
            None => AfterScreenshot::NotCovered,
        },
        Err(fault) => AfterScreenshot::Failed(fault),
    }
}
