//! Why a ref no longer resolves to an element, and the message that says so.

use crate::text::PageText;
use policy::TabId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StaleRefReason {
    NeverIssued,
    /// The element was removed. `replacement` is the ref of the only element with the same role and name.
    Removed {
        replacement: Option<String>,
    },
    /// The element is in the document of another frame, and has another ref there.
    MovedToOtherFrame,
    /// The element exists, but snapshots do not include it any more.
    NotInSnapshots,
    PageNavigated,
    FrameNavigated,
    FrameRemoved,
    TabClosed,
    InBackgroundTab(TabId),
}

/// The message for a stale ref; the element's role and name, or the page's URL, is in brackets.
pub(super) fn describe(
    reference: &str,
    reason: Option<&StaleRefReason>,
    page_words: Option<&PageText>,
) -> String {
    let what = match reason {
        None => return format!("no element on this page has the ref {reference}"),
        Some(StaleRefReason::NeverIssued) => return format!("the ref {reference} was never issued"),
        Some(StaleRefReason::Removed { .. }) => "was removed from the page",
        Some(StaleRefReason::MovedToOtherFrame) => "was moved into another frame",
        Some(StaleRefReason::NotInSnapshots) => "is still on the page, but is no longer actionable",
        Some(StaleRefReason::PageNavigated) => "was on a page that the tab has left",
        Some(StaleRefReason::FrameNavigated) => "was in a frame that shows another page now",
        Some(StaleRefReason::FrameRemoved) => "was in a frame that is gone",
        Some(StaleRefReason::TabClosed) => "was in a tab that is gone",
        Some(StaleRefReason::InBackgroundTab(tab)) => {
            return format!("{reference} is in the tab {tab}, which is not in front");
        }
    };
    let words = page_words.map(|words| format!(" ({words})")).unwrap_or_default();
    let replacement = match reason {
        Some(StaleRefReason::Removed { replacement: Some(replacement) }) => {
            format!("; a similar element now has the ref {replacement}")
        }
        _ => String::new(),
    };
    format!("{reference}{words} {what}{replacement}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::BrowserError, text::mark_page_text};

    #[test]
    fn a_stale_ref_says_why_it_is_stale() {
        let replacement = Some("e31".to_owned());
        for (reason, page_words, expected) in [
            (None, None, "no element on this page has the ref e12"),
            (Some(StaleRefReason::NeverIssued), None, "the ref e12 was never issued"),
            (
                Some(StaleRefReason::Removed { replacement: None }),
                Some("button \"Pay\""),
                "e12 (button \"Pay\") was removed from the page",
            ),
            (
                Some(StaleRefReason::Removed { replacement }),
                Some("button \"Pay\""),
                "e12 (button \"Pay\") was removed from the page; a similar element now has the ref e31",
            ),
            (Some(StaleRefReason::Removed { replacement: None }), None, "e12 was removed from the page"),
            (
                Some(StaleRefReason::PageNavigated),
                Some("http://a/"),
                "e12 (http://a/) was on a page that the tab has left",
            ),
        ] {
            let page_words = page_words.map(PageText::new);
            let error = BrowserError::StaleRef { reference: "e12".into(), reason, page_words };
            let message = mark_page_text(&error.to_string(), "", "");
            assert_eq!((error.code().name(), message.as_str()), ("stale_ref", expected));
        }
    }
}
