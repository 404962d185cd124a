//! Targets: how an agent names an element, the same for every action.

use crate::Selector;
use serde::Serialize;

/// Every target is resolved to the element that would really be hit, and rules see the facts of that element.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A ref from a snapshot, such as `e12`.
    Ref(String),
    /// Role, accessible name and index among the matches.
    Role { role: String, name: Option<String>, index: usize },
    /// Tags, ids, classes and structure.
    Selector { selector: Selector, index: usize },
    /// Its visible text.
    Text { text: String, index: usize },
    /// The element at this point of the viewport, in CSS pixels.
    Point { x: f64, y: f64 },
    /// The focused element.
    Focused,
}
