//! URL-mode elicitation: leads the person at a client to the page where an operator answers.
//!
//! The address carries no authority: whoever opens it still has to log in as an operator. What the client says to it is
//! only whether it was opened, and decides nothing.

use engine::approvals::{Approval, Book};
use rmcp::RoleServer;
use rmcp::model::{ElicitRequest, ElicitRequestParams, InputRequest, InputRequiredResult};
use rmcp::service::{ElicitationMode, RequestContext};

/// From this revision on a server asks by its reply, and not by a request of its own.
const ASKS_BY_REPLY: &str = "2026-07-28";
/// What the request is called in such a reply.
const APPROVAL: &str = "approval";

/// For clients of the 2025 revisions: asks beside the call, which goes on waiting.
pub fn lead(context: &RequestContext<RoleServer>, approvals: &Book, approval: &Approval) {
    let peer = context.peer.clone();
    let Some(url) = approvals.page_of(&approval.id) else { return };
    if asks_by_reply(context) || !peer.supported_elicitation_modes().contains(&ElicitationMode::Url) {
        return;
    }
    let patience = approval.expires_at.duration_since(approval.asked_at).unsigned_abs();
    let (id, message) = (approval.id.to_string(), message(approval));
    tokio::spawn(async move {
        let led = peer.elicit_url_with_timeout(message, url, id.clone(), Some(patience)).await;
        match led {
            Ok(action) => tracing::debug!(approval = id, ?action, "a client was led to a question"),
            Err(error) => tracing::debug!(approval = id, %error, "a client was not led to a question"),
        }
    });
}

/// Whether this call is answered with a request for input when a person is asked.
pub fn by_reply(context: &RequestContext<RoleServer>) -> bool {
    let takes_urls =
        context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|it| it.url.is_some());
    takes_urls && asks_by_reply(context)
}

fn asks_by_reply(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, which sort as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ASKS_BY_REPLY)
}

/// The reply that has the client open the page and call again. Its state is the id of the question, which is worth
/// nothing to another scope.
pub fn required(approvals: &Book, approval: &Approval) -> Option<InputRequiredResult> {
    let params = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: message(approval),
        url: approvals.page_of(&approval.id)?.to_string(),
        elicitation_id: approval.id.to_string(),
    };
    let request = InputRequest::Elicitation(ElicitRequest::new(params));
    let requests = [(APPROVAL.to_owned(), request)].into_iter().collect();
    Some(InputRequiredResult::new(Some(requests), Some(approval.id.to_string())))
}

fn message(approval: &Approval) -> String {
    let (risk, domain) = (approval.card.risk.as_str(), &approval.card.domain);
    format!(
        "An agent wants to do something of {risk} risk on {domain}. Look at it, and answer as an operator."
    )
}
