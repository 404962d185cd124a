//! URL-mode elicitation: sends the person at a client to the approval's page in the console.
//!
//! The address carries no authority: opening it still requires an operator's login. The client's response only says
//! whether it was opened, and decides nothing.

use engine::approvals::{Approval, ApprovalStore};
use rmcp::RoleServer;
use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest, InputRequiredResult};
use rmcp::service::{ElicitationMode, RequestContext};

/// From this revision on, a server elicits by its reply and not by a request of its own.
const REPLY_ELICITATION_SINCE: &str = "2026-07-28";
/// The key of the request in such a reply.
const APPROVAL_REQUEST_KEY: &str = "approval";

/// For clients of the 2025 revisions: sends a request while the call goes on waiting.
pub fn elicit(context: &RequestContext<RoleServer>, approvals: &ApprovalStore, approval: &Approval) {
    let peer = context.peer.clone();
    let Some(url) = approvals.page_url(&approval.id) else { return };
    if uses_reply_elicitation(context) || !peer.supported_elicitation_modes().contains(&ElicitationMode::Url)
    {
        return;
    }
    let patience = approval.expires_at.duration_since(approval.asked_at).unsigned_abs();
    let (id, message) = (approval.id.to_string(), message(approval));
    tokio::spawn(async move {
        let elicited = peer.elicit_url_with_timeout(message, url, id.clone(), Some(patience)).await;
        match elicited {
            Ok(action) => tracing::debug!(approval = id, ?action, "a client was led to a question"),
            Err(error) => tracing::debug!(approval = id, %error, "a client was not led to a question"),
        }
    });
}

/// Whether this call returns an input request when an approval is needed.
pub fn elicits_by_reply(context: &RequestContext<RoleServer>) -> bool {
    let takes_urls =
        context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|it| it.url.is_some());
    takes_urls && uses_reply_elicitation(context)
}

fn uses_reply_elicitation(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, which sort as strings.
    context.protocol_version().is_some_and(|version| version.as_str() >= REPLY_ELICITATION_SINCE)
}

/// The reply that makes the client open the page and call again. Its state is the approval's id, which is useless to
/// another scope.
pub fn input_required(approvals: &ApprovalStore, approval: &Approval) -> Option<InputRequiredResult> {
    let params = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: message(approval),
        url: approvals.page_url(&approval.id)?.to_string(),
        elicitation_id: approval.id.to_string(),
    };
    let request = InputRequest::Elicitation(ElicitRequest::new(params));
    let requests = [(APPROVAL_REQUEST_KEY.to_owned(), request)].into_iter().collect();
    Some(InputRequiredResult::new(Some(requests), Some(approval.id.to_string())))
}

fn message(approval: &Approval) -> String {
    let (risk, domain) = (approval.card.risk.as_str(), &approval.card.domain);
    format!(
        "An agent requests an action of {risk} risk on {domain}. Open the request and answer as an operator."
    )
}
