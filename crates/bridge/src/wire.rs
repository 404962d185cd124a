//! The protocol between the control plane and a bridge, besides CDP itself.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The first readiness gate: answers once Chromium speaks.
pub const VERSION_PATH: &str = "/json/version";
/// The second: a WebSocket whose text frames are CDP messages. An id of the running Chromium follows.
pub const BROWSER_PATH: &str = "/devtools/browser/";
pub const STATUS_PATH: &str = "/status";
pub const RESTART_PATH: &str = "/restart";
/// How long [`VERSION_PATH`] may wait for Chromium. It never waits longer than its token lives.
pub const WAIT_HEADER: &str = "stockade-wait-ms";

/// The largest CDP message carried either way. A larger one cuts the connection.
pub const MAX_MESSAGE: usize = 64 << 20;
/// The largest head of a request; a larger one is refused.
pub const MAX_HEAD: usize = 8 << 10;
/// How much of Chromium's own output is kept: the end of it.
pub const LOG_TAIL: usize = 16 << 10;
/// The largest reply body: a log tail in which each byte is escaped, and room for the rest.
pub const MAX_REPLY: usize = 8 * LOG_TAIL;

/// The connection's token ended, or a renewal was refused.
pub const CLOSE_TOKEN: u16 = 4401;
/// A newer connection took its place.
pub const CLOSE_REPLACED: u16 = 4409;
/// A message was larger than [`MAX_MESSAGE`].
pub const CLOSE_TOO_LARGE: u16 = 1009;
/// Chromium is gone.
pub const CLOSE_BROWSER_GONE: u16 = 4502;

/// A step on the way to a usable browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// The bridge runs and has reached the host.
    Bridge,
    /// The X server accepts connections.
    Display,
    /// Chromium's process exists.
    Process,
    /// Chromium answers on its pipe, so `/json/version` does.
    Http,
    /// The WebSocket is open. The control plane adds this one.
    Websocket,
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhaseName::Bridge => "bridge",
            PhaseName::Display => "display",
            PhaseName::Process => "process",
            PhaseName::Http => "http",
            PhaseName::Websocket => "websocket",
        })
    }
}

/// A phase that was passed, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: PhaseName,
    pub ms: f64,
}

/// What became of Chromium's process. On the wire: `not_started`, `running`, `exited:1` or `signal:9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ProcessState {
    NotStarted,
    Running,
    Exited(i32),
    Signalled(i32),
}

impl ProcessState {
    pub fn is_dead(self) -> bool {
        matches!(self, ProcessState::Exited(_) | ProcessState::Signalled(_))
    }
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessState::NotStarted => f.write_str("not_started"),
            ProcessState::Running => f.write_str("running"),
            ProcessState::Exited(code) => write!(f, "exited:{code}"),
            ProcessState::Signalled(signal) => write!(f, "signal:{signal}"),
        }
    }
}

impl From<ProcessState> for String {
    fn from(state: ProcessState) -> String {
        state.to_string()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("not a process state")]
pub struct BadProcessState;

impl TryFrom<String> for ProcessState {
    type Error = BadProcessState;
    fn try_from(text: String) -> Result<ProcessState, BadProcessState> {
        let number = |text: &str| text.parse().map_err(|_| BadProcessState);
        match text.split_once(':') {
            None if text == "not_started" => Ok(ProcessState::NotStarted),
            None if text == "running" => Ok(ProcessState::Running),
            Some(("exited", code)) => number(code).map(ProcessState::Exited),
            Some(("signal", signal)) => number(signal).map(ProcessState::Signalled),
            _ => Err(BadProcessState),
        }
    }
}

/// Where the current run of Chromium stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageName {
    Starting,
    Ready,
    /// It did not start, or it ended.
    Down,
}

/// The answer to [`VERSION_PATH`] when Chromium speaks, in the names of Chromium's own endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version {
    #[serde(rename = "Browser")]
    pub browser: String,
    #[serde(rename = "Protocol-Version")]
    pub protocol: String,
    #[serde(rename = "User-Agent")]
    pub user_agent: String,
    #[serde(rename = "V8-Version")]
    pub v8: String,
    #[serde(rename = "webSocketDebuggerUrl")]
    pub web_socket_debugger_url: String,
    pub phases: Vec<Phase>,
}

/// How things stand: the answer to [`STATUS_PATH`] and [`RESTART_PATH`], and to [`VERSION_PATH`] with
/// status 503 when Chromium does not speak.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub stage: StageName,
    /// The phase it is in: the first one not passed, or the last one when ready.
    pub phase: PhaseName,
    pub process: ProcessState,
    pub phases: Vec<Phase>,
    pub restarts_left: u32,
    pub log_tail: String,
}

/// The body of every other answer that is not a success.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refused {
    pub code: String,
    pub message: String,
}
