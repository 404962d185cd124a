//! The permit: proof that the policy allowed one action.

use crate::{Action, Facts, Risk};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// The stable name of the rule that decided: a built-in one, or the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleName(Cow<'static, str>);

impl RuleName {
    pub(crate) const fn builtin(name: &'static str) -> RuleName {
        RuleName(Cow::Borrowed(name))
    }

    pub(crate) fn custom(name: &str) -> RuleName {
        RuleName(Cow::Owned(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

redact::declare_safe_text!(RuleName);

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Permission for one action on the facts it was decided on.
///
/// Only [`Policy::decide`](crate::Policy::decide) makes one, and it cannot be cloned: one decision is one action.
#[derive(Debug)]
pub struct Permit {
    action: Action,
    facts: Facts,
    rule: RuleName,
    risk: Risk,
}

impl Permit {
    pub(crate) fn new(action: Action, facts: Facts, rule: RuleName, risk: Risk) -> Permit {
        Permit { action, facts, rule, risk }
    }

    pub fn action(&self) -> &Action {
        &self.action
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn rule(&self) -> &RuleName {
        &self.rule
    }

    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Takes the permit apart for the record. The parts permit nothing.
    pub fn into_parts(self) -> (Action, Facts, RuleName, Risk) {
        (self.action, self.facts, self.rule, self.risk)
    }
}
