//! Proof that an action was decided, and then recorded.

use crate::{Action, Facts};
use serde::Serialize;

/// The rule that decided, by a stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule(pub &'static str);

/// Leave to perform one action, given by [`Policy::decide`](crate::Policy::decide) and by nothing else.
///
/// It is neither cloned nor built elsewhere, so one decision is one action.
#[derive(Debug)]
pub struct Permit {
    action: Action,
    facts: Facts,
    rule: Rule,
}

impl Permit {
    pub(crate) fn new(action: Action, facts: Facts, rule: Rule) -> Permit {
        Permit { action, facts, rule }
    }

    pub fn action(&self) -> &Action {
        &self.action
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// For the audit log alone, once the intent is durable. The architecture test holds other callers off.
    pub fn recorded(self) -> Permitted {
        Permitted { action: self.action, facts: self.facts }
    }
}

/// An action that was decided and whose intent is on record: what the driver takes, and uses up.
#[derive(Debug)]
pub struct Permitted {
    action: Action,
    facts: Facts,
}

impl Permitted {
    pub fn action(&self) -> &Action {
        &self.action
    }

    pub fn into_parts(self) -> (Action, Facts) {
        (self.action, self.facts)
    }
}
