//! Verdicts from a program that shares the webhook's secret.

use super::OperatorState;
use super::approvals::decide;
use super::login::status;
use crate::operator::webhook::{NONCE_HEADER, SIGNATURE_HEADER, SignedMessage, TIME_HEADER};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use engine::approvals::{Decider, DecisionChannel};
use engine::error::Fault;
use error_code::ErrorCode;
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookVerdict {
    approval: String,
    verdict: String,
    /// Who decided, on the word of the program that signs.
    by: String,
    #[serde(default)]
    note: String,
}

pub async fn post(State(state): State<OperatorState>, headers: HeaderMap, body: Bytes) -> Response {
    match answer(&state, &headers, &body).await {
        Ok(response) => response,
        Err(fault) => (status(&fault), Json(fault)).into_response(),
    }
}

async fn answer(state: &OperatorState, headers: &HeaderMap, body: &[u8]) -> Result<Response, Fault> {
    let Some(webhook) = &state.webhook else {
        return Err(Fault::new(ErrorCode::NotFound, "no webhook is set up")
            .hint("Set `hitl.webhook` in the configuration."));
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = SignedMessage {
        time: text(TIME_HEADER),
        nonce: text(NONCE_HEADER),
        signature: text(SIGNATURE_HEADER),
        body,
    };
    webhook.nonces.check(&webhook.secret, &message, Timestamp::now().as_second())?;
    let bad = |why: String| {
        Fault::outside_sessions(ErrorCode::BadArguments, why)
            .hint("Send {\"approval\": \"ap-…\", \"verdict\": \"approve\", \"by\": \"ada\"}.")
    };
    let answer: WebhookVerdict = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
    let operator = crate::operator::parse_name(&answer.by).map_err(|error| bad(error.to_string()))?;
    let by = Decider { operator, channel: DecisionChannel::Webhook };
    let approval = decide(&state.control, &answer.approval, &answer.verdict, &answer.note, by).await?;
    Ok(Json(approval).into_response())
}
