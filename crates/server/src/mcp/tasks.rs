//! The Tasks extension: a call that waits for a person becomes a task, for clients that declare it.
//!
//! The id of a task is that of its approval, which is useless to another scope.

use super::server::Call;
use super::tool_reply;
use super::tools;
use engine::approvals::{Approval, ApprovalId, ApprovalState, unknown};
use engine::error::Fault;
use error_code::ErrorCode;
use jiff::Timestamp;
use rmcp::RoleServer;
use rmcp::model::{CreateTaskResult, DetailedTask, ErrorData, JsonObject, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use std::time::Duration;

/// How often a client should ask.
const POLL_INTERVAL_MS: u64 = 1_000;

/// Whether the client of this request takes tasks.
pub fn are_declared(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|can| can.supports_tasks())
}

/// The reply that makes a waiting call a task.
pub fn created(approval: &Approval) -> CreateTaskResult {
    CreateTaskResult::new(describe(approval))
}

/// The state of a task: the result of its call once there is one.
pub async fn get(call: &Call<'_>, id: &str) -> Result<DetailedTask, ErrorData> {
    let approval = find(call, id).await?;
    // The call of a withdrawn request may still be ending.
    if approval.state == ApprovalState::Withdrawn {
        return Ok(DetailedTask::new(describe(&approval), TaskPayload::Cancelled));
    }
    let payload = match tools::fetch_result(call, id, Duration::ZERO).await {
        Err(fault) if matches!(fault.code, ErrorCode::ApprovalPending { .. }) => TaskPayload::Working,
        reply => {
            let result = serde_json::to_value(tool_reply::into_call_result(reply));
            let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            let serde_json::Value::Object(result) = result else {
                return Err(ErrorData::internal_error("a result that is no object", None));
            };
            TaskPayload::Completed { result: JsonObject::from_iter(result) }
        }
    };
    Ok(DetailedTask::new(describe(&approval), payload))
}

/// Withdraws the approval of a task. One that was answered stays answered.
pub async fn cancel(call: &Call<'_>, id: &str) -> Result<(), ErrorData> {
    let approval = find(call, id).await?;
    call.control.approvals.withdraw(&approval.id).await.map_err(|fault| error(&fault))
}

async fn find(call: &Call<'_>, id: &str) -> Result<Approval, ErrorData> {
    let known = async {
        let wanted = ApprovalId::parse(id).ok_or_else(|| unknown(id))?;
        let found = call.control.approvals.find(&wanted).await?;
        found.filter(|found| found.scope == call.scope).ok_or_else(|| unknown(id))
    };
    known.await.map_err(|fault: Fault| error(&fault))
}

fn error(fault: &Fault) -> ErrorData {
    ErrorData::invalid_params(format!("{}: {}", fault.code, fault.message), serde_json::to_value(fault).ok())
}

fn describe(approval: &Approval) -> Task {
    let updated = approval.decided_at.unwrap_or(approval.asked_at);
    let left = approval.expires_at.duration_since(Timestamp::now()).as_secs().max(0);
    let message = match approval.state {
        ApprovalState::Waiting => format!("waiting for approval ({left} s left)"),
        state => format!("the request is {}", state.as_str()),
    };
    Task::new(approval.id.as_str(), TaskStatus::Working, approval.asked_at.to_string(), updated.to_string())
        .with_status_message(message)
        .with_poll_interval_ms(POLL_INTERVAL_MS)
}
