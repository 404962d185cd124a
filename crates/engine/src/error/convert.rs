//! Converts errors of other crates into faults.

use super::{Fault, is_disk_full, with_causes};
use audit::AuditError;
use browser::BrowserError;
use egress::Egress;
use error_code::ErrorCode;
use policy::{InvalidUrl, WebUrl};
use redact::Redacted;

/// The fault of a log that cannot be written. Actions stop; reading continues.
pub fn audit_fault(error: AuditError) -> Fault {
    if error.io().is_some_and(is_disk_full) {
        return Fault::disk_full("cannot write the audit log, and no action is performed without a record");
    }
    if matches!(error, AuditError::Corrupt { .. }) {
        return Fault::outside_sessions(ErrorCode::AuditCorrupt, format!("no action is performed without a record: {}", with_causes(&error))).hint(
            "Run `stockade audit verify` to see what happened. Then move the damaged chain's folder away, keep it, and restart.",
        );
    }
    Fault::outside_sessions(
        ErrorCode::AuditUnwritable,
        format!("no action is performed without a record: {}", with_causes(&error)),
    )
    .hint("Check that the audit folder in the state folder is writable; `stockade doctor` tries it.")
    .retryable()
}

/// Explains a failed navigation by the proxy's failure, which is more precise than Chromium's net error.
pub fn explain(error: BrowserError, egress: Option<&Egress>, redact: &dyn Fn(&str) -> Redacted) -> Fault {
    if let BrowserError::NavigationFailed { url, .. } = &error
        && let Ok(url) = WebUrl::parse(url.as_str())
        && let Some(egress) = egress
        && let Some(problem) = egress.last_failure(url.host()).or_else(|| egress.newest_failure())
    {
        return Fault::new(problem.code(), redact(&problem.to_string()))
            .hint(problem.hint())
            .retryable_if(problem.retryable());
    }
    Fault::of_browser(&error, redact)
}

impl Fault {
    /// The fault of a browser's error, which may quote the page: redacted for the session that it belongs to.
    pub fn of_browser(error: &BrowserError, redact: &dyn Fn(&str) -> Redacted) -> Fault {
        let (code, hint, retryable) = (error.code(), error.hint(), error.retryable());
        Fault::new(code, redact(&with_causes(error))).hint(hint).retryable_if(retryable)
    }
}

/// The form for callers who open sessions: `sandbox_runtime_required` where no jail can serve, with the specific code as
/// its cause. Commands about jails and templates answer with the specific code itself.
impl From<jail::JailError> for Fault {
    fn from(error: jail::JailError) -> Fault {
        if !error.is_runtime_unavailable() {
            return Fault::caused(error.code(), &error).hint(Redacted::outside_sessions(error.hint()));
        }
        let hint = match error {
            jail::JailError::RuntimeLost { .. } => {
                "No session can be opened without the jails' keeper, and trying again will not help: restart Stockade."
                    .into()
            }
            _ => Redacted::outside_sessions(error.hint()),
        };
        Fault::caused(ErrorCode::SandboxRuntimeRequired, &error).hint(hint).because(error.code())
    }
}

/// The fault of an invalid or unsupported address.
pub fn bad_address(refusal: &InvalidUrl) -> Fault {
    Fault::outside_sessions(ErrorCode::BadAddress, refusal.to_string())
        .hint("Give a whole address that begins with http:// or https://.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser::AttributedText;
    use jail::template::{Flavour, TemplateError};
    use jail::{JailError, JailId};

    #[test]
    fn rare_errors_have_a_code_and_a_hint() {
        let reason = AttributedText::Driver("it did not answer");
        let broken = base64::DecodeError::InvalidPadding;
        let of_browser = |error| Fault::of_browser(&error, &|text| Redacted::outside_sessions(text));
        for (fault, code) in [
            (audit_fault(AuditError::Gone), "audit_unwritable"),
            (of_browser(BrowserError::PageScript { reason }), "page_script_failed"),
            (of_browser(BrowserError::BadImage { source: broken }), "browser_protocol"),
            (of_browser(BrowserError::TabClosed), "tab_closed"),
            (of_browser(BrowserError::ElementMoving { element: "e1".into() }), "element_moving"),
        ] {
            assert_eq!(fault.code.to_string(), code);
            assert!(!fault.hint.is_empty() && !fault.message.is_empty(), "{fault}");
        }
    }

    #[test]
    fn a_runtime_that_cannot_serve_has_one_code_with_its_cause() {
        let (why, fix) = ("no".to_owned(), "Run: x".to_owned());
        let flavour = Flavour::Headless;
        for (error, cause) in [
            (JailError::RuntimeLost { why: "killed".into() }, ErrorCode::KeeperLost),
            (JailError::BubblewrapMissing, ErrorCode::BubblewrapMissing),
            (JailError::LimitsUnavailable { why, fix }, ErrorCode::LimitsUnavailable),
            (TemplateError::Missing { flavour }.into(), ErrorCode::TemplateMissing),
        ] {
            let fault = Fault::from(error);
            assert_eq!(fault.code, ErrorCode::SandboxRuntimeRequired);
            assert_eq!(fault.cause.as_deref(), Some(&cause));
            assert!(!fault.retryable && !fault.hint.is_empty(), "{fault}");
        }
        let jail = JailId::parse("j-1").unwrap();
        let fault = Fault::from(JailError::StartFailed { id: jail, log: "no".into() });
        assert_eq!((fault.code, fault.cause), (ErrorCode::JailStartFailed, None));
    }
}
