//! Why a call to Chromium gave no result.

use super::Closed;

#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("chromium did not answer {method} in time")]
    Timeout { method: &'static str },
    #[error("the connection to chromium is closed: {closed}")]
    Closed { closed: Closed },
    /// Chromium does not answer calls to a crashed renderer.
    #[error("the tab crashed before it answered {method}")]
    Crashed { method: &'static str },
    #[error("the target was detached before it answered {method}")]
    Detached { method: &'static str },
    #[error("chromium refused {method}: {message}")]
    Refused { method: &'static str, code: i64, message: String },
    #[error("too many calls are waiting for Chromium, so {method} was not sent")]
    Busy { method: &'static str },
    #[error("Chromium's answer to {method} has {bytes} bytes, more than the limit of {limit}")]
    TooLarge { method: &'static str, bytes: usize, limit: usize },
    #[error("could not encode {method}")]
    Encode { method: &'static str, source: serde_json::Error },
    #[error("Chromium's answer to {method} cannot be parsed")]
    Decode { method: &'static str, source: serde_json::Error },
}

impl CallError {
    /// Chromium does not have the paused request that the call was about.
    pub fn is_request_gone(&self) -> bool {
        matches!(self, CallError::Refused { message, .. } if message.contains("Invalid InterceptionId"))
    }

    /// The frame or execution context is gone; the page has navigated.
    pub fn is_context_lost(&self) -> bool {
        const MESSAGES: [&str; 7] = [
            "Cannot find context",
            "uniqueContextId not found",
            "Execution context was destroyed",
            "Inspected target navigated or closed",
            "Promise was collected",
            "Could not find object",
            "No frame",
        ];
        matches!(self, CallError::Refused { message, .. } if MESSAGES.iter().any(|known| message.contains(known)))
    }
}
