//! Proof that an action was decided, and then recorded.

use crate::{Action, Facts, Risk};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// The rule that decided, by a stable name: one that comes with Stockade, or the operator's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule(Cow<'static, str>);

impl Rule {
    pub(crate) const fn builtin(name: &'static str) -> Rule {
        Rule(Cow::Borrowed(name))
    }

    pub(crate) fn custom(name: &str) -> Rule {
        Rule(Cow::Owned(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Leave to perform one action, given by [`Policy::decide`](crate::Policy::decide) or, where that asks, by a person's yes
/// to a [`Question`](crate::Question) that still holds.
///
/// It is neither cloned nor built elsewhere, so one decision is one action.
#[derive(Debug)]
pub struct Permit {
    action: Action,
    facts: Facts,
    rule: Rule,
    risk: Risk,
    /// Who was asked, and said yes.
    approved_by: Option<String>,
}

impl Permit {
    pub(crate) fn new(action: Action, facts: Facts, rule: Rule, risk: Risk) -> Permit {
        Permit { action, facts, rule, risk, approved_by: None }
    }

    pub(crate) fn approved(action: Action, facts: Facts, rule: Rule, risk: Risk, by: String) -> Permit {
        Permit { action, facts, rule, risk, approved_by: Some(by) }
    }

    /// Who decided: the policy, or a person.
    pub fn decided_by(&self) -> &str {
        self.approved_by.as_deref().unwrap_or("policy")
    }

    pub fn action(&self) -> &Action {
        &self.action
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    pub fn risk(&self) -> Risk {
        self.risk
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
