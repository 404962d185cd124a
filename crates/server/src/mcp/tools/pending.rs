//! `browser_pending`: pending approvals, and the results of decided ones.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::page::{self, PageReply};
use super::{bad_arguments, describe};
use browser::Outcome;
use engine::approvals::{Approval, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalState, unknown};
use engine::error::Fault;
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::SessionId;
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub const NAME: &str = "browser_pending";

/// Some clients give up on a longer call.
const MAX_WAIT_SECONDS: f64 = 45.0;
/// The most decided approvals that are listed.
const MAX_DECIDED: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PendingArguments {
    /// The id behind approval_pending: or session_paused:; all that waits is listed if it is left out
    #[serde(default)]
    pending_id: Option<String>,
    /// Only what this session asked for; of all your sessions if it is left out
    #[serde(default)]
    session_id: Option<String>,
    /// How long to wait for the answer, at most 45; 0 if left out
    #[serde(default)]
    wait_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct PendingReply {
    #[serde(flatten)]
    page: PageReply,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_id: Option<Redacted>,
    /// waiting, approved, denied, expired, interrupted, withdrawn, resumed or ended
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// What an operator tells you
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Redacted>,
    /// What waits, oldest first, and what was decided last
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Vec<PendingEntry>>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
#[schemars(rename = "PendingFields")]
struct PendingEntry {
    pending_id: Redacted,
    session_id: Redacted,
    /// action, domain or guidance
    kind: &'static str,
    /// What is asked for, in a few words
    action: Redacted,
    risk: &'static str,
    state: &'static str,
    asked_at: Redacted,
    seconds_left: u64,
    /// What came of it once it was approved: ok, or the code of an error
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Redacted>,
}

pub fn tool() -> Tool {
    describe::<PendingArguments, PendingReply>(
        NAME,
        "List the requests that wait for approval",
        "List the requests that wait for a person's answer, or return the result of one by its pending_id: the page after it if \
it was approved and done, the error if it was not. It does nothing to the page, and cannot answer for the person.",
        policy::ActionClass::Reads,
    )
}

pub async fn run(call: &Call<'_>, arguments: PendingArguments) -> Result<ToolReply, Fault> {
    let patience = match arguments.wait_seconds {
        None => Duration::ZERO,
        Some(seconds) if (0.0..=MAX_WAIT_SECONDS).contains(&seconds) => Duration::from_secs_f64(seconds),
        Some(_) => return Err(bad_arguments(NAME, &format!("wait_seconds is from 0 to {MAX_WAIT_SECONDS}"))),
    };
    let named = |text: Option<String>| text.filter(|text| !text.is_empty());
    let session = match named(arguments.session_id) {
        Some(session) => Some(call.control.gate.sessions.find(&call.scope, &session)?.id.clone()),
        None => None,
    };
    let Some(wanted) = named(arguments.pending_id) else { return list(call, session.as_ref()).await };
    if let Some(session) = session
        && find(call, &wanted).await?.session != session
    {
        return Err(unknown(&wanted));
    }
    match fetch_result(call, &wanted, patience).await {
        Err(fault) if matches!(fault.code, ErrorCode::ApprovalPending { .. }) => {
            status_reply(find(call, &wanted).await?, None)
        }
        fetched => fetched,
    }
}

async fn find(call: &Call<'_>, wanted: &str) -> Result<Approval, Fault> {
    let id = ApprovalId::parse(wanted).ok_or_else(|| unknown(wanted))?;
    let found = call.control.approvals.find(&id).await?;
    found.filter(|found| found.scope == call.scope).ok_or_else(|| unknown(wanted))
}

/// The result of one approved action, if it is known in time.
pub async fn fetch_result(call: &Call<'_>, wanted: &str, patience: Duration) -> Result<ToolReply, Fault> {
    let found = find(call, wanted).await?;
    if found.kind == ApprovalKind::Guidance {
        return guidance(call, found, patience).await;
    }
    match call.control.gate.pending_actions.find(&call.scope, &found.id) {
        Some(pending) => match pending.result(patience).await {
            Ok(reply) if matches!(reply.outcome, Outcome::Acted(_) | Outcome::Navigated { .. }) => {
                page::render(reply, None, None)
            }
            Ok(_) => status_reply(found, Some("approved; the content is not kept: call the tool again")),
            Err(fault) => Err(fault),
        },
        // From an earlier run of the control plane, or too old to be in memory.
        None if found.outcome.is_none() => {
            status_reply(found, Some("it was not done and will not be: call the tool again"))
        }
        None => status_reply(found, Some("done; the page after it is no longer kept: read the page")),
    }
}

/// Waits for the guidance of a paused session.
async fn guidance(call: &Call<'_>, mut found: Approval, patience: Duration) -> Result<ToolReply, Fault> {
    let approvals = &call.control.approvals;
    let mut changes = approvals.watch();
    let until = tokio::time::Instant::now() + patience;
    while found.state == ApprovalState::Waiting {
        tokio::select! {
            // Any approval may have changed: read this one again.
            _ = changes.recv() => {}
            () = tokio::time::sleep_until(until) => return status_reply(found, None),
        }
        found = approvals.find(&found.id).await?.ok_or_else(|| unknown(found.id.as_str()))?;
    }
    let lifted =
        (found.state == ApprovalState::Expired).then_some("no operator answered: the session continues");
    status_reply(found, lifted)
}

fn status_reply(found: Approval, more: Option<&'static str>) -> Result<ToolReply, Fault> {
    let mut text = redacted!("{} is {}", found.id, found.state.as_str());
    if found.state == ApprovalState::Waiting {
        text.push(redacted!(
            "; {} s left. Call again for the answer; do not try another way",
            seconds_left(&found)
        ));
    }
    let note = found.note.as_ref().map(|note| redacted!("the operator says: {}", note));
    for word in note.into_iter().chain(more.map(Redacted::literal)) {
        text.push(redacted!(". Note: {}", word));
    }
    text.push_literal("\n");
    let page = PageReply {
        session_id: Some(Redacted::from_safe(&found.session)),
        notes: more.map(|more| vec![more.into()]),
        ..PageReply::empty()
    };
    let fields = PendingReply {
        page,
        pending_id: Some(Redacted::from_safe(&found.id)),
        state: Some(found.state.as_str()),
        note: found.note,
        pending: None,
    };
    ToolReply::new(text, &fields)
}

async fn list(call: &Call<'_>, session: Option<&SessionId>) -> Result<ToolReply, Fault> {
    let filter = ApprovalFilter { scope: Some(call.scope.clone()), only_waiting: false };
    let mut all = call.control.approvals.list(&filter).await?;
    all.retain(|one| session.is_none_or(|session| one.session == *session));
    let waiting = all.iter().take_while(|one| one.state == ApprovalState::Waiting).count();
    let listed: Vec<PendingEntry> = all.into_iter().take(waiting + MAX_DECIDED).map(entry_of).collect();
    let mut text = redacted!("{} approval requests wait for a person.\n", waiting);
    for one in &listed {
        let (left, state) = (one.seconds_left, one.state);
        text.push(redacted!(
            "{} {} {} risk: {}, {} s left\n",
            one.pending_id,
            one.action,
            one.risk,
            state,
            left
        ));
    }
    let fields = PendingReply {
        page: PageReply::empty(),
        pending_id: None,
        state: None,
        note: None,
        pending: Some(listed),
    };
    ToolReply::new(text, &fields)
}

fn entry_of(one: Approval) -> PendingEntry {
    PendingEntry {
        seconds_left: seconds_left(&one),
        pending_id: Redacted::from_safe(&one.id),
        session_id: Redacted::from_safe(&one.session),
        kind: one.kind.as_str(),
        action: one.card.action,
        risk: one.card.risk.as_str(),
        state: one.state.as_str(),
        asked_at: Redacted::from_safe(one.asked_at),
        outcome: one.outcome,
    }
}

fn seconds_left(one: &Approval) -> u64 {
    if one.state != ApprovalState::Waiting {
        return 0;
    }
    u64::try_from(one.expires_at.duration_since(Timestamp::now()).as_secs()).unwrap_or_default()
}
