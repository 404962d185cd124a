//! Key presses: real key events, to the permitted element only.

use super::ActionNote;
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    input::{GuardedInput, InputGesture, InputKind, KeyStroke},
    script::ScriptFunction,
    targeting::Purpose,
};
use policy::{ElementFacts, LoadState, Press, Target};
use serde::Serialize;

/// Keys that scroll a page unless an element handles them.
const SCROLL_KEYS: [&str; 7] = ["End", "Home", "PageDown", "PageUp", "ArrowDown", "ArrowUp", " "];

#[derive(Serialize)]
struct FocusRequest {
    number: u64,
}

impl Browser {
    pub(super) async fn press(
        &self,
        press: &Press,
        decided: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        self.begin_action();
        let stroke = KeyStroke::from_chord(&press.chord);
        match decided {
            Some(decided) => {
                let (element, target_use) =
                    self.relocate(&press.target, decided, Purpose::Press, deadline).await?;
                if press.target != Target::Focused {
                    self.call_on_field(
                        &element,
                        ScriptFunction::FocusField,
                        &FocusRequest { number: element.number },
                        deadline,
                    )
                    .await?;
                }
                let input = GuardedInput {
                    element: &element,
                    target_use,
                    kind: InputKind::Key,
                    decided: Some(decided),
                    repeatable: false,
                    drop: None,
                };
                self.send_guarded(input, InputGesture::Key(&stroke), deadline).await?;
            }
            None => self.send_guarded_to_page(&stroke, deadline).await?,
        }
        self.settle(LoadState::Load, deadline).await?;
        if SCROLL_KEYS.contains(&stroke.key.as_str()) {
            self.wait_for_scrolling(deadline).await?;
        }
        Ok(None)
    }
}
