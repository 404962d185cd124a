//! What was found in the page before anything is decided.

use crate::Origin;
use serde::Serialize;

/// The page and, for an action that has a target, the element that would really be hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The address of the page at the moment of resolving; empty before the first navigation.
    pub page_url: String,
    pub document: Document,
    /// The page is the answer to a form that was sent, or may be one: to load it again sends the form again.
    pub posted: bool,
    pub target: Option<ElementFacts>,
    /// What a drag ends on.
    pub to: Option<ElementFacts>,
    /// What would be chosen, one for each option that the agent named.
    pub options: Vec<OptionFacts>,
    /// The question that waits for an answer.
    pub dialog: Option<DialogFacts>,
}

/// Which document of which tab it is, by their numbers; neither is used twice in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    pub tab: u32,
    pub count: u64,
}

/// A dialog that a page has opened and that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DialogFacts {
    /// `confirm` or `prompt`.
    pub kind: String,
    pub message: String,
    /// Whose page asks.
    pub origin: Origin,
}

/// An option of a list, as a person reads it and as its form sends it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OptionFacts {
    pub label: String,
    pub value: String,
}

/// One element, as prototype getters and a hit test tell it, whichever way the agent named it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ElementFacts {
    /// The driver's own handle; the action is performed on this element and no other.
    pub element: String,
    pub role: String,
    pub name: String,
    /// Text that a person sees on it, cut to a bound.
    pub text: String,
    pub tag: String,
    /// Origin of the frame it lives in.
    pub origin: Origin,
    pub input_type: Option<String>,
    /// Text can be typed into it, whatever its page calls it.
    pub editable: bool,
    /// A field whose content must never pass through an agent.
    pub secret: bool,
    pub href: Option<String>,
    pub form: Option<FormFacts>,
    /// How many elements answered to the name the agent used.
    pub matches: usize,
    pub sight: Sight,
}

/// What rules do not look at, and a person who is asked does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sight {
    /// Left, top, width and height in the tab's viewport, in CSS pixels; nothing for what is reached by its focus.
    pub place: [i32; 4],
    /// A digest of what its form holds, secrets left out.
    pub form: String,
    /// A person was asked about exactly this, so all of it has to be as it was when it is acted on.
    pub is_bound: bool,
}

/// Pages settle by a pixel or two; a person sees no difference.
const SAME_PLACE: u32 = 3;

impl ElementFacts {
    /// What is not as it was decided on, in a few words; its text, its place and its matches may have changed.
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

    /// What looks otherwise to the person who was asked about `asked`.
    pub fn looks_unlike(&self, asked: &ElementFacts) -> Option<&'static str> {
        let (now, was) = (&self.sight, &asked.sight);
        let has_moved = now.place.iter().zip(was.place).any(|(now, was)| now.abs_diff(was) > SAME_PLACE);
        let moved = || has_moved.then_some("its place or size");
        self.holds_unlike(asked).or_else(moved)
    }

    /// The same, wherever it is: what gets a key may have been scrolled to.
    pub fn holds_unlike(&self, asked: &ElementFacts) -> Option<&'static str> {
        if self.text != asked.text {
            Some("its text")
        } else if self.sight.form != asked.sight.form {
            Some("what its form holds")
        } else {
            None
        }
    }
}

/// The form as it is sent from this element, by itself or by the button that Enter presses for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FormFacts {
    pub method: String,
    pub action: String,
    /// One of its fields takes a card.
    pub payment: bool,
    /// What Enter presses; nothing for an element that is a button itself.
    pub button: Option<FormButton>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FormButton {
    pub name: String,
    /// What a person reads on it.
    pub text: String,
}

impl FormButton {
    /// Its name, with what is read on it where that is something else.
    pub fn told(&self) -> String {
        match (self.name.as_str(), self.text.as_str()) {
            (name, text) if text.is_empty() || text == name => name.to_owned(),
            ("", text) => text.to_owned(),
            (name, text) => format!("{name} / {text}"),
        }
    }
}
