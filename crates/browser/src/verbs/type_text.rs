//! Typing: into the field that was decided on, and only while it has the focus.

use super::{After, keyboard::Stroke};
use crate::{
    aim::{How, Looking, Purpose},
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    guard::{Input, Shot},
    locate::Element,
    verbs::unchanged,
};
use policy::{Chord, DELETE, ENTER, ElementFacts, LoadState, TypeText};
use serde::Serialize;

/// Longer texts go in at once, as if they were pasted.
const MOST_STROKES: usize = 1_000;

#[derive(Serialize)]
struct Typing<'a> {
    number: u64,
    text: &'a str,
    /// Whether the text replaces what is there.
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
        // A line break in a field of one line would be Enter, which sends the form.
        let one_line = decided.tag == "input" && typing.text.contains(['\n', '\r']);
        if one_line || typing.text.chars().count() > MOST_STROKES {
            let typed = Typing { number: element.number, text: &typing.text, all: typing.clear_first };
            return self.in_field(element, "typeInto", &typed, deadline).await;
        }
        self.in_field(element, "enterField", &caret(element, typing.clear_first), deadline).await?;
        let text = typing.text.replace("\r\n", "\n");
        match (text.is_empty(), typing.clear_first) {
            (true, false) => Ok(()),
            (true, true) => {
                self.keys_to(element, how, decided, deadline, async || {
                    self.strike_key(&Stroke::of(&Chord::from(&DELETE)), deadline).await
                })
                .await
            }
            (false, _) => {
                self.keys_to(element, how, decided, deadline, async || self.strike_text(&text, deadline).await).await
            }
        }
    }

    async fn keys_to(
        &self,
        element: &Element,
        how: How,
        decided: &ElementFacts,
        deadline: Deadline,
        send: impl AsyncFn() -> Result<(), BrowserError>,
    ) -> Result<(), BrowserError> {
        let shot = Shot { element, how, input: Input::Keys, decided: Some(decided), repeatable: false, drop: None };
        self.guarded(shot, deadline, async |_| send().await).await
    }
}

fn caret(element: &Element, all: bool) -> Typing<'static> {
    Typing { number: element.number, text: "", all }
}
