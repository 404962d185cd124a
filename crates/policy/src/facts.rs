//! What was found in the page before anything is decided.

use crate::Origin;
use serde::Serialize;

/// The page and, for an action that has a target, the element that would really be hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Facts {
    /// The address of the page at the moment of resolving; empty before the first navigation.
    pub page_url: String,
    pub target: Option<ElementFacts>,
    /// What a drag ends on.
    pub to: Option<ElementFacts>,
    /// The question that waits for an answer.
    pub dialog: Option<DialogFacts>,
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
    /// A field whose content must never pass through an agent.
    pub secret: bool,
    pub href: Option<String>,
    pub form: Option<FormFacts>,
    /// How many elements answered to the name the agent used.
    pub matches: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormFacts {
    pub method: String,
    pub action: String,
    /// One of its fields takes a card.
    pub payment: bool,
}
