//! From the words an agent uses for an element to an element that can be acted on, and that input really reaches.

mod actionability;
mod facts_comparison;
mod hit_test;
mod locate;
mod stale_ref;

pub(crate) use actionability::{
    ActionabilityCheck, ActionableElement, ElementBox, Purpose, TargetProblem, TargetUse, gone_as,
};
pub(crate) use facts_comparison::{
    check_unchanged, check_unchanged_apart_from_position, check_unchanged_visibly,
};
pub(crate) use locate::{Element, Located};

use serde::Serialize;

/// What the guard of one frame lets through. The guard is armed in the same moment as the last check of the element.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct GuardArming {
    /// The intended element; `None` in every frame but its own.
    pub number: Option<u64>,
    pub keys: bool,
    /// The document itself is meant, with nothing focused on it.
    pub page: bool,
    /// The drop target.
    pub drop: Option<u64>,
}
