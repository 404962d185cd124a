//! What became of a ref that stands for nothing any more.

use crate::{
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    page_text::PageText,
    script::ScriptFunction,
    text::cut,
};
use policy::TabId;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the page may take to tell; without its answer the ref is just gone.
const TELLING: Duration = Duration::from_secs(3);
const LONGEST_NAME: usize = 120;
const LONGEST_ROLE: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    NeverGiven,
    /// Its element is gone from the page. `like` is the ref of the one element with its role and name.
    Removed {
        like: Option<String>,
    },
    /// Its element is in the document of another frame, and has another ref there.
    Moved,
    /// Its element is there, and is nothing that snapshots tell any more.
    Untold,
    PageLeft,
    FrameLeft,
    FrameGone,
    TabGone,
    /// Its element is in a tab that is not in front.
    Behind(TabId),
}

/// A ref and what became of it; what the page called it, or where the page was, stands in brackets.
pub(crate) fn told(reference: &str, fate: Option<&Fate>, page_words: Option<&PageText>) -> String {
    let what = match fate {
        None => return format!("the ref {reference} stands for nothing on this page any more"),
        Some(Fate::NeverGiven) => return format!("the ref {reference} was never given"),
        Some(Fate::Removed { .. }) => "was removed from the page",
        Some(Fate::Moved) => "was moved into another frame",
        Some(Fate::Untold) => "is still on the page, but is nothing to act on any more",
        Some(Fate::PageLeft) => "was on a page that was left for another",
        Some(Fate::FrameLeft) => "was in a frame that shows another page now",
        Some(Fate::FrameGone) => "was in a frame that is gone",
        Some(Fate::TabGone) => "was in a tab that is gone",
        Some(Fate::Behind(tab)) => return format!("{reference} is in the tab {tab}, which is not in front"),
    };
    let words = page_words.map(|words| format!(" ({words})")).unwrap_or_default();
    let like = match fate {
        Some(Fate::Removed { like: Some(like) }) => format!("; one like it is there now as {like}"),
        _ => String::new(),
    };
    format!("{reference}{words} {what}{like}")
}

#[derive(Serialize)]
struct Asked<'a> {
    prefix: &'a str,
    number: u64,
    options: &'a SnapshotOptions,
}

#[derive(Deserialize)]
struct Answer {
    fate: Kind,
    role: Option<String>,
    name: Option<String>,
    like: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    NeverGiven,
    Removed,
    Moved,
    Untold,
    Hidden,
}

impl Browser {
    /// Adds to a stale ref what became of it. Only errors that reach the caller are worth the asking.
    pub(crate) async fn with_fate(&self, error: BrowserError, deadline: Deadline) -> BrowserError {
        let BrowserError::StaleRef { reference, fate: None, .. } = error else { return error };
        let limit = deadline.within(TELLING);
        match parse_ref(&reference) {
            None => BrowserError::StaleRef { reference, fate: Some(Fate::NeverGiven), page_words: None },
            Some((serial, number)) => self.tell_fate(reference, serial, number, limit).await,
        }
    }

    async fn tell_fate(&self, reference: String, serial: u32, number: u64, limit: Deadline) -> BrowserError {
        let (frame, prefix) = {
            let mut state = self.shared.lock();
            let behind = state.behind.iter().find(|tab| tab.frames.by_serial(serial).is_some());
            let behind = behind.map(|tab| tab.id);
            let Some(tab) = state.tab.as_mut() else { return BrowserError::TabClosed };
            if let Some(behind) = behind {
                return BrowserError::StaleRef {
                    reference,
                    fate: Some(Fate::Behind(behind)),
                    page_words: None,
                };
            }
            match tab.frames.by_serial(serial).cloned() {
                Some(frame) => {
                    let prefix = tab.frames.prefix(&frame).unwrap_or_default();
                    (frame, prefix)
                }
                None => {
                    let (fate, url) = tab.frames.fate(serial, &tab.target);
                    let page_words = url.map(|url| PageText::new(&url));
                    return BrowserError::StaleRef { reference, fate: Some(fate), page_words };
                }
            }
        };
        let asked = Asked { prefix: &prefix, number, options: &self.options.snapshot };
        // A page that cannot tell leaves the ref as it is: gone.
        let Ok(answer) = self.ask::<_, Answer>(&frame, ScriptFunction::DescribeStaleRef, &asked, limit).await
        else {
            return BrowserError::StaleRef { reference, fate: None, page_words: None };
        };
        let like = answer.like.filter(|like| parse_ref(like).is_some_and(|(of, _)| of == serial));
        let fate = match answer.fate {
            Kind::Hidden => return BrowserError::ElementNotVisible { element: reference },
            Kind::NeverGiven => Fate::NeverGiven,
            Kind::Removed => Fate::Removed { like },
            Kind::Moved => Fate::Moved,
            Kind::Untold => Fate::Untold,
        };
        let role = answer.role.filter(|role| is_role(role));
        let page_words = role.map(|role| match answer.name.filter(|name| !name.is_empty()) {
            Some(name) => PageText::new(&format!("{role} {:?}", cut(&name, LONGEST_NAME))),
            None => PageText::new(&role),
        });
        BrowserError::StaleRef { reference, fate: Some(fate), page_words }
    }
}

/// A renderer that a page took over sends what it likes.
fn is_role(role: &str) -> bool {
    !role.is_empty() && role.len() <= LONGEST_ROLE && role.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_text::mark_page_text;

    #[test]
    fn a_stale_ref_says_what_became_of_it() {
        let like = Some("e31".to_owned());
        for (fate, page_words, expected) in [
            (None, None, "the ref e12 stands for nothing on this page any more"),
            (Some(Fate::NeverGiven), None, "the ref e12 was never given"),
            (
                Some(Fate::Removed { like: None }),
                Some("button \"Pay\""),
                "e12 (button \"Pay\") was removed from the page",
            ),
            (
                Some(Fate::Removed { like }),
                Some("button \"Pay\""),
                "e12 (button \"Pay\") was removed from the page; one like it is there now as e31",
            ),
            (Some(Fate::Removed { like: None }), None, "e12 was removed from the page"),
            (
                Some(Fate::PageLeft),
                Some("http://a/"),
                "e12 (http://a/) was on a page that was left for another",
            ),
        ] {
            let page_words = page_words.map(PageText::new);
            let error = BrowserError::StaleRef { reference: "e12".into(), fate, page_words };
            let told = mark_page_text(&error.to_string(), "", "");
            assert_eq!((error.code().as_ref(), told.as_str()), ("stale_ref", expected));
        }
    }
}
