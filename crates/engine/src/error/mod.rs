//! The error form of every interface: a stable code, a message and a hint.

mod convert;

pub use convert::{audit_fault, bad_address, explain};

use browser::mark_page_text;
use error_code::ErrorCode;
use serde::{Deserialize, Serialize, Serializer};
use std::error::Error;
use std::fmt;
use std::io;

/// The error that a caller gets from every interface.
///
/// `code` is stable and listed in the docs; `message` says what happened; `hint` says what to do next and
/// may be empty. It carries no `source`: causes belong in the log, and are folded into `message` by
/// [`Fault::caused`] where a person needs them. Text of a page in it is marked by [`browser::PageText`];
/// MCP delimits it, and all other interfaces quote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub code: ErrorCode,
    #[serde(serialize_with = "quoted")]
    pub message: String,
    #[serde(serialize_with = "quoted")]
    pub hint: String,
    pub retryable: bool,
}

/// Hint for an internal error.
const REPORT: &str = "Try again; if it stays, please report it, with the end of the log.";

impl Fault {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Fault {
        let hint = if code == ErrorCode::Internal { REPORT.to_owned() } else { String::new() };
        Fault { code, message: message.into(), hint, retryable: false }
    }

    /// A fault whose message is `error` followed by each of its causes.
    pub fn caused(code: ErrorCode, error: &dyn Error) -> Fault {
        Fault::new(code, with_causes(error))
    }

    /// A failed read or write; a full disk has the same code wherever it is met.
    pub fn io(code: ErrorCode, doing: impl fmt::Display, error: &io::Error) -> Fault {
        if is_disk_full(error) {
            return Fault::disk_full(doing);
        }
        Fault::new(code, format!("{doing}: {error}"))
    }

    /// A file that cannot be kept.
    pub fn unwritable(doing: impl fmt::Display, error: &io::Error) -> Fault {
        Fault::io(ErrorCode::StateUnwritable, doing, error)
            .hint_if_none("See that this folder is one, that it can be written, and whose it is.")
    }

    pub fn disk_full(doing: impl fmt::Display) -> Fault {
        Fault::new(ErrorCode::DiskFull, format!("{doing}: no space is left on the disk"))
            .hint("Free some space on the disk that holds the state folder, then try again.")
            .retryable()
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = hint.into();
        self
    }

    /// A next step, unless there is one already.
    #[must_use]
    pub fn hint_if_none(self, hint: impl Into<String>) -> Fault {
        if self.hint.is_empty() { self.hint(hint) } else { self }
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
        write!(f, "{}: {}", self.code, in_quotes(&self.message))
    }
}

impl Error for Fault {}

/// Quotes the page text in a message, for people, logs and programs without delimiters.
pub fn in_quotes(text: &str) -> String {
    mark_page_text(text, "\"", "\"")
}

fn quoted<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&in_quotes(text))
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

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the answer")]
    struct Outer {
        source: io::Error,
    }

    #[test]
    fn a_fault_names_the_causes_once() {
        let fault =
            Fault::caused(ErrorCode::Internal, &Outer { source: io::Error::other("the line is dead") });
        assert_eq!(fault.message, "cannot read the answer: the line is dead");
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
        let fault =
            Fault::new(ErrorCode::ElementCovered, format!("covered by {}", browser::PageText::new("a cat")));
        assert_eq!(fault.to_string(), "element_covered: covered by \"a cat\"");
        assert_eq!(serde_json::to_value(&fault).unwrap()["message"], "covered by \"a cat\"");
    }

    #[test]
    fn a_fault_has_four_fields_in_json() {
        let fault = Fault::new(ErrorCode::Cancelled, "a message").hint("a hint");
        assert_eq!(
            serde_json::to_string(&fault).unwrap(),
            r#"{"code":"cancelled","message":"a message","hint":"a hint","retryable":false}"#
        );
    }
}
