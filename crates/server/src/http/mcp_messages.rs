//! Checks each MCP message on `/mcp` before the protocol library reads it, and says what it could not read.

use super::guard::fault_json;
use crate::mcp::{self, LARGEST_REQUEST};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::error::Fault;
use error_code::ErrorCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

/// The id of the JSON-RPC request in a body, for responses that do not come from the protocol library.
#[derive(Clone, Default)]
pub struct MessageId(pub Value);

pub async fn check(request: Request, next: Next) -> Response {
    if request.method() == Method::DELETE {
        return closed_session(next.run(request).await);
    }
    // Other types of content are refused by their type.
    if request.method() != Method::POST || !is_json(request.headers()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    if let Err(rejection) = mcp::parse_message(&body) {
        // A request with wrong parameters is answered; anything else could not be accepted at all.
        let status = if rejection.is_invalid_params() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        return (status, Json(rejection.to_json())).into_response();
    }
    parts.extensions.insert(MessageId(mcp::request_id(&body).unwrap_or_default()));
    next.run(Request::from_parts(parts, Body::from(body))).await
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

async fn read_body(body: Body) -> Result<Bytes, Response> {
    match Limited::new(body, LARGEST_REQUEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let fault = Fault::outside_sessions(
                ErrorCode::BadArguments,
                format!("a message has at most {LARGEST_REQUEST} bytes"),
            );
            Err(fault_json(StatusCode::PAYLOAD_TOO_LARGE, fault.hint("Send less in one call.")))
        }
        Err(_) => {
            let fault = Fault::new(ErrorCode::BadArguments, "the message did not arrive whole");
            Err(fault_json(StatusCode::BAD_REQUEST, fault.hint("Send the whole message again.")))
        }
    }
}

/// The library says "accepted", which clients report as a failure to close.
fn closed_session(mut response: Response) -> Response {
    if response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}
