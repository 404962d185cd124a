//! Facts: what was found in the page before anything is decided.

use crate::Origin;
use serde::Serialize;

/// The page and, for an action that has a target, the element that would really be hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The address of the page at the moment of resolving; empty before the first navigation.
    pub page_url: String,
    pub document: Document,
    /// The page is, or may be, the response to a form: reloading it sends the form again.
    pub posted: bool,
    pub target: Option<ElementFacts>,
    /// The element that a drag ends on.
    pub to: Option<ElementFacts>,
    /// The options that would be selected, one for each that the agent named.
    pub options: Vec<OptionFacts>,
    /// The open dialog.
    pub dialog: Option<DialogFacts>,
}

/// The document, by the number of its tab and of its navigation there. Neither is reused in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    pub tab: u32,
    pub count: u64,
}

/// A JavaScript dialog that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DialogFacts {
    /// `confirm` or `prompt`.
    pub kind: String,
    pub message: String,
    /// The origin of the frame that opened it.
    pub origin: Origin,
}

/// An option of a list: the label that a person reads and the value that its form sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OptionFacts {
    pub label: String,
    pub value: String,
}

/// One element, read by prototype getters and a hit test, however the agent named it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElementFacts {
    /// The driver's own handle; the action is performed on this element and no other.
    pub element: String,
    pub role: String,
    pub name: String,
    /// Its visible text, cut to a bound.
    pub text: String,
    pub tag: String,
    /// The origin of its frame.
    pub origin: Origin,
    pub input_type: Option<String>,
    /// It takes typed text, whatever its role says.
    pub editable: bool,
    /// A field whose content must never pass through an agent, such as a password.
    pub secret: bool,
    pub href: Option<String>,
    pub form: Option<FormFacts>,
    /// How many elements matched the agent's target.
    pub matches: usize,
    pub appearance: Appearance,
}

/// What an operator sees of an element. Rules ignore it; an approval depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Appearance {
    /// Left, top, width and height in the viewport, in CSS pixels; zero for an element reached by focus.
    pub rect: [i32; 4],
    /// A digest of the values in its form, without secrets.
    pub form_digest: String,
    /// A person was asked about exactly this, so all of it has to be as it was when it is acted on.
    pub pinned: bool,
}

/// Layouts shift by a pixel or two without a visible difference.
const MOVE_TOLERANCE: u32 = 3;

impl Facts {
    /// Pins the elements to what an operator approved.
    pub fn pinned(mut self) -> Facts {
        for element in self.target.iter_mut().chain(&mut self.to) {
            element.appearance.pinned = true;
        }
        self
    }
}

impl ElementFacts {
    /// What differs from the element that was decided on, as a message. Text, position and matches may differ.
    pub fn differs_from(&self, decided: &ElementFacts) -> Option<&'static str> {
        let (now, was) = (self, decided);
        if was.element != now.element {
            Some("another element is in its place")
        } else if was.origin != now.origin {
            Some("its site")
        } else if was.role != now.role || was.tag != now.tag {
            Some("its role")
        } else if was.name != now.name {
            Some("its name")
        } else if was.input_type != now.input_type || was.secret != now.secret {
            Some("its kind of field")
        } else if was.href != now.href {
            Some("where it leads")
        } else if was.form != now.form {
            let same = |form: &Option<FormFacts>| form.clone().map(|form| FormFacts { button: None, ..form });
            let only_button = same(&was.form) == same(&now.form);
            Some(if only_button { "the button that sends its form" } else { "where its form goes" })
        } else {
            None
        }
    }

    /// What looks different from the element that the operator approved.
    pub fn appearance_difference(&self, asked: &ElementFacts) -> Option<&'static str> {
        let (now, was) = (&self.appearance, &asked.appearance);
        let has_moved = now.rect.iter().zip(was.rect).any(|(now, was)| now.abs_diff(was) > MOVE_TOLERANCE);
        let moved = || has_moved.then_some("its place or size");
        self.content_difference(asked).or_else(moved)
    }

    /// The same without the position: focusing an element for a key may scroll it.
    pub fn content_difference(&self, asked: &ElementFacts) -> Option<&'static str> {
        if self.text != asked.text {
            Some("its text")
        } else if self.appearance.form_digest != asked.appearance.form_digest {
            Some("what its form holds")
        } else {
            None
        }
    }
}

/// The form that this element submits, by itself or by the button that Enter activates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FormFacts {
    pub method: String,
    pub action: String,
    /// One of its fields takes a card number.
    pub payment: bool,
    /// The button that Enter activates; `None` for an element that is a button itself.
    pub button: Option<FormButton>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FormButton {
    pub name: String,
    /// Its visible text.
    pub text: String,
}

impl FormButton {
    /// Its name, and its visible text where that differs.
    pub fn label(&self) -> String {
        match (self.name.as_str(), self.text.as_str()) {
            (name, text) if text.is_empty() || text == name => name.to_owned(),
            ("", text) => text.to_owned(),
            (name, text) => format!("{name} / {text}"),
        }
    }
}
