//! From a decision to something that can be performed: authorized, then recorded.

use policy::{Action, Facts, Permit, Risk, RuleName};
use redact::Redacted;

/// An action that may be performed once its intent is recorded: permitted by the policy, or approved by an operator and
/// checked against the page as it is now.
#[derive(Debug)]
pub struct Authorization {
    action: Action,
    facts: Facts,
    rule: RuleName,
    risk: Risk,
    decided_by: Redacted,
}

impl Authorization {
    pub(crate) fn new(
        (action, facts, rule, risk): (Action, Facts, RuleName, Risk),
        decided_by: Redacted,
    ) -> Authorization {
        Authorization { action, facts, rule, risk, decided_by }
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

    /// `policy`, or the operator and their approval.
    pub fn decided_by(&self) -> Redacted {
        self.decided_by.clone()
    }

    /// For [`Log::intend`](crate::Log::intend) alone, once the intent is durable.
    pub(crate) fn into_permitted(self) -> Permitted {
        Permitted { action: self.action, facts: self.facts }
    }
}

impl From<Permit> for Authorization {
    fn from(permit: Permit) -> Authorization {
        Authorization::new(permit.into_parts(), "policy".into())
    }
}

/// An authorized action whose intent is recorded. The driver accepts nothing else, and consumes it.
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
