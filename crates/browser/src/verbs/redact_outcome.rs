//! Redaction of an outcome: every text of it goes through the redactor.
//!
//! Each type is taken apart whole, so that a new field does not compile before somebody decides what it is.

use super::{CleanedHtml, Outcome, PageAfterAction, PendingDialog, RedactedOutcome, TabInfo};
use crate::snapshot::{
    Content, InteractiveElement, JsonTree, NodeStates, SearchMatch, SearchResult, Snapshot, TreeNode,
};
use crate::state::Incident;
use crate::text::{PageText, RedactedPageText};
use redact::Redacted;

/// Redacts one text. It takes the text by value: most have nothing to mask and are not copied.
type Redact<'a> = &'a dyn Fn(String) -> Redacted;

impl Outcome {
    pub fn redact(self, redact: Redact<'_>) -> RedactedOutcome {
        match self {
            Outcome::Navigated { final_url, title, status, snapshot, incidents } => Outcome::Navigated {
                final_url: redact(final_url),
                title: redact(title),
                status,
                snapshot: redact_snapshot(snapshot, redact),
                incidents: redact_incidents(incidents, redact),
            },
            Outcome::Acted(after) => Outcome::Acted(after.redact(redact)),
            Outcome::Read(snapshot) => Outcome::Read(redact_snapshot(snapshot, redact)),
            Outcome::Dom(CleanedHtml { url, title, html, truncated }) => Outcome::Dom(CleanedHtml {
                url: redact(url),
                title: redact(title),
                html: redact_page_text(html, redact),
                truncated,
            }),
            Outcome::Found(found) => Outcome::Found(redact_search(found, redact)),
            // Masked when it was taken.
            Outcome::Screenshot(image) => Outcome::Screenshot(image),
            Outcome::Tabs(tabs) => Outcome::Tabs(
                tabs.into_iter()
                    .map(|TabInfo { id, url, title, current }| TabInfo {
                        id,
                        url: redact_page_text(url, redact),
                        title: redact_page_text(title, redact),
                        current,
                    })
                    .collect(),
            ),
        }
    }
}

impl PageAfterAction {
    pub fn redact(self, redact: Redact<'_>) -> PageAfterAction<Redacted, RedactedPageText> {
        let PageAfterAction { url, title, navigated, snapshot, dialog, note, incidents } = self;
        PageAfterAction {
            url: redact(url),
            title: redact(title),
            navigated,
            snapshot: snapshot.map(|snapshot| redact_snapshot(snapshot, redact)),
            dialog: dialog.map(|PendingDialog { kind, message }| PendingDialog {
                kind,
                message: redact_page_text(message, redact),
            }),
            note: note.map(redact),
            incidents: redact_incidents(incidents, redact),
        }
    }
}

fn redact_page_text(text: PageText, redact: Redact<'_>) -> RedactedPageText {
    RedactedPageText::new(&redact(text.into_string()))
}

fn redact_snapshot(snapshot: Snapshot, redact: Redact<'_>) -> Snapshot<Redacted> {
    let Snapshot { url, title, status, serial, content, left_out } = snapshot;
    let content = match content {
        Content::Outline(text) => Content::Outline(redact(text)),
        Content::Markdown(text) => Content::Markdown(redact(text)),
        Content::Tree(tree) => Content::Tree(Box::new(redact_tree(*tree, redact))),
        Content::Changes { since, text } => Content::Changes { since, text: redact(text) },
    };
    Snapshot { url: redact(url), title: redact(title), status, serial, content, left_out }
}

fn redact_tree(tree: JsonTree, redact: Redact<'_>) -> JsonTree<Redacted> {
    let JsonTree { snapshot, interactive_elements, text_content } = tree;
    let elements = interactive_elements.into_iter().map(|element| {
        let InteractiveElement { role, name, reference, visible_label, unseen } = element;
        InteractiveElement {
            role: redact(role),
            name: name.map(redact),
            reference: redact(reference),
            visible_label: visible_label.map(redact),
            unseen,
        }
    });
    JsonTree {
        interactive_elements: elements.collect(),
        snapshot: redact_node(snapshot, redact),
        text_content: redact(text_content),
    }
}

/// A tree has at most 64 levels, so this does not recurse deeply.
fn redact_node(node: TreeNode, redact: Redact<'_>) -> TreeNode<Redacted> {
    let TreeNode { role, name, value, reference, states, visible_label, element_box, cursor, children } =
        node;
    TreeNode {
        role: redact(role),
        name: name.map(redact),
        value: value.map(redact),
        reference: reference.map(redact),
        element_box,
        states: redact_states(states, redact),
        visible_label: visible_label.map(redact),
        cursor: cursor.map(redact),
        children: children.into_iter().map(|child| redact_node(child, redact)).collect(),
    }
}

fn redact_states(states: NodeStates, redact: Redact<'_>) -> NodeStates<Redacted> {
    let NodeStates {
        level,
        checked,
        expanded,
        pressed,
        selected,
        disabled,
        required,
        readonly,
        invalid,
        current,
        multiline,
        focused,
        secret,
        unseen,
        hidden,
    } = states;
    NodeStates {
        level,
        checked: checked.map(redact),
        expanded,
        pressed,
        selected,
        disabled,
        required,
        readonly,
        invalid,
        current,
        multiline,
        focused,
        secret,
        unseen,
        hidden,
    }
}

fn redact_search(found: SearchResult, redact: Redact<'_>) -> SearchResult<Redacted> {
    let SearchResult { url, title, text, matches, total, next_offset, partial, out_of_time } = found;
    let matches = matches.into_iter().map(|found| {
        let SearchMatch { role, excerpt, reference, visible_label, unseen, path, cursor } = found;
        SearchMatch {
            role: redact(role),
            excerpt: redact(excerpt),
            reference: reference.map(redact),
            visible_label: visible_label.map(redact),
            unseen,
            path: redact(path),
            cursor: redact(cursor),
        }
    });
    SearchResult {
        url: redact(url),
        title: redact(title),
        text: redact(text),
        matches: matches.collect(),
        total,
        next_offset,
        partial,
        out_of_time,
    }
}

fn redact_incidents(incidents: Vec<Incident>, redact: Redact<'_>) -> Vec<Incident<RedactedPageText>> {
    let page = |text| redact_page_text(text, redact);
    let redacted = incidents.into_iter().map(|incident| match incident {
        Incident::Dialog { kind, message, accepted } => {
            Incident::Dialog { kind, message: page(message), accepted }
        }
        Incident::TabOpened { tab, url } => Incident::TabOpened { tab, url: page(url) },
        Incident::TabGone { tab } => Incident::TabGone { tab },
        Incident::TabChanged { tab } => Incident::TabChanged { tab },
        Incident::UploadRefused => Incident::UploadRefused,
        Incident::PopupClosed { url } => Incident::PopupClosed { url: page(url) },
        Incident::DownloadRefused { url } => Incident::DownloadRefused { url: page(url) },
        Incident::SchemeRefused { scheme } => Incident::SchemeRefused { scheme: page(scheme) },
        Incident::StillLoading => Incident::StillLoading,
        Incident::LoadingStopped => Incident::LoadingStopped,
    });
    redacted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::TabId;
    use redact::{Redactor, Secret};

    #[test]
    fn a_secret_is_masked_wherever_a_page_shows_it() {
        let redactor = Redactor::new(&[Secret::new("hunter2-hunter2".to_owned())]);
        let secret = || "say hunter2-hunter2".to_owned();
        let snapshot = |content| Snapshot {
            url: secret(),
            title: secret(),
            status: None,
            serial: 1,
            content,
            left_out: 0,
        };
        let node = |children| TreeNode {
            role: secret(),
            name: Some(secret()),
            value: Some(secret()),
            reference: Some(secret()),
            element_box: None,
            states: NodeStates { checked: Some(secret()), ..NodeStates::default() },
            visible_label: Some(secret()),
            cursor: Some(secret()),
            children,
        };
        let element = InteractiveElement {
            role: secret(),
            name: Some(secret()),
            reference: secret(),
            visible_label: Some(secret()),
            unseen: false,
        };
        let tree = JsonTree {
            snapshot: node(vec![node(Vec::new())]),
            interactive_elements: vec![element],
            text_content: secret(),
        };
        let page = || PageText::new(&secret());
        let after = PageAfterAction {
            url: secret(),
            title: secret(),
            navigated: false,
            snapshot: Some(snapshot(Content::Changes { since: 1, text: secret() })),
            dialog: Some(PendingDialog { kind: "prompt", message: page() }),
            note: Some(secret()),
            incidents: vec![
                Incident::Dialog { kind: "alert", message: page(), accepted: false },
                Incident::TabOpened { tab: TabId(1), url: page() },
                Incident::PopupClosed { url: page() },
                Incident::DownloadRefused { url: page() },
                Incident::SchemeRefused { scheme: page() },
            ],
        };
        let found = SearchMatch {
            role: secret(),
            excerpt: secret(),
            reference: Some(secret()),
            visible_label: Some(secret()),
            unseen: false,
            path: secret(),
            cursor: secret(),
        };
        for (outcome, texts) in [
            (
                Outcome::Navigated {
                    final_url: secret(),
                    title: secret(),
                    status: None,
                    snapshot: snapshot(Content::Tree(Box::new(tree))),
                    incidents: Vec::new(),
                },
                2 + 2 + 2 * 7 + 4 + 1,
            ),
            (Outcome::Acted(after), 2 + 3 + 1 + 1 + 5),
            (Outcome::Read(snapshot(Content::Outline(secret()))), 3),
            (Outcome::Read(snapshot(Content::Markdown(secret()))), 3),
            (Outcome::Dom(CleanedHtml { url: secret(), title: secret(), html: page(), truncated: false }), 3),
            (
                Outcome::Found(SearchResult {
                    url: secret(),
                    title: secret(),
                    text: secret(),
                    matches: vec![found],
                    total: 1,
                    next_offset: None,
                    partial: false,
                    out_of_time: false,
                }),
                3 + 6,
            ),
            (Outcome::Tabs(vec![TabInfo { id: TabId(1), url: page(), title: page(), current: true }]), 2),
        ] {
            let shown = format!("{:?}", outcome.redact(&|text| redactor.redact_owned(text)));
            assert!(!shown.contains("hunter2"), "{shown}");
            assert_eq!(shown.matches("say [redacted]").count(), texts, "{shown}");
        }
    }
}
