//! The command line's way to a running server: HTTP over the socket in the state folder.

use crate::control_protocol::{ACTIONS_PATH, SCOPE_HEADER, TOKEN_HEADER};
use crate::operator::Password;
use engine::error::Fault;
use engine::state::State;
use http_body_util::Full;
use http_client::Limits;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use policy::Scope;
use redact::Secret;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::UnixStream;

/// Archiving copies pictures; everything else is quick.
const PATIENCE: Duration = Duration::from_secs(60);
/// An action may wait for others before it, and has two minutes of its own.
const PATIENCE_WITH_AN_ACTION: Duration = Duration::from_secs(300);
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Asks the server that runs from this state folder.
pub async fn ask(state: &State, method: &str, path: &str) -> Result<Value, Fault> {
    let request = Request::builder().method(method).uri(path).body(Full::default());
    let (ok, answer) = exchange(state, request, PATIENCE).await?;
    if ok { Ok(answer) } else { Err(fault_of(answer)) }
}

/// Has it do one action for a scope; the whole result if that went well.
pub async fn act(state: &State, scope: &Scope, request: &Value) -> Result<Value, Fault> {
    let request = Request::builder()
        .method("POST")
        .uri(ACTIONS_PATH)
        .header(SCOPE_HEADER, scope.to_string())
        .body(Full::from(request.to_string()));
    let (_, mut answer) = exchange(state, request, PATIENCE_WITH_AN_ACTION).await?;
    match answer.get_mut("error").map(Value::take) {
        Some(error) => Err(fault_of(error)),
        None if answer["success"] == true => Ok(answer),
        None => Err(fault_of(answer)),
    }
}

/// An operator who is logged in at the running server, for as long as one command takes.
pub struct Visit<'a> {
    state: &'a State,
    token: Secret,
}

impl<'a> Visit<'a> {
    pub async fn enter(state: &'a State, operator: &str, password: &Password) -> Result<Visit<'a>, Fault> {
        let mut visit = Visit { state, token: Secret::new(String::new()) };
        let login = json!({ "operator": operator, "password": password.expose() });
        let answer = visit.ask("POST", "/operator/login", Some(&login)).await?;
        visit.token = Secret::new(answer["token"].as_str().unwrap_or_default().to_owned());
        Ok(visit)
    }

    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(TOKEN_HEADER, self.token.expose_secret())
            .header("content-type", "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()));
        let (ok, answer) = exchange(self.state, request, PATIENCE).await?;
        if ok { Ok(answer) } else { Err(fault_of(answer)) }
    }

    /// Logs out; what was held is worth nothing from then on.
    pub async fn leave(self) -> Result<(), Fault> {
        self.ask("POST", "/operator/logout", None).await.map(|_| ())
    }
}

fn fault_of(answer: Value) -> Fault {
    serde_json::from_value(answer).unwrap_or_else(|error| no_answer(&error))
}

fn no_answer(error: &dyn std::error::Error) -> Fault {
    Fault::caused("not_responding", error).hint("Look at the server's log, or restart it.")
}

async fn exchange(
    state: &State,
    request: Result<Request<Full<Bytes>>, hyper::http::Error>,
    patience: Duration,
) -> Result<(bool, Value), Fault> {
    let mut request = request.map_err(|e| no_answer(&e))?;
    request.headers_mut().insert("host", HeaderValue::from_static("stockade"));
    let Some(stream) = state.join()? else {
        return Err(Fault::new("not_running", "no server runs from this state folder")
            .hint("Start one with `stockade serve`, or name its state folder with --state."));
    };
    send(stream, request, patience).await
}

/// Whether it was answered with success, and the answer.
async fn send(
    stream: std::os::unix::net::UnixStream,
    request: Request<Full<Bytes>>,
    patience: Duration,
) -> Result<(bool, Value), Fault> {
    stream.set_nonblocking(true).map_err(|e| no_answer(&e))?;
    let stream = UnixStream::from_std(stream).map_err(|e| no_answer(&e))?;
    let limits = Limits { connect: patience, total: patience, largest_body: Some(LARGEST_ANSWER) };
    let response = http_client::send_over(stream, request, limits).await.map_err(|error| match error {
        http_client::HttpError::Timeout { .. } => {
            Fault::new("not_responding", "the server does not answer").hint("Look at its log, or restart it.")
        }
        error => no_answer(&error),
    })?;
    let value = serde_json::from_slice(&response.body).map_err(|e| no_answer(&e))?;
    Ok((response.status.is_success(), value))
}

pub use crate::control_protocol::path_segment;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_hangs_up_does_not_respond() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(theirs);
        let request = Request::builder().uri("/").body(Full::default()).unwrap();
        let fault = send(ours, request, PATIENCE).await.unwrap_err();
        assert_eq!(fault.code, "not_responding");
        assert!(!fault.hint.is_empty());
    }
}
