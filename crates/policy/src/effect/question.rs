//! The question that an operator is asked about an effect.

use super::decide::rule_of;
use super::{Effect, EffectClass, EffectPattern};
use crate::{Evidence, Risk, RuleName};

/// An effect that needs an operator's approval. Only [`Policy::decide_effect`](crate::Policy::decide_effect) makes one,
/// and it cannot be cloned: one answer is one request.
#[derive(Debug)]
pub struct EffectQuestion {
    pub(super) effect: Effect,
    pub(super) class: EffectClass,
    pub(super) rule: RuleName,
    pub(super) risk: Risk,
    pub(super) evidence: Vec<Evidence>,
}

impl EffectQuestion {
    pub fn effect(&self) -> &Effect {
        &self.effect
    }

    pub fn class(&self) -> EffectClass {
        self.class
    }

    pub fn rule(&self) -> &RuleName {
        &self.rule
    }

    /// That of the class, or of an operator's own rule if it is higher.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// What it does, in words for a person: "sends or publishes something".
    pub fn description(&self) -> &'static str {
        rule_of(self.class).description
    }

    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Whether it cannot be undone, and is asked about each time.
    pub fn is_irreversible(&self) -> bool {
        self.risk() == Risk::Critical
    }

    /// What "this" covers in "allow this for the session"; `None` where that is not offered.
    pub fn pattern(&self) -> Option<EffectPattern> {
        (!self.is_irreversible()).then(|| EffectPattern::of(&self.effect))
    }

    /// What a refusal covers for a while: the same method and path pattern.
    pub fn refusal_pattern(&self) -> EffectPattern {
        EffectPattern::of(&self.effect)
    }

    /// Takes the question apart for the record. The parts permit nothing.
    pub fn into_parts(self) -> (Effect, EffectClass, RuleName) {
        (self.effect, self.class, self.rule)
    }
}
