//! Server-sent events for open consoles: that something changed, never what.

use super::OperatorState;
use super::guard::Caller;
use super::login::status;
use axum::Json;
use axum::extract::{Extension, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use engine::error::Fault;
use error_code::ErrorCode;
use futures_util::stream;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// Concurrent event streams; further consoles poll.
pub const MAX_STREAMS: usize = 32;
/// The keep-alive interval, and how often the operator's login is checked.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

pub async fn stream(State(state): State<OperatorState>, Extension(caller): Extension<Caller>) -> Response {
    let Ok(permit) = state.streams.clone().try_acquire_owned() else {
        let fault = Fault::new(ErrorCode::TooManyStreams, "too many consoles are open")
            .hint("This page polls every few seconds instead. Close other console pages.")
            .retryable();
        return (status(&fault), Json(fault)).into_response();
    };
    let changes = state.control.approvals.watch();
    let begin = (state, caller, changes, permit);
    let news = stream::unfold(begin, |(state, caller, mut changes, permit)| async move {
        loop {
            let changed = tokio::select! {
                changed = changes.recv() => changed,
                () = state.stop.cancelled() => return None,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    // The stream ends with the login session.
                    match state.auth.find(&caller.token, false).await {
                        Ok(Some(_)) => continue,
                        _ => return None,
                    }
                }
            };
            match changed {
                Ok(_) | Err(RecvError::Lagged(_)) => {
                    // Browsers drop an event without data.
                    let event = Event::default().event("change").data("approvals");
                    return Some((Ok::<_, Infallible>(event), (state, caller, changes, permit)));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Sse::new(news).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}
