//! The answer of a program that shares the webhook's secret.

use super::Doors;
use super::approvals::decide;
use super::login::status;
use crate::operator::webhook::{Message, NONCE_HEADER, SIGNATURE_HEADER, TIME_HEADER};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use engine::approvals::{Decider, Door};
use engine::error::Fault;
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    approval: String,
    verdict: String,
    /// Who decided; the secret vouches for it.
    by: String,
    #[serde(default)]
    note: String,
}

pub async fn post(State(doors): State<Doors>, headers: HeaderMap, body: Bytes) -> Response {
    match answer(&doors, &headers, &body).await {
        Ok(response) => response,
        Err(fault) => (status(&fault), Json(fault)).into_response(),
    }
}

async fn answer(doors: &Doors, headers: &HeaderMap, body: &[u8]) -> Result<Response, Fault> {
    let Some(webhook) = &doors.webhook else {
        return Err(
            Fault::new("not_found", "no webhook is set up").hint("`hitl.webhook` in the configuration.")
        );
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = Message {
        time: text(TIME_HEADER),
        nonce: text(NONCE_HEADER),
        signature: text(SIGNATURE_HEADER),
        body,
    };
    webhook.nonces.check(&webhook.secret, &message, Timestamp::now().as_second())?;
    let bad = |why: String| {
        Fault::new("bad_arguments", why)
            .hint("{\"approval\": \"ap-…\", \"verdict\": \"approve\", \"by\": \"ada\"}")
    };
    let answer: Answer = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
    let operator = crate::operator::parse_name(&answer.by).map_err(|error| bad(error.to_string()))?;
    let by = Decider { operator, door: Door::Webhook };
    let approval = decide(&doors.control, &answer.approval, &answer.verdict, &answer.note, by).await?;
    Ok(Json(approval).into_response())
}
