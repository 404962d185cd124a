//! News for open consoles, as server-sent events: only that there are some, never what they are.

use super::Doors;
use super::guard::Caller;
use super::login::status;
use axum::Json;
use axum::extract::{Extension, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use engine::error::Fault;
use futures_util::stream;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// Open consoles that get news by themselves; the next ask now and then.
pub const MOST_STREAMS: usize = 32;
/// How often a quiet stream shows that it lives, and whether its operator is still logged in.
const PULSE: Duration = Duration::from_secs(10);

pub async fn stream(State(doors): State<Doors>, Extension(caller): Extension<Caller>) -> Response {
    let Ok(place) = doors.streams.clone().try_acquire_owned() else {
        let fault = Fault::new("too_many_streams", "too many consoles are open")
            .hint("This one asks for news every few seconds instead; close some.")
            .retryable();
        return (status(&fault), Json(fault)).into_response();
    };
    let changes = doors.control.approvals.watch();
    let begin = (doors, caller, changes, place);
    let news = stream::unfold(begin, |(doors, caller, mut changes, place)| async move {
        loop {
            let changed = tokio::select! {
                changed = changes.recv() => changed,
                () = doors.stop.cancelled() => return None,
                () = tokio::time::sleep(PULSE) => {
                    // Whoever logged out, or was logged out, hears nothing more.
                    match doors.desk.find(&caller.token, false).await {
                        Ok(Some(_)) => continue,
                        _ => return None,
                    }
                }
            };
            match changed {
                Ok(_) | Err(RecvError::Lagged(_)) => {
                    // Browsers pass no event on that has no data.
                    let event = Event::default().event("change").data("approvals");
                    return Some((Ok::<_, Infallible>(event), (doors, caller, changes, place)));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Sse::new(news).keep_alive(KeepAlive::new().interval(PULSE)).into_response()
}
