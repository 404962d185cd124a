//! Typing: into the field that was decided on, and only while it has the focus.

use super::{After, keyboard::Stroke};
use crate::{
    aim::{How, Looking, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Input, Shot},
    locate::Element,
    verbs::unchanged,
};
use policy::{Chord, DELETE, ENTER, ElementFacts, LoadState, TypeText};
use serde::Serialize;

/// Longer texts go in a line at a time, as if they were pasted.
const MOST_STROKES: usize = 1_000;

#[derive(Serialize)]
struct Caret {
    number: u64,
    /// Over all of the field, so that the text replaces what is there.
    all: bool,
}

impl Browser {
    pub(super) async fn type_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<After, BrowserError> {
        let (element, how) = self.again(&typing.target, decided, Purpose::Type, deadline).await?;
        let aim = self.aim(&element, Looking { how, steady: false, arm: None }, deadline).await?;
        unchanged(decided, &aim.facts)?;
        if !matches!(decided.tag.as_str(), "input" | "textarea") {
            self.is_plain_editor(&element, deadline).await?;
        }
        let commits = self.start();
        self.put_text(typing, decided, &element, how, deadline).await?;
        if typing.submit {
            self.in_field(&element, "enterField", &caret(&element, false), deadline).await?;
            self.keys_to(&element, how, decided, deadline, async || {
                self.strike_key(&Stroke::of(&Chord::from(&ENTER)), deadline).await
            })
            .await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        self.after(commits, deadline).await
    }

    async fn put_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        element: &Element,
        how: How,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        self.in_field(element, "enterField", &caret(element, typing.clear_first), deadline).await?;
        let text = typing.text.replace("\r\n", "\n");
        if text.is_empty() && !typing.clear_first {
            return Ok(());
        }
        // A line break in a field of one line would be Enter, which sends the form.
        let one_line = decided.tag == "input" && text.contains(['\n', '\r']);
        let pasted = text.chars().count() > MOST_STROKES;
        self.keys_to(element, how, decided, deadline, async || {
            if text.is_empty() {
                self.strike_key(&Stroke::of(&Chord::from(&DELETE)), deadline).await
            } else if one_line {
                self.insert(&text, deadline).await
            } else if pasted {
                self.insert_lines(&text, deadline).await
            } else {
                self.strike_text(&text, deadline).await
            }
        })
        .await
    }

    async fn insert(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        self.call_tab(&p::InsertText { text }, deadline).await.map(|_| ())
    }

    /// Each line at once, with Enter between them: editors make paragraphs of that.
    async fn insert_lines(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                self.strike_key(&Stroke::of(&Chord::from(&ENTER)), deadline).await?;
            }
            if !line.is_empty() {
                self.insert(line, deadline).await?;
            }
        }
        Ok(())
    }

    async fn keys_to(
        &self,
        element: &Element,
        how: How,
        decided: &ElementFacts,
        deadline: Deadline,
        send: impl AsyncFn() -> Result<(), BrowserError>,
    ) -> Result<(), BrowserError> {
        let shot =
            Shot { element, how, input: Input::Keys, decided: Some(decided), repeatable: false, drop: None };
        self.guarded(shot, deadline, async |_| send().await).await
    }
}

fn caret(element: &Element, all: bool) -> Caret {
    Caret { number: element.number, all }
}
