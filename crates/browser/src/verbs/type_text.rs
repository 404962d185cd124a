//! Typing: into the field that was decided on, and only while it has the focus.

use super::{Told, dates, keyboard::Stroke};
use crate::{
    aim::{How, Looking, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
    locate::Element,
    script::ScriptFunction,
    verbs::unchanged_to_the_eye,
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
    ) -> Result<Told, BrowserError> {
        let (element, how) = self.again(&typing.target, decided, Purpose::Type, deadline).await?;
        let aim = self.aim(&element, Looking { how, steady: false, arm: None }, deadline).await?;
        unchanged_to_the_eye(decided, &aim.facts)?;
        if !matches!(decided.tag.as_str(), "input" | "textarea") {
            self.is_plain_editor(&element, deadline).await?;
        }
        self.start();
        self.put_text(typing, decided, &element, how, deadline).await?;
        if typing.submit {
            self.in_field(&element, ScriptFunction::FocusAndPlaceCaret, &caret(&element, false), deadline)
                .await?;
            self.keys_to(&element, how, decided, Hand::Key(&Stroke::of(&Chord::from(&ENTER))), deadline)
                .await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    async fn put_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        element: &Element,
        how: How,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if let Some(kind) = dates::Kind::of(decided.input_type.as_deref()) {
            return self.put_moment(kind, &typing.text, element, how, decided, deadline).await;
        }
        self.in_field(
            element,
            ScriptFunction::FocusAndPlaceCaret,
            &caret(element, typing.clear_first),
            deadline,
        )
        .await?;
        let text = typing.text.replace("\r\n", "\n");
        let stroke = Stroke::of(&Chord::from(&DELETE));
        let hand = match (text.is_empty(), typing.clear_first) {
            (true, false) => return Ok(()),
            (true, true) => Hand::Key(&stroke),
            // A line break in a field of one line would be Enter, which sends the form.
            (false, _) if decided.tag == "input" && text.contains(['\n', '\r']) => Hand::Insert(&text),
            (false, _) if text.chars().count() > MOST_STROKES => Hand::Lines(&text),
            (false, _) => Hand::Text(&text),
        };
        self.keys_to(element, how, decided, hand, deadline).await
    }

    pub(crate) async fn insert(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        self.call_tab(&p::InsertText { text }, deadline).await.map(|_| ())
    }

    /// Each line at once, with Enter between them: editors make paragraphs of that.
    pub(crate) async fn insert_lines(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
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

    pub(super) async fn keys_to(
        &self,
        element: &Element,
        how: How,
        decided: &ElementFacts,
        hand: Hand<'_>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let shot =
            Shot { element, how, input: Input::Keys, decided: Some(decided), repeatable: false, drop: None };
        self.guarded(shot, hand, deadline).await
    }
}

fn caret(element: &Element, all: bool) -> Caret {
    Caret { number: element.number, all }
}
