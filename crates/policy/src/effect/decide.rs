//! The decision on an effect.

use super::classify::{self, EffectClass};
use super::{CausingAction, Effect, EffectQuestion, RequestHead};
use crate::rules::catalog;
use crate::{Access, BuiltinRule, Denial, Evidence, Policy, Risk, RiskResponse, RuleName};
use error_code::ErrorCode;

/// What the policy has to know of the session that an effect leaves from.
#[derive(Clone, Copy, Debug)]
pub struct EffectContext<'a> {
    pub access: Access,
    pub cause: Option<&'a CausingAction>,
}

#[derive(Debug)]
pub enum EffectDecision {
    /// It changes nothing: it leaves, and only the ledger has it.
    Pass,
    Allow(EffectPermit),
    /// An operator decides.
    Ask(EffectQuestion),
    Deny {
        effect: Effect,
        class: EffectClass,
        denial: Denial,
    },
}

/// Permission for exactly the bytes of one effect. Only [`Policy::decide_effect`] makes one; it cannot be cloned.
#[derive(Debug)]
pub struct EffectPermit {
    effect: Effect,
    class: EffectClass,
    rule: RuleName,
}

impl EffectPermit {
    /// Takes the permit apart for the record. The parts permit nothing.
    pub fn into_parts(self) -> (Effect, EffectClass, RuleName) {
        (self.effect, self.class, self.rule)
    }
}

/// The rule that stands for a class.
pub(super) fn rule_of(class: EffectClass) -> &'static BuiltinRule {
    match class {
        EffectClass::Read => &catalog::EFFECT_READ,
        EffectClass::Write => &catalog::EFFECT_WRITE,
        EffectClass::Unknown => &catalog::EFFECT_UNKNOWN,
        EffectClass::Destroy => &catalog::EFFECT_DESTROYS,
        EffectClass::Send => &catalog::EFFECT_SENDS,
        EffectClass::Pay => &catalog::EFFECT_PAYS,
        EffectClass::Power => &catalog::EFFECT_POWER,
        EffectClass::Account => &catalog::EFFECT_ACCOUNT,
    }
}

impl Policy {
    /// Whether a request may be an effect, by its head alone. Cheap: it is asked for every request of a granted site.
    pub fn concerns(&self, head: &RequestHead<'_>, cause: Option<&CausingAction>) -> bool {
        classify::concerns(head, cause)
    }

    /// The class of an effect and the facts that it rests on.
    pub fn classify_effect(
        &self,
        effect: &Effect,
        cause: Option<&CausingAction>,
    ) -> (EffectClass, Vec<Evidence>) {
        classify::classify(effect, cause)
    }

    /// Decides by what leaves, and by what was acted on before.
    pub fn decide_effect(&self, effect: Effect, context: &EffectContext<'_>) -> EffectDecision {
        let (class, mut evidence) = classify::classify(&effect, context.cause);
        if class == EffectClass::Read {
            return EffectDecision::Pass;
        }
        let builtin = rule_of(class);
        let (mut risk, mut rule) = (builtin.risk, RuleName::builtin(builtin.name));
        let mut description = builtin.description.to_owned();
        // An operator's rule about the action that led here raises the risk of what it causes.
        for custom in &self.settings.rules {
            let cause = context.cause.filter(|cause| cause.is_recent);
            let acts = cause.into_iter().chain(cause.and_then(CausingAction::confirmed));
            let applies = |cause: &CausingAction| custom.applies(&cause.action, &cause.facts);
            if custom.risk > risk
                && let Some(facts) = acts.filter_map(applies).next()
            {
                (risk, rule) = (custom.risk, RuleName::custom(&custom.name));
                description.clone_from(&custom.description);
                evidence.splice(0..0, facts);
            }
        }
        // An operator's setting may let a risk pass; with `read` every effect asks all the same.
        let is_let_pass = self.settings.responses.of(risk) == RiskResponse::Allow;
        let asks = match context.access {
            Access::Read => true,
            Access::Write => risk >= Risk::High && !is_let_pass,
            Access::Full => risk >= Risk::Critical && !is_let_pass,
        };
        let is_denied = self.settings.responses.of(risk) == RiskResponse::Deny;
        if is_denied || asks && !self.settings.asks {
            let denial = Denial {
                message: format!(
                    "the operator's settings deny a request that {description} (risk {}, rule {rule})",
                    risk.as_str()
                ),
                rule,
                risk,
                code: ErrorCode::DeniedByPolicy,
                hint: "Do not try another way. Tell the person that this step needs them.",
            };
            return EffectDecision::Deny { effect, class, denial };
        }
        if asks {
            return EffectDecision::Ask(EffectQuestion { effect, class, rule, risk, evidence });
        }
        EffectDecision::Allow(EffectPermit { effect, class, rule })
    }
}

#[cfg(test)]
mod tests;
