//! Reasons why a session ends, and the fault of later calls on it.

use crate::error::Fault;
use error_code::ErrorCode;
use policy::SessionId;
use redact::redacted;

pub use error_code::EndReason;

/// The fault of a call on an ended session.
pub trait EndFault {
    fn fault(self, session: &SessionId) -> Fault;
}

impl EndFault for EndReason {
    fn fault(self, session: &SessionId) -> Fault {
        let (what, hint) = match self {
            EndReason::Closed => ("was closed", "Open a new session."),
            EndReason::Deadline => (
                "reached its deadline",
                "Open a new session; `session_timeout` in the configuration sets how long one may live.",
            ),
            EndReason::ActionLimit => (
                "used up its actions",
                "Open a new session; `max_actions_per_session` in the configuration sets how many one may take.",
            ),
            EndReason::OutOfMemory => (
                "was ended because its browser went over the memory limit",
                "Open a new session and avoid the page that did it; `container.memory_limit` sets the limit.",
            ),
            EndReason::BrowserLost => (
                "was ended because its browser died and could not be restarted",
                "Open a new session; if it happens again, `stockade doctor` checks this machine.",
            ),
            EndReason::Operator => (
                "was ended by the operator",
                "Do not continue the same work in another session; tell the user how far you got.",
            ),
            EndReason::Unhealthy => (
                "was ended because its browser did not answer the health check",
                "Open a new session and avoid the page that caused it; `stockade doctor` checks this machine.",
            ),
            EndReason::GrantRevoked => (
                "was ended because its browser died and the grant of its logins had been revoked",
                "Ask the operator for a new grant, or open a session with credential_mode \"clean\".",
            ),
            EndReason::Shutdown => {
                ("was ended by a shutdown", "Open a new session once Stockade runs again.")
            }
        };
        Fault::new(ErrorCode::SessionEnded { reason: self }, redacted!("session {} {}", session, what))
            .hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_session_says_why_and_what_to_do() {
        let id = SessionId::parse("s-abcdefghijkl").unwrap();
        for (reason, code) in [
            (EndReason::Closed, "session_ended:closed"),
            (EndReason::Deadline, "session_ended:deadline"),
            (EndReason::ActionLimit, "session_ended:action_limit"),
            (EndReason::OutOfMemory, "session_ended:out_of_memory"),
            (EndReason::BrowserLost, "session_ended:browser_lost"),
            (EndReason::Operator, "session_ended:operator"),
            (EndReason::Unhealthy, "session_ended:unhealthy"),
            (EndReason::GrantRevoked, "session_ended:grant_revoked"),
            (EndReason::Shutdown, "session_ended:shutdown"),
        ] {
            let fault = reason.fault(&id);
            assert_eq!(fault.code.to_string(), code);
            assert!(!fault.hint.is_empty(), "{code}");
        }
    }
}
