//! The command line's client of a running server: HTTP over the control socket in the state folder.

use crate::control_protocol::{ACTIONS_PATH, SCOPE_HEADER, TOKEN_HEADER};
use crate::operator::Password;
use engine::error::Fault;
use engine::state::State;
use error_code::ErrorCode;
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

/// Long enough for archiving, which copies images.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// An action may queue behind others before its own limit of two minutes starts.
const ACTION_TIMEOUT: Duration = Duration::from_secs(300);
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// Sends a request to the server that runs from this state folder.
pub async fn ask(state: &State, method: &str, path: &str) -> Result<Value, Fault> {
    let request = Request::builder().method(method).uri(path).body(Full::default());
    let (ok, response) = exchange(state, request, REQUEST_TIMEOUT).await?;
    if ok { Ok(response) } else { Err(parse_fault(response)) }
}

/// Runs one action for a scope, and returns the whole result if it succeeded.
pub async fn act(state: &State, scope: &Scope, request: &Value) -> Result<Value, Fault> {
    let request = Request::builder()
        .method("POST")
        .uri(ACTIONS_PATH)
        .header(SCOPE_HEADER, scope.to_string())
        .body(Full::from(request.to_string()));
    let (_, mut response) = exchange(state, request, ACTION_TIMEOUT).await?;
    match response.get_mut("error").map(Value::take) {
        Some(error) => Err(parse_fault(error)),
        None if response["success"] == true => Ok(response),
        None => Err(parse_fault(response)),
    }
}

/// A client with an operator's login session, which lasts for one command, or with a kept one that lists only.
pub struct OperatorClient<'a> {
    state: &'a State,
    token: Secret,
}

/// A login for one terminal session.
pub struct TerminalToken {
    pub token: Secret,
    /// How long the server accepts it.
    pub seconds: i64,
}

impl<'a> OperatorClient<'a> {
    pub async fn log_in(
        state: &'a State,
        operator: &str,
        password: &Password,
    ) -> Result<OperatorClient<'a>, Fault> {
        let login = json!({ "operator": operator, "password": password.expose() });
        Ok(OperatorClient::send_login(state, &login).await?.0)
    }

    /// The same, and a login that is kept for this terminal session and lists questions only.
    pub async fn log_in_for_terminal(
        state: &'a State,
        operator: &str,
        password: &Password,
    ) -> Result<(OperatorClient<'a>, Option<TerminalToken>), Fault> {
        let login = json!({ "operator": operator, "password": password.expose(), "for_terminal": true });
        let (client, response) = OperatorClient::send_login(state, &login).await?;
        let seconds = response["terminal_seconds"].as_i64().unwrap_or_default();
        let token = response["terminal_token"].as_str().map(|token| Secret::new(token.to_owned()));
        Ok((client, token.map(|token| TerminalToken { token, seconds })))
    }

    /// With the token of an earlier login.
    pub fn with_token(state: &'a State, token: Secret) -> OperatorClient<'a> {
        OperatorClient { state, token }
    }

    async fn send_login(state: &'a State, login: &Value) -> Result<(OperatorClient<'a>, Value), Fault> {
        let mut client = OperatorClient::with_token(state, Secret::new(String::new()));
        let response = client.ask("POST", "/operator/login", Some(login)).await?;
        client.token = Secret::new(response["token"].as_str().unwrap_or_default().to_owned());
        Ok((client, response))
    }

    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(TOKEN_HEADER, self.token.expose_secret())
            .header("content-type", "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()));
        let (ok, response) = exchange(self.state, request, REQUEST_TIMEOUT).await?;
        if ok { Ok(response) } else { Err(parse_fault(response)) }
    }

    /// Logs out, which invalidates the token.
    pub async fn log_out(self) -> Result<(), Fault> {
        self.ask("POST", "/operator/logout", None).await.map(|_| ())
    }
}

fn parse_fault(response: Value) -> Fault {
    serde_json::from_value(response).unwrap_or_else(|error| not_responding(&error))
}

fn not_responding(error: &dyn std::error::Error) -> Fault {
    Fault::caused(ErrorCode::NotResponding, error).hint("Look at the server's log, or restart it.")
}

async fn exchange(
    state: &State,
    request: Result<Request<Full<Bytes>>, hyper::http::Error>,
    timeout: Duration,
) -> Result<(bool, Value), Fault> {
    let mut request = request.map_err(|e| not_responding(&e))?;
    request.headers_mut().insert("host", HeaderValue::from_static("stockade"));
    let Some(stream) = state.join()? else {
        return Err(Fault::new(ErrorCode::NotRunning, "no server runs from this state folder")
            .hint("Start one with `stockade serve`, or name its state folder with --state."));
    };
    send(stream, request, timeout).await
}

/// Returns whether the status is a success, and the body.
async fn send(
    stream: std::os::unix::net::UnixStream,
    request: Request<Full<Bytes>>,
    timeout: Duration,
) -> Result<(bool, Value), Fault> {
    stream.set_nonblocking(true).map_err(|e| not_responding(&e))?;
    let stream = UnixStream::from_std(stream).map_err(|e| not_responding(&e))?;
    let limits = Limits { connect: timeout, total: timeout, largest_body: Some(MAX_RESPONSE_BYTES) };
    let response = http_client::send_over(stream, request, limits).await.map_err(|error| match error {
        http_client::HttpError::Timeout { .. } => {
            Fault::new(ErrorCode::NotResponding, "the server does not answer")
                .hint("Look at its log, or restart it.")
        }
        error => not_responding(&error),
    })?;
    let value = serde_json::from_slice(&response.body).map_err(|e| not_responding(&e))?;
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
        let fault = send(ours, request, REQUEST_TIMEOUT).await.unwrap_err();
        assert_eq!(fault.code, ErrorCode::NotResponding);
        assert!(!fault.hint.is_empty());
    }
}
