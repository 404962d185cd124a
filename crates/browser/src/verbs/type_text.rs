//! Typing into the permitted field, only while it has the focus.

use super::{ActionNote, dates};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{GuardedInput, InputGesture, InputKind, KeyStroke},
    page::ScriptCallError,
    script::ScriptFunction,
    targeting::{ActionabilityCheck, Element, Purpose, TargetUse, check_unchanged_visibly},
};
use policy::{Chord, DELETE, ENTER, ElementFacts, LoadState, TypeText};
use serde::{Deserialize, Serialize};

/// Longer texts are inserted line by line, as if pasted.
const MAX_KEYSTROKES: usize = 1_000;

/// The note of a field that ignores what is typed.
const NOT_TAKEN: &str = "the field did not take the text: it holds what it held before. Look at the page before you \
                         type again";
/// Of one that is as before although something happened: pages turn words into labels, and show that they refuse them.
const MOVED_ON: &str = "the field holds what it held before, and the page has changed: it may have taken the text from \
                        the field, or refused it. Look at the page before you type again";
const HOLDS_OTHER: &str =
    "the field does not hold all of the text: it took a part of it, or changed it. Look at its value";

#[derive(Serialize)]
struct HeldTextRequest<'a> {
    number: u64,
    typed: &'a str,
}

#[derive(Deserialize)]
struct HeldText {
    /// The length of the text and its end.
    held: Option<String>,
    #[serde(default)]
    empty: bool,
    /// Whether the letters and digits that were typed are in it, in their order.
    #[serde(default)]
    keeps: bool,
    /// Whether the document has changed since the input.
    #[serde(default)]
    changed: bool,
}

impl HeldText {
    /// Whether a field with this text need not change.
    fn is_as_typed(&self, typing: &TypeText) -> bool {
        let has_text = |held: &String| held.ends_with(&*typing.text);
        match (typing.text.is_empty(), typing.clear_first) {
            (true, false) => true,
            (true, true) => self.empty,
            // The same text again, in place of itself.
            (false, true) => self.held.as_ref().is_some_and(has_text),
            (false, false) => false,
        }
    }
}

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
        let (element, target_use) = self.relocate(&typing.target, decided, Purpose::Type, deadline).await?;
        let actionable = self
            .wait_actionable(&element, ActionabilityCheck { target_use, steady: false, arm: None }, deadline)
            .await?;
        check_unchanged_visibly(decided, &actionable.facts)?;
        if !matches!(decided.tag.as_str(), "input" | "textarea") {
            self.reject_editor_with_closed_root(&element, deadline).await?;
        }
        self.begin_action();
        let before = self.held_text(&element, typing, deadline).await?;
        self.enter_text(typing, decided, &element, target_use, deadline).await?;
        let after = self.held_text(&element, typing, deadline).await?;
        let note = before.zip(after).and_then(|(before, after)| note_on(&before, &after, typing, decided));
        if typing.submit {
            self.call_on_field(
                &element,
                ScriptFunction::FocusAndPlaceCaret,
                &caret_request(&element, false),
                deadline,
            )
            .await?;
            self.send_guarded_keys(
                &element,
                target_use,
                decided,
                InputGesture::Key(&KeyStroke::from_chord(&Chord::from(&ENTER))),
                deadline,
            )
            .await?;
        }
        self.settle(LoadState::Load, deadline).await?;
        Ok(note.map(str::to_owned))
    }

    /// What the field holds; `None` if it is secret or gone, or its page is.
    async fn held_text(
        &self,
        element: &Element,
        typing: &TypeText,
        deadline: Deadline,
    ) -> Result<Option<HeldText>, BrowserError> {
        let request = HeldTextRequest { number: element.number, typed: &typing.text };
        let read =
            self.call_script::<_, HeldText>(&element.frame, ScriptFunction::ReadHeldText, &request, deadline);
        match read.await {
            Ok(text) => Ok(Some(text).filter(|text| text.held.is_some())),
            Err(ScriptCallError::Gone) => Ok(None),
            Err(ScriptCallError::Failed(error)) => Err(error),
        }
    }

    async fn enter_text(
        &self,
        typing: &TypeText,
        decided: &ElementFacts,
        element: &Element,
        target_use: TargetUse,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if let Some(kind) = dates::DateInput::of_type(decided.input_type.as_deref()) {
            return self.enter_date(kind, &typing.text, element, target_use, decided, deadline).await;
        }
        self.call_on_field(
            element,
            ScriptFunction::FocusAndPlaceCaret,
            &caret_request(element, typing.clear_first),
            deadline,
        )
        .await?;
        let text = typing.text.replace("\r\n", "\n");
        let stroke = KeyStroke::from_chord(&Chord::from(&DELETE));
        let gesture = match (text.is_empty(), typing.clear_first) {
            (true, false) => return Ok(()),
            (true, true) => InputGesture::Key(&stroke),
            // A line break in a single-line field would be Enter, which submits the form.
            (false, _) if decided.tag == "input" && text.contains(['\n', '\r']) => {
                InputGesture::Insert(&text)
            }
            (false, _) if text.chars().count() > MAX_KEYSTROKES => InputGesture::Lines(&text),
            (false, _) => InputGesture::Text(&text),
        };
        self.send_guarded_keys(element, target_use, decided, gesture, deadline).await
    }

    pub(super) async fn send_guarded_keys(
        &self,
        element: &Element,
        target_use: TargetUse,
        decided: &ElementFacts,
        gesture: InputGesture<'_>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let input = GuardedInput {
            element,
            target_use,
            kind: InputKind::Keys,
            decided: Some(decided),
            repeatable: false,
            drop: None,
        };
        self.send_guarded(input, gesture, deadline).await
    }
}

/// What to say of a field that holds something else than was typed.
fn note_on(
    before: &HeldText,
    after: &HeldText,
    typing: &TypeText,
    decided: &ElementFacts,
) -> Option<&'static str> {
    if before.held == after.held {
        let note = if after.changed { MOVED_ON } else { NOT_TAKEN };
        return (!before.is_as_typed(typing)).then_some(note);
    }
    let is_date = dates::DateInput::of_type(decided.input_type.as_deref()).is_some();
    (!after.keeps && !is_date).then_some(HOLDS_OTHER)
}

fn caret_request(element: &Element, all: bool) -> CaretRequest {
    CaretRequest { number: element.number, all }
}
