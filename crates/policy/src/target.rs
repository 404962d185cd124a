//! How an agent names an element: one way of naming for every action.

use crate::Selector;
use serde::Serialize;

/// Whatever the way, it is resolved to the element that would really be hit, and rules see that one's facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A ref from a snapshot, such as `e12`.
    Ref(String),
    /// Role, accessible name and place among the matches.
    Role { role: String, name: Option<String>, index: usize },
    /// Tags, ids, classes and structure.
    Selector { selector: Selector, index: usize },
    /// Text that is seen on it.
    Text { text: String, index: usize },
    /// Whatever is at this point of the viewport, in CSS pixels.
    Point { x: f64, y: f64 },
    /// What has the focus.
    Focused,
}
