//! Approvals: the console's pages, and the verdicts.

use super::OperatorState;
use super::guard::{Caller, Form, accepts_html, fault_response};
use super::login::status;
use crate::console::{self, ConsoleView, VerdictForm};
use crate::operator::form_token;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use engine::approvals::{Approval, ApprovalFilter, ApprovalId, Decider, DecisionChannel, Verdict};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
use jiff::Timestamp;
use maud::Markup;

/// The console.
pub async fn page(State(state): State<OperatorState>, Extension(caller): Extension<Caller>) -> Response {
    render_view(&state, &caller, None, console::page).await
}

/// The part of the console that its script replaces.
pub async fn live(State(state): State<OperatorState>, Extension(caller): Extension<Caller>) -> Response {
    render_view(&state, &caller, None, console::list).await
}

/// One approval: the page that URL-mode elicitation opens.
pub async fn single(
    State(state): State<OperatorState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    render_view(&state, &caller, Some(&id), console::single_page).await
}

pub async fn single_live(
    State(state): State<OperatorState>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Response {
    render_view(&state, &caller, Some(&id), console::single).await
}

async fn render_view(
    state: &OperatorState,
    caller: &Caller,
    id: Option<&str>,
    render: impl Fn(&ConsoleView) -> Markup,
) -> Response {
    let store = &state.control.approvals;
    let found = match id {
        Some(id) => find(&state.control, id).await.map(|found| vec![found]),
        None => store.list(&ApprovalFilter::default()).await,
    };
    let approvals = match found {
        Ok(approvals) => approvals,
        Err(fault) => return (status(&fault), console::fault_page(&fault)).into_response(),
    };
    let needs_password = match state.auth.has_password(&caller.session.operator).await {
        Ok(has_password) => !has_password,
        Err(fault) => return (status(&fault), console::fault_page(&fault)).into_response(),
    };
    let token = form_token(&caller.token);
    let (channel, update_path) = match approvals.first().filter(|_| id.is_some()) {
        Some(one) => (DecisionChannel::Elicitation, format!("/operator/live/{}", one.id)),
        None => (DecisionChannel::Console, "/operator/live".to_owned()),
    };
    render(&ConsoleView {
        operator: &caller.session.operator,
        form: VerdictForm { token: &token, channel },
        approvals: &approvals,
        picture: &|approval| store.screenshot(&approval.id),
        now: Timestamp::now(),
        update_path: &update_path,
        needs_password,
    })
    .into_response()
}

pub async fn picture(State(state): State<OperatorState>, Path(id): Path<String>) -> Response {
    let picture = ApprovalId::parse(&id).and_then(|id| state.control.approvals.screenshot(&id));
    match picture {
        Some(picture) => ([(header::CONTENT_TYPE, picture.mime)], picture.bytes).into_response(),
        None => {
            let fault = Fault::new(ErrorCode::NotFound, "there is no such screenshot")
                .hint("The screenshot of a request is deleted when it is decided.");
            (status(&fault), Json(fault)).into_response()
        }
    }
}

/// The verdict of a logged-in operator.
pub async fn answer(
    State(state): State<OperatorState>,
    Extension(caller): Extension<Caller>,
    Extension(form): Extension<Form>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response {
    let channel = if form.get("door") == DecisionChannel::Elicitation.as_str() {
        DecisionChannel::Elicitation
    } else {
        DecisionChannel::Console
    };
    let by = Decider { operator: caller.session.operator, channel };
    let answered = decide(&state.control, &id, form.get("verdict"), form.get("note"), by).await;
    match answered {
        Ok(_) if accepts_html(&headers) => Redirect::to("/console").into_response(),
        Ok(approval) => Json(approval).into_response(),
        Err(fault) => fault_response(&headers, &fault, console::fault_page),
    }
}

pub async fn find(control: &Control, id: &str) -> Result<Approval, Fault> {
    let unknown = || {
        Fault::new(ErrorCode::UnknownApproval, "there is no such request")
            .hint("`stockade approvals` and /console list them.")
    };
    let id = ApprovalId::parse(id).ok_or_else(unknown)?;
    control.approvals.find(&id).await?.ok_or_else(unknown)
}

/// Applies a verdict, whichever way it came. An irreversible action needs a verdict of its own, so that no habitual click
/// approves it.
pub async fn decide(
    control: &Control,
    id: &str,
    verdict: &str,
    note: &str,
    by: Decider,
) -> Result<Approval, Fault> {
    let asked = find(control, id).await?;
    let note = Some(note.trim()).filter(|note| !note.is_empty()).map(str::to_owned);
    let verdict = match verdict {
        "approve" | "approve_session" if asked.card.irreversible => {
            return Err(Fault::new(ErrorCode::ConfirmationRequired, "this cannot be undone, so it needs a second confirmation")
                .hint("Look at it again, then confirm: the second step in the console, `--irreversible` on the command line, `approve_irreversible` by webhook."));
        }
        "approve" | "approve_irreversible" => Verdict::Approve { for_session: false },
        "approve_session" => Verdict::Approve { for_session: true },
        "deny" => note.map_or(Verdict::Deny, Verdict::DenyBecause),
        "resume" => Verdict::Resume { note },
        "end" => Verdict::End,
        _ => {
            return Err(Fault::new(ErrorCode::BadVerdict, "there is no such verdict")
                .hint("Use approve, approve_irreversible, approve_session, deny, resume or end."));
        }
    };
    control.approvals.answer(&asked.id, verdict, &by).await
}
