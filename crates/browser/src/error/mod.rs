//! Errors of the driver, for agents: a stable code, a message, a hint for the next step.

mod stale_ref;

pub use stale_ref::StaleRefReason;

use crate::{
    cdp::{CallError, Closed},
    snapshot::PatternError,
    text::{AttributedText, PageText, cut},
};
use error_code::ErrorCode;
use policy::TabId;
use stale_ref::describe;
use std::fmt::Display;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    #[error("{action} did not finish within {seconds} s")]
    Timeout { action: &'static str, seconds: f64 },
    #[error("{url} could not be opened: {net_error}")]
    NavigationFailed { url: PageText, net_error: String },
    #[error("the page tried to leave for a {scheme}: address, and only http: and https: are opened")]
    SchemeRefused { scheme: AttributedText },
    #[error("{url} is a download, and downloads are refused")]
    DownloadRefused { url: PageText },
    #[error("no element matches {wanted}{}", list_candidates(.candidates))]
    ElementNotFound { wanted: String, candidates: Vec<PageText> },
    #[error("{element} is covered by {by}")]
    ElementCovered { element: String, by: AttributedText },
    #[error("{element} is disabled")]
    ElementDisabled { element: String },
    #[error("{element} is not visible")]
    ElementNotVisible { element: String },
    #[error("{element} does not stop moving")]
    ElementMoving { element: String },
    #[error("{element} is not a list to choose from")]
    ElementNotAList { element: String },
    #[error("{element} is not a box to check or uncheck")]
    ElementNotCheckable { element: String },
    #[error("there is no element at that place")]
    NothingThere,
    #[error("{element} has no option {wanted}{}", list_options(*.disabled, .options))]
    NoSuchOption { element: String, wanted: String, disabled: bool, options: Vec<PageText> },
    #[error("{element} takes one option, not several")]
    OneOptionOnly { element: String },
    #[error("{element} did not change")]
    ElementUnchanged { element: String },
    #[error("there is no page to go {way} to")]
    NoHistory { way: &'static str },
    #[error("a {kind} dialog waits for an answer; it says {message}")]
    DialogOpen { kind: &'static str, message: PageText },
    #[error("no dialog is open")]
    NoDialog,
    #[error("there is no tab {tab}")]
    NoSuchTab { tab: TabId },
    #[error("a session has at most {most} tabs")]
    TooManyTabs { most: usize },
    #[error("{element} is not a field that text can be typed into")]
    ElementNotEditable { element: String },
    #[error("{element} takes a date or time in the form {form}")]
    BadDate { element: String, form: &'static str },
    #[error("{element} did not take the focus{}", suffix("; it went to ", .taken_by))]
    FocusLost { element: String, taken_by: Option<AttributedText> },
    /// `page_words` is the role and name of the element, or the URL of its page.
    #[error("{}", describe(.reference, .reason.as_ref(), .page_words.as_ref()))]
    StaleRef { reference: String, reason: Option<StaleRefReason>, page_words: Option<PageText> },
    #[error("the cursor {cursor} is no longer valid")]
    StaleCursor { cursor: String },
    #[error("the search did not run")]
    BadPattern { source: PatternError },
    #[error("{element} changed between the decision and the action: {what}")]
    TargetChanged { element: String, what: &'static str },
    /// The control plane asks the kernel whether memory was the cause.
    #[error("the tab crashed{}", suffix(": ", .status))]
    TabCrashed { status: Option<String> },
    #[error("the tab closed itself")]
    TabClosed,
    #[error("the page opened windows without end, so its tab was closed")]
    TooManyWindows,
    #[error("the browser is gone: {closed}")]
    BrowserLost { closed: Closed },
    #[error("the page could not be examined: {reason}")]
    PageScript { reason: AttributedText },
    /// Names the credential, never its value.
    #[error("{what} could not be injected into the browser: {why}")]
    NotInjected { what: String, why: String },
    #[error("Chromium refused a command")]
    Protocol { source: CallError },
    #[error("Chromium sent a screenshot that is not an image")]
    BadImage { source: base64::DecodeError },
    #[error("the screenshot could not be masked: {why}")]
    BadScreenshot { why: String },
    #[error("typed text could not be masked in a screenshot: {why}")]
    MaskFailed { why: &'static str },
}

impl BrowserError {
    /// A ref without an element. `Browser::explain_stale_ref` adds the reason where the call ends.
    pub(crate) fn stale(reference: &str) -> BrowserError {
        BrowserError::StaleRef { reference: cut(reference, 32), reason: None, page_words: None }
    }

    pub(crate) fn not_injected(what: impl Display, why: impl Into<String>) -> BrowserError {
        BrowserError::NotInjected { what: what.to_string(), why: why.into() }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            BrowserError::Timeout { action, seconds } => {
                let limit = Duration::try_from_secs_f64(*seconds).unwrap_or_default();
                ErrorCode::BrowserActionTimeout { action: (*action).to_owned(), limit }
            }
            BrowserError::NavigationFailed { .. } => ErrorCode::NavigationFailed,
            BrowserError::SchemeRefused { .. } => ErrorCode::BlockedScheme,
            BrowserError::DownloadRefused { .. } => ErrorCode::DownloadRefused,
            BrowserError::ElementNotFound { .. } => ErrorCode::ElementNotFound,
            BrowserError::ElementCovered { .. } => ErrorCode::ElementCovered,
            BrowserError::ElementDisabled { .. } => ErrorCode::ElementDisabled,
            BrowserError::ElementNotVisible { .. } => ErrorCode::ElementNotVisible,
            BrowserError::ElementMoving { .. } => ErrorCode::ElementMoving,
            BrowserError::ElementNotAList { .. } => ErrorCode::ElementNotAList,
            BrowserError::ElementNotCheckable { .. } => ErrorCode::ElementNotCheckable,
            BrowserError::NothingThere => ErrorCode::NothingThere,
            BrowserError::NoSuchOption { .. } => ErrorCode::NoSuchOption,
            BrowserError::OneOptionOnly { .. } => ErrorCode::OneOptionOnly,
            BrowserError::ElementUnchanged { .. } => ErrorCode::ElementUnchanged,
            BrowserError::NoHistory { .. } => ErrorCode::NoHistory,
            BrowserError::DialogOpen { .. } => ErrorCode::DialogOpen,
            BrowserError::NoDialog => ErrorCode::NoDialog,
            BrowserError::NoSuchTab { .. } => ErrorCode::NoSuchTab,
            BrowserError::TooManyTabs { .. } => ErrorCode::TooManyTabs,
            BrowserError::ElementNotEditable { .. } => ErrorCode::ElementNotEditable,
            BrowserError::BadDate { .. } => ErrorCode::BadDate,
            BrowserError::FocusLost { .. } => ErrorCode::FocusLost,
            BrowserError::StaleRef { .. } => ErrorCode::StaleRef,
            BrowserError::StaleCursor { .. } => ErrorCode::StaleCursor,
            BrowserError::BadPattern { .. } => ErrorCode::BadArguments,
            BrowserError::TargetChanged { .. } => ErrorCode::TargetChanged,
            BrowserError::TabCrashed { .. } => ErrorCode::TabCrashed,
            BrowserError::TabClosed | BrowserError::TooManyWindows => ErrorCode::TabClosed,
            BrowserError::BrowserLost { .. } => ErrorCode::BrowserLost,
            BrowserError::PageScript { .. } => ErrorCode::PageScriptFailed,
            BrowserError::NotInjected { .. } => ErrorCode::InjectionFailed,
            BrowserError::MaskFailed { .. } => ErrorCode::CannotCover,
            BrowserError::Protocol { .. }
            | BrowserError::BadImage { .. }
            | BrowserError::BadScreenshot { .. } => ErrorCode::BrowserProtocol,
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            BrowserError::Timeout { .. } => {
                "Read the page to see what happened, then try again or raise timeout_seconds."
            }
            BrowserError::NavigationFailed { .. } => {
                "Check the address, and that the site is up and allowed."
            }
            BrowserError::SchemeRefused { .. } => "Stay on http: and https: pages; this cannot be allowed.",
            BrowserError::DownloadRefused { .. } => "Look for the same content on a page.",
            BrowserError::ElementNotFound { .. } => {
                "Read the page, and use a role and name, or a ref, from it."
            }
            BrowserError::ElementCovered { .. } => "Close or move what covers it first.",
            BrowserError::ElementDisabled { .. } => "See what the page still needs before this can be used.",
            BrowserError::ElementNotVisible { .. } => {
                "Open the part of the page that holds it first; an option of a native list is chosen with browser_select."
            }
            BrowserError::ElementMoving { .. } => "Wait until it stops moving, then try again.",
            BrowserError::ElementNotAList { .. } => {
                "Click it to open its list, read the page, and click the option."
            }
            BrowserError::ElementNotCheckable { .. } => {
                "Read the page, and choose a checkbox, radio or switch."
            }
            BrowserError::NothingThere => "Name the element by its ref, or by role and name.",
            BrowserError::NoSuchOption { .. } => {
                "Choose an option by its visible text, or by option_index, which also works for a redacted one."
            }
            BrowserError::OneOptionOnly { .. } => "Choose one.",
            BrowserError::ElementUnchanged { .. } => {
                "The page ignored it. Read the page to see what it needs first."
            }
            BrowserError::NoHistory { .. } => "Navigate to an address instead.",
            BrowserError::DialogOpen { .. } => {
                "Answer it with browser_dialog; nothing else works on this page until then."
            }
            BrowserError::NoDialog => "Nothing to do; continue with the page.",
            BrowserError::NoSuchTab { .. } => "List the tabs with browser_tabs.",
            BrowserError::TooManyTabs { .. } => "Close one first, with browser_tabs.",
            BrowserError::ElementNotEditable { .. } => "Read the page, and choose a text field.",
            BrowserError::BadDate { .. } => "Type it in that form, whatever form the page shows it in.",
            BrowserError::FocusLost { .. } => {
                "The page moves the focus; click the field, then read the page."
            }
            BrowserError::StaleRef { reason: Some(StaleRefReason::InBackgroundTab(_)), .. } => {
                "Switch to that tab with browser_tabs first."
            }
            BrowserError::StaleRef { .. } => "Read the page again, and use a ref from the new snapshot.",
            BrowserError::StaleCursor { .. } => {
                "Read the page again, without a cursor, and use a cursor from the new snapshot."
            }
            BrowserError::BadPattern { .. } => "Give a simpler regular expression, or use text instead.",
            BrowserError::TargetChanged { .. } => "Read the page again before you act on it.",
            BrowserError::TabCrashed { .. } => "The next call gets a new, empty tab; navigate again.",
            BrowserError::TabClosed => {
                "The next call uses the tab before it, or a new, empty one: read it first."
            }
            BrowserError::TooManyWindows => {
                "Avoid that page. The next call gets a new, empty tab; browser_tabs lists what it opened."
            }
            BrowserError::BrowserLost { .. } => "Open a new session.",
            BrowserError::PageScript { .. } => "Try again; if it fails again, navigate to the page again.",
            BrowserError::NotInjected { .. } => "Ask the operator to correct or renew the credential.",
            BrowserError::MaskFailed { .. } => {
                "Nothing to do: the screenshot was discarded, and the log says so."
            }
            BrowserError::Protocol { .. }
            | BrowserError::BadImage { .. }
            | BrowserError::BadScreenshot { .. } => {
                "Try again. If it fails again, open a new session and report it."
            }
        }
    }

    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            BrowserError::Timeout { .. }
            | BrowserError::ElementMoving { .. }
            | BrowserError::NavigationFailed { .. }
            | BrowserError::FocusLost { .. }
            | BrowserError::TargetChanged { .. }
            | BrowserError::TabCrashed { .. }
            | BrowserError::TabClosed
            | BrowserError::MaskFailed { .. }
            | BrowserError::PageScript { .. } => true,
            BrowserError::TooManyWindows
            | BrowserError::SchemeRefused { .. }
            | BrowserError::DownloadRefused { .. }
            | BrowserError::ElementNotFound { .. }
            | BrowserError::ElementCovered { .. }
            | BrowserError::ElementDisabled { .. }
            | BrowserError::ElementNotVisible { .. }
            | BrowserError::ElementNotEditable { .. }
            | BrowserError::BadDate { .. }
            | BrowserError::ElementNotAList { .. }
            | BrowserError::ElementNotCheckable { .. }
            | BrowserError::NothingThere
            | BrowserError::NoSuchOption { .. }
            | BrowserError::OneOptionOnly { .. }
            | BrowserError::ElementUnchanged { .. }
            | BrowserError::NoHistory { .. }
            | BrowserError::DialogOpen { .. }
            | BrowserError::NoDialog
            | BrowserError::NoSuchTab { .. }
            | BrowserError::TooManyTabs { .. }
            | BrowserError::StaleRef { .. }
            | BrowserError::StaleCursor { .. }
            | BrowserError::BadPattern { .. }
            | BrowserError::BrowserLost { .. }
            | BrowserError::NotInjected { .. }
            | BrowserError::Protocol { .. }
            | BrowserError::BadImage { .. }
            | BrowserError::BadScreenshot { .. } => false,
        }
    }
}

fn suffix(words: &str, detail: &Option<impl Display>) -> String {
    detail.as_ref().map(|detail| format!("{words}{detail}")).unwrap_or_default()
}

fn list_options(disabled: bool, options: &[PageText]) -> String {
    let labels: Vec<_> = options.iter().map(|option| format!("{:?}", option.as_str())).collect();
    let why = if disabled { " that can be chosen" } else { "" };
    format!("{why}; it has {}", PageText::new(&labels.join(", ")))
}

fn list_candidates(candidates: &[PageText]) -> String {
    if candidates.is_empty() {
        return String::new();
    }
    let labels: Vec<_> = candidates.iter().map(PageText::as_str).collect();
    format!("; near it are {}", PageText::new(&labels.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::mark_page_text;

    #[test]
    fn an_error_has_a_code_and_a_message() {
        for (error, code, message) in [
            (
                BrowserError::Timeout { action: "navigate", seconds: 30.0 },
                "browser_action_timeout",
                "navigate did not finish within 30 s",
            ),
            (
                BrowserError::ElementNotFound {
                    wanted: "button \"Buy\"".into(),
                    candidates: vec![PageText::new("button \"Buy now\""), PageText::new("link \"Buy\"")],
                },
                "element_not_found",
                "no element matches button \"Buy\"; near it are <button \"Buy now\", link \"Buy\">",
            ),
            (BrowserError::TabCrashed { status: None }, "tab_crashed", "the tab crashed"),
            (
                BrowserError::TabCrashed { status: Some("killed".into()) },
                "tab_crashed",
                "the tab crashed: killed",
            ),
        ] {
            let text = mark_page_text(&error.to_string(), "<", ">");
            assert_eq!((error.code().name(), text.as_str()), (code, message));
        }
    }
}
