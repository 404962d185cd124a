//! Typing into the permitted field, only while it has the focus.

use super::{ActionNote, dates, keyboard::KeyStroke};
use crate::{
    aim::{How, Looking, Purpose},
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    guard::{Hand, Input, Shot},
    locate::Element,
    verbs::check_unchanged_visibly,
};
use policy::{Chord, DELETE, ENTER, ElementFacts, LoadState, TypeText};
use serde::Serialize;

/// Longer texts are inserted line by line, as if pasted.
const MAX_KEYSTROKES: usize = 1_000;

#[derive(Serialize)]
struct CaretRequest {
    number: u64,
    /// Selects the whole content, so that the text replaces it.
    all: bool,
}

impl Browser {
    pub(super) async fn type_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let (element, how) = self.relocate(&typing.target, decided, Purpose::Type, deadline).await?;
        let aim = self.aim(&element, Looking { how, steady: false, arm: None }, deadline).await?;
        check_unchanged_visibly(decided, &aim.facts)?;
        if !matches!(decided.tag.as_str(), "input" | "textarea") {
            self.is_plain_editor(&element, deadline).await?;
        }
        self.begin_action();
        self.enter_text(typing, decided, &element, how, deadline).await?;
        if typing.submit {
            self.call_on_field(&element, "enterField", &caret_request(&element, false), deadline).await?;
            self.send_guarded_keys(
                &element,
                how,
                decided,
                Hand::Key(&KeyStroke::from_chord(&Chord::from(&ENTER))),
                deadline,
            )
            .await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    async fn enter_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        element: &Element,
        how: How,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if let Some(kind) = dates::DateInput::of_type(decided.input_type.as_deref()) {
            return self.enter_date(kind, &typing.text, element, how, decided, deadline).await;
        }
        self.call_on_field(element, "enterField", &caret_request(element, typing.clear_first), deadline)
            .await?;
        let text = typing.text.replace("\r\n", "\n");
        let stroke = KeyStroke::from_chord(&Chord::from(&DELETE));
        let hand = match (text.is_empty(), typing.clear_first) {
            (true, false) => return Ok(()),
            (true, true) => Hand::Key(&stroke),
            // A line break in a single-line field would be Enter, which submits the form.
            (false, _) if decided.tag == "input" && text.contains(['\n', '\r']) => Hand::Insert(&text),
            (false, _) if text.chars().count() > MAX_KEYSTROKES => Hand::Lines(&text),
            (false, _) => Hand::Text(&text),
        };
        self.send_guarded_keys(element, how, decided, hand, deadline).await
    }

    pub(crate) async fn insert(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        self.call_tab(&p::InsertText { text }, deadline).await.map(|_| ())
    }

    /// Inserts each line at once, with Enter between them: editors turn that into paragraphs.
    pub(crate) async fn insert_lines(&self, text: &str, deadline: Deadline) -> Result<(), BrowserError> {
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                self.strike_key(&KeyStroke::from_chord(&Chord::from(&ENTER)), deadline).await?;
            }
            if !line.is_empty() {
                self.insert(line, deadline).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn send_guarded_keys(
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

fn caret_request(element: &Element, all: bool) -> CaretRequest {
    CaretRequest { number: element.number, all }
}
