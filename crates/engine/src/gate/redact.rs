//! The last station: what goes out carries no secret that was put into the session.

use crate::error::Fault;
use crate::logins::SessionSecrets;
use crate::session::Session;
use browser::{Content, Incident, Outcome, PageAfterAction, PageText, SearchResult, Snapshot, TreeNode};
use std::sync::Arc;

/// The secrets of one session, and how to take them out of what its caller receives.
///
/// A `clean` session has none.
pub struct Redactor {
    secrets: Arc<SessionSecrets>,
}

impl Redactor {
    pub fn for_session(session: &Session) -> Redactor {
        Redactor { secrets: session.secrets.clone() }
    }

    pub fn text(&self, text: &str) -> String {
        self.secrets.text(text).into_owned()
    }

    pub fn fault(&self, fault: Fault) -> Fault {
        Fault { message: self.text(&fault.message), hint: self.text(&fault.hint), ..fault }
    }

    pub fn outcome(&self, mut outcome: Outcome) -> Outcome {
        // Most sessions have nothing to hide, and their pages need no copy.
        if self.secrets.is_empty() {
            return outcome;
        }
        match &mut outcome {
            Outcome::Navigated { final_url, title, snapshot, incidents, .. } => {
                self.mask(final_url);
                self.mask(title);
                self.snapshot(snapshot);
                self.incidents(incidents);
            }
            Outcome::Acted(after) => self.after(after),
            Outcome::Read(snapshot) => self.snapshot(snapshot),
            Outcome::Dom(dom) => {
                self.mask(&mut dom.url);
                self.mask(&mut dom.title);
                self.mask_words(&mut dom.html);
            }
            Outcome::Found(found) => self.found(found),
            Outcome::Tabs(tabs) => {
                for tab in tabs {
                    self.mask_words(&mut tab.url);
                    self.mask_words(&mut tab.title);
                }
            }
            Outcome::Screenshot(_) => {}
        }
        outcome
    }

    fn after(
        &self,
        PageAfterAction { url, title, navigated: _, snapshot, dialog, note, incidents }: &mut PageAfterAction,
    ) {
        self.mask(url);
        self.mask(title);
        if let Some(snapshot) = snapshot {
            self.snapshot(snapshot);
        }
        if let Some(dialog) = dialog {
            self.mask_words(&mut dialog.message);
        }
        if let Some(note) = note {
            self.mask(note);
        }
        self.incidents(incidents);
    }

    fn snapshot(&self, snapshot: &mut Snapshot) {
        self.mask(&mut snapshot.url);
        self.mask(&mut snapshot.title);
        match &mut snapshot.content {
            Content::Outline(text) | Content::Markdown(text) | Content::Changes { text, .. } => {
                self.mask(text)
            }
            Content::Tree(tree) => {
                self.mask(&mut tree.text_content);
                tree.interactive_elements.iter_mut().for_each(|element| {
                    self.mask(&mut element.name);
                    element.visible_label.iter_mut().for_each(|shows| self.mask(shows));
                });
                self.node(&mut tree.snapshot);
            }
        }
    }

    fn found(&self, found: &mut SearchResult) {
        self.mask(&mut found.url);
        self.mask(&mut found.title);
        self.mask(&mut found.text);
        for one in &mut found.matches {
            self.mask(&mut one.excerpt);
            self.mask(&mut one.path);
            one.visible_label.iter_mut().for_each(|shows| self.mask(shows));
        }
    }

    /// A tree has at most 64 levels, so this does not run deep.
    fn node(&self, node: &mut TreeNode) {
        self.mask(&mut node.name);
        [&mut node.value, &mut node.visible_label].into_iter().flatten().for_each(|text| self.mask(text));
        node.children.iter_mut().for_each(|child| self.node(child));
    }

    fn incidents(&self, incidents: &mut [Incident]) {
        for incident in incidents {
            match incident {
                Incident::Dialog { message, .. } => self.mask_words(message),
                Incident::PopupClosed { url }
                | Incident::DownloadRefused { url }
                | Incident::TabOpened { url, .. } => self.mask_words(url),
                Incident::TabGone { .. }
                | Incident::TabChanged { .. }
                | Incident::UploadRefused
                | Incident::SchemeRefused { .. }
                | Incident::StillLoading => {}
            }
        }
    }

    fn mask_words(&self, words: &mut PageText) {
        *words = PageText::new(&self.text(words.as_str()));
    }

    fn mask(&self, text: &mut String) {
        *text = self.text(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use browser::{CleanedHtml, PendingDialog, TabInfo};
    use policy::TabId;

    fn knowing(secret: &str) -> Redactor {
        Redactor { secrets: Arc::new(SessionSecrets::knowing(&[secret])) }
    }

    #[test]
    fn a_secret_does_not_leave() {
        let redactor = knowing("hunter2");
        assert_eq!(redactor.text("the password is hunter2!"), "the password is [redacted]!");
        let fault =
            redactor.fault(Fault::new(error_code::ErrorCode::NavigationFailed, "no page at /?t=hunter2"));
        assert_eq!(fault.message, "no page at /?t=[redacted]");
    }

    #[test]
    fn a_secret_is_masked_wherever_a_page_shows_it() {
        let redactor = knowing("hunter2");
        let snapshot = Snapshot {
            url: "http://a/?hunter2".into(),
            title: "hunter2".into(),
            status: None,
            serial: 1,
            content: Content::Outline("- textbox \"hunter2\"".into()),
            left_out: 0,
        };
        let dialog = Incident::Dialog { kind: "alert".into(), message: "hunter2".into(), accepted: false };
        let after = PageAfterAction {
            url: "http://a/?hunter2".into(),
            title: "hunter2".into(),
            navigated: false,
            snapshot: Some(snapshot),
            dialog: Some(PendingDialog { kind: "prompt", message: "hunter2?".into() }),
            note: Some("hunter2 was chosen".into()),
            incidents: vec![dialog],
        };
        let tab = |text: &str| TabInfo { id: TabId(1), url: text.into(), title: text.into(), current: true };
        let dom = CleanedHtml {
            url: "hunter2".into(),
            title: "hunter2".into(),
            html: "<p>hunter2".into(),
            truncated: false,
        };
        for outcome in [Outcome::Acted(after), Outcome::Tabs(vec![tab("hunter2")]), Outcome::Dom(dom)] {
            let shown = format!("{:?}", redactor.outcome(outcome));
            assert!(!shown.contains("hunter2") && shown.contains("[redacted]"), "{shown}");
        }
    }
}
