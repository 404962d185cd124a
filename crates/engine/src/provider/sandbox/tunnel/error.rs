//! Errors between the host and a bridge, with hints.

use super::{PhaseName, ProcessState, Report};
use crate::error::Fault;
use bridge::token::TokenError;
use error_code::ErrorCode;
use redact::{Redacted, redacted};
use std::io;
use std::time::Duration;

/// How much of a log's last line goes into a message.
const LAST_LINE: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    #[error("the browser did not start: phase {phase}, process {process}")]
    StartFailed { phase: PhaseName, process: ProcessState, restarts_left: u32, log_tail: String },
    #[error("the browser was not ready within {} ms: phase {phase}, process {process}", waited.as_millis())]
    NotReady { waited: Duration, phase: PhaseName, process: ProcessState, log_tail: String },
    #[error("the browser crashed, and its restarts are used up")]
    RestartsUsedUp,
    #[error("the jail's bridge was lost while {doing}")]
    Lost { doing: &'static str, source: io::Error },
    #[error("the jail's bridge refused while {doing}: {status} {reason}")]
    Refused { doing: &'static str, status: u16, reason: String },
    #[error("the jail's bridge sent an invalid answer while {doing}")]
    Garbled { doing: &'static str },
    #[error("cannot create a token")]
    Token { source: TokenError },
}

impl TunnelError {
    pub(super) fn start_failed(report: Report) -> TunnelError {
        let Report { phase, process, restarts_left, log_tail, .. } = report;
        TunnelError::StartFailed { phase, process, restarts_left, log_tail }
    }

    pub(super) fn not_ready(report: Report, waited: Duration) -> TunnelError {
        let Report { phase, process, log_tail, .. } = report;
        TunnelError::NotReady { waited, phase, process, log_tail }
    }

    /// The bridge never dialled: the jail or its bridge did not start.
    pub(super) fn no_bridge(waited: Duration) -> TunnelError {
        TunnelError::NotReady {
            waited,
            phase: PhaseName::Bridge,
            process: ProcessState::NotStarted,
            log_tail: String::new(),
        }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            TunnelError::StartFailed { .. } | TunnelError::NotReady { .. } => ErrorCode::BrowserStartFailed,
            TunnelError::RestartsUsedUp => ErrorCode::BrowserLost,
            TunnelError::Lost { .. } => ErrorCode::BridgeLost,
            TunnelError::Refused { .. } | TunnelError::Garbled { .. } | TunnelError::Token { .. } => {
                ErrorCode::BridgeRefused
            }
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            TunnelError::StartFailed { phase: PhaseName::Display, .. } => {
                "Run `stockade template build --display xvfb`, then open the session again."
            }
            TunnelError::StartFailed { .. } => {
                "Run `stockade doctor`. The end of Chromium's log says what is missing."
            }
            TunnelError::NotReady { .. } => {
                "Try again. If it fails again, run `stockade doctor`, and give the machine or the jail more memory and CPU."
            }
            TunnelError::RestartsUsedUp | TunnelError::Lost { .. } => {
                "Open a new session: this one's browser is gone."
            }
            TunnelError::Refused { .. } | TunnelError::Garbled { .. } | TunnelError::Token { .. } => {
                "Open a new session, and run `stockade template verify`: the jail may not be the one that was built."
            }
        }
    }

    /// The phase of a failed start.
    pub fn phase(&self) -> Option<PhaseName> {
        match self {
            TunnelError::StartFailed { phase, .. } | TunnelError::NotReady { phase, .. } => Some(*phase),
            _ => None,
        }
    }

    pub fn process(&self) -> Option<ProcessState> {
        match self {
            TunnelError::StartFailed { process, .. } | TunnelError::NotReady { process, .. } => {
                Some(*process)
            }
            _ => None,
        }
    }

    /// The end of what Chromium wrote. It comes from the jail: text for the log, not for an agent.
    pub fn log_tail(&self) -> &str {
        match self {
            TunnelError::StartFailed { log_tail, .. } | TunnelError::NotReady { log_tail, .. } => log_tail,
            _ => "",
        }
    }
}

/// A failed start happens before any page is open, so its last line of log can be shown.
impl From<TunnelError> for Fault {
    fn from(error: TunnelError) -> Fault {
        let mut fault = Fault::caused(error.code(), &error).hint(error.hint());
        fault.retryable = matches!(error, TunnelError::NotReady { .. });
        let last_line = error.log_tail().lines().rev().find(|line| !line.trim().is_empty());
        if let Some(line) = last_line {
            let line: String = line.chars().filter(|c| !c.is_control()).take(LAST_LINE).collect();
            fault.message =
                redacted!("{}; its log ends: {}", fault.message, Redacted::outside_sessions(line));
        }
        fault
    }
}
