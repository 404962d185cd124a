//! The error form of every interface: a stable code, a message and a hint.

mod convert;

pub use convert::{audit_fault, bad_address, explain};

use browser::mark_page_text;
use error_code::{ErrorCode, ErrorParameters};
use redact::{Redacted, RedactedFields, previously_redacted};
use serde::{Deserialize, Serialize, Serializer};
use std::error::Error;
use std::fmt;
use std::io;

/// The error that a caller gets from every interface.
///
/// `code` is stable and listed in the docs; `message` says what happened; `hint` says what to do next and
/// may be empty; `cause` is the specific code below a general one. It carries no `source`: causes belong in the log, and are
/// folded into `message` by [`Fault::caused`] where a person needs them. Text of a page in it is marked by
/// [`browser::PageText`]; MCP delimits it, and all other interfaces quote it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, RedactedFields)]
pub struct Fault {
    pub code: ErrorCode,
    #[serde(deserialize_with = "previously_redacted")]
    pub message: Redacted,
    #[serde(deserialize_with = "previously_redacted")]
    pub hint: Redacted,
    pub retryable: bool,
    /// Boxed: few faults have one, and every result has room for it.
    #[serde(default)]
    pub cause: Option<Box<ErrorCode>>,
}

/// A fault in JSON. The parameters of its code stand in the code's text and as fields.
#[derive(Serialize)]
struct FaultFields<'a> {
    code: &'a ErrorCode,
    message: Redacted,
    hint: Redacted,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a ErrorCode>,
    #[serde(flatten)]
    parameters: ErrorParameters<'a>,
}

/// Hint for an internal error.
const REPORT: &str = "Try again. If it fails again, report it with the end of the log.";

impl Fault {
    /// `message` is text of this program, or redacted.
    pub fn new(code: ErrorCode, message: impl Into<Redacted>) -> Fault {
        let hint = Redacted::literal(if code == ErrorCode::Internal { REPORT } else { "" });
        Fault { code, message: message.into(), hint, retryable: false, cause: None }
    }

    /// For a message that no session reaches: of paths, settings, arguments, errors of the operating system. See
    /// [`Redacted::outside_sessions`].
    pub fn outside_sessions(code: ErrorCode, message: impl Into<String>) -> Fault {
        Fault::new(code, Redacted::outside_sessions(message))
    }

    /// A fault whose message is an error of the host, followed by each of its causes. An error of a browser goes through
    /// [`Fault::of_browser`].
    pub fn caused(code: ErrorCode, error: &dyn Error) -> Fault {
        Fault::outside_sessions(code, with_causes(error))
    }

    /// A failed read or write; a full disk has the same code wherever it is met.
    pub fn io(code: ErrorCode, doing: impl fmt::Display, error: &io::Error) -> Fault {
        if is_disk_full(error) {
            return Fault::disk_full(doing);
        }
        Fault::outside_sessions(code, format!("{doing}: {error}"))
    }

    /// A file that cannot be kept.
    pub fn unwritable(doing: impl fmt::Display, error: &io::Error) -> Fault {
        Fault::io(ErrorCode::StateUnwritable, doing, error)
            .hint_if_none("Check that this is a folder, that this user owns it, and that it is writable.")
    }

    pub fn disk_full(doing: impl fmt::Display) -> Fault {
        Fault::outside_sessions(ErrorCode::DiskFull, format!("{doing}: no space is left on the disk"))
            .hint("Free some space on the disk that holds the state folder, then try again.")
            .retryable()
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Redacted>) -> Fault {
        self.hint = hint.into();
        self
    }

    /// A next step, unless there is one already.
    #[must_use]
    pub fn hint_if_none(self, hint: impl Into<Redacted>) -> Fault {
        if self.hint.is_empty() { self.hint(hint) } else { self }
    }

    /// The specific code below this one.
    #[must_use]
    pub fn because(mut self, cause: ErrorCode) -> Fault {
        self.cause = Some(Box::new(cause));
        self
    }

    #[must_use]
    pub fn retryable(self) -> Fault {
        self.retryable_if(true)
    }

    #[must_use]
    pub fn retryable_if(mut self, retryable: bool) -> Fault {
        self.retryable = retryable;
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, quote_page_text(&self.message))
    }
}

impl Error for Fault {}

/// Quotes the page text in a message, for people, logs and programs without delimiters.
pub fn quote_page_text(text: &Redacted) -> Redacted {
    text.transform(|text| mark_page_text(text, "\"", "\""))
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Fault { code, message, hint, retryable, cause } = self;
        let fields = FaultFields {
            code,
            message: quote_page_text(message),
            hint: quote_page_text(hint),
            retryable: *retryable,
            cause: cause.as_deref(),
            parameters: code.parameters(),
        };
        fields.serialize(serializer)
    }
}

/// Whether an error means that a disk or a quota is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// An error and its causes on one line. A cause that the text already contains is not repeated.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text_of_cause = cause.to_string();
        if !text.contains(&text_of_cause) {
            text = format!("{text}: {text_of_cause}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use error_code::EndReason;
    use std::time::Duration;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot parse the answer")]
    struct Outer {
        source: io::Error,
    }

    #[test]
    fn a_fault_names_the_causes_once() {
        let fault =
            Fault::caused(ErrorCode::Internal, &Outer { source: io::Error::other("the line is dead") });
        assert_eq!(fault.message, "cannot parse the answer: the line is dead");
    }

    #[test]
    fn a_full_disk_has_its_own_code_wherever_it_is_met() {
        let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        let fault = Fault::io(ErrorCode::StateUnwritable, "cannot write x", &full);
        assert_eq!((fault.code, fault.retryable), (ErrorCode::DiskFull, true));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let fault = Fault::unwritable("cannot write x", &denied);
        assert_eq!((fault.code, fault.hint.is_empty()), (ErrorCode::StateUnwritable, false));
    }

    #[test]
    fn page_text_is_quoted_for_people_and_programs() {
        let fault = Fault::outside_sessions(
            ErrorCode::ElementCovered,
            format!("covered by {}", browser::PageText::new("a cat")),
        );
        assert_eq!(fault.to_string(), "element_covered: covered by \"a cat\"");
        assert_eq!(serde_json::to_value(&fault).unwrap()["message"], "covered by \"a cat\"");
    }

    #[test]
    fn a_fault_in_json_has_its_cause_and_the_parameters_of_its_code() {
        let approval = "ap_1".to_owned();
        let limit = Duration::from_millis(500);
        for (code, cause, expected) in [
            (ErrorCode::Cancelled, None, r#"{"code":"cancelled",…}"#),
            (
                ErrorCode::SandboxRuntimeRequired,
                Some(ErrorCode::BubblewrapMissing),
                r#"{"code":"sandbox_runtime_required",…,"cause":"bubblewrap_missing"}"#,
            ),
            (
                ErrorCode::SessionEnded { reason: EndReason::Deadline },
                None,
                r#"{"code":"session_ended:deadline",…,"reason":"deadline"}"#,
            ),
            (
                ErrorCode::SessionPaused { approval: approval.clone() },
                None,
                r#"{"code":"session_paused:ap_1",…,"approval_id":"ap_1"}"#,
            ),
            (
                ErrorCode::ApprovalPending { approval },
                None,
                r#"{"code":"approval_pending:ap_1",…,"approval_id":"ap_1"}"#,
            ),
            (
                ErrorCode::BrowserActionTimeout { action: "click".into(), limit },
                None,
                r#"{"code":"browser_action_timeout:click:0.5s",…,"action":"click","timeout_seconds":0.5}"#,
            ),
        ] {
            let cause = cause.map(Box::new);
            let fault = Fault { cause, ..Fault::new(code, "a message").hint("a hint") };
            let json = serde_json::to_string(&fault).unwrap();
            let common = r#""message":"a message","hint":"a hint","retryable":false"#;
            assert_eq!(json, expected.replace('…', common));
            assert_eq!(serde_json::from_str::<Fault>(&json).unwrap(), fault);
        }
    }
}
