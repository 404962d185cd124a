//! The assessment: an action's risk, the rule that found it, the evidence, and what is decided.

use crate::domains::{first_allowing, first_match};
use crate::evidence::Evidence;
use crate::rules::{Refusal, RuleContext, evaluate};
use crate::settings::DomainLimits;
use crate::{Action, DecisionKind, Endpoint, Facts, Policy, Risk, RiskResponse, RuleName, SessionMode};
use serde::Serialize;
use std::borrow::Cow;

/// What the policy makes of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assessment {
    pub risk: Risk,
    pub decision: DecisionKind,
    pub rule: RuleName,
    /// What the rule says the action does.
    pub description: Cow<'static, str>,
    /// The facts that mattered, those of the rule first.
    #[serde(rename = "because")]
    pub evidence: Vec<Evidence>,
    #[serde(skip)]
    pub refusal: Option<Refusal>,
}

impl Policy {
    /// Assesses an action outside of any session. Total and pure: the same input has the same result.
    pub fn assess(&self, action: &Action, facts: &Facts, mode: SessionMode) -> Assessment {
        self.assess_within(DomainLimits::of_settings(&self.settings), action, facts, mode)
    }

    pub(crate) fn assess_within(
        &self,
        domains: DomainLimits<'_>,
        action: &Action,
        facts: &Facts,
        mode: SessionMode,
    ) -> Assessment {
        let found = evaluate(action, facts, &RuleContext { settings: &self.settings, domains });
        let mut evidence = found.evidence;
        let decision = if found.refusal.is_some() {
            DecisionKind::Deny
        } else {
            self.respond(found.risk, action, facts, mode, &mut evidence)
        };
        let (risk, rule, description, refusal) = (found.risk, found.rule, found.description, found.refusal);
        Assessment { risk, decision, rule, description, evidence, refusal }
    }

    fn respond(
        &self,
        risk: Risk,
        action: &Action,
        facts: &Facts,
        mode: SessionMode,
        evidence: &mut Vec<Evidence>,
    ) -> DecisionKind {
        let wanted = match self.settings.responses.of(risk) {
            RiskResponse::Allow => DecisionKind::Allow,
            RiskResponse::Ask => DecisionKind::Ask,
            RiskResponse::Deny => DecisionKind::Deny,
            RiskResponse::Trusted => self.respond_by_trust(action, facts, mode, evidence),
        };
        if wanted == DecisionKind::Ask && !self.settings.asks { DecisionKind::Deny } else { wanted }
    }

    /// Sensitive beats trusted, and every host involved has to be trusted.
    fn respond_by_trust(
        &self,
        action: &Action,
        facts: &Facts,
        mode: SessionMode,
        evidence: &mut Vec<Evidence>,
    ) -> DecisionKind {
        let endpoints = endpoints(action, facts);
        for endpoint in endpoints.iter().flatten() {
            if let Some(pattern) = first_match(&self.settings.sensitive, &endpoint.host) {
                evidence.push(Evidence::new("sensitive domain", pattern.as_str()));
                return DecisionKind::Ask;
            }
        }
        if mode == SessionMode::Clean && self.settings.medium_on_new_domain == RiskResponse::Allow {
            evidence.push(Evidence::new("session", "clean"));
            return DecisionKind::Allow;
        }
        let trusted =
            |endpoint: &Option<Endpoint>| first_allowing(&self.settings.trusted, endpoint.as_ref()?);
        let trusted: Option<Vec<_>> = endpoints.iter().map(trusted).collect();
        match trusted.as_deref() {
            Some([first, ..]) => {
                evidence.push(Evidence::new("trusted domain", first.as_str()));
                DecisionKind::Allow
            }
            Some([]) | None if mode == SessionMode::Clean => match self.settings.medium_on_new_domain {
                RiskResponse::Allow => DecisionKind::Allow,
                RiskResponse::Deny => DecisionKind::Deny,
                RiskResponse::Ask | RiskResponse::Trusted => DecisionKind::Ask,
            },
            Some([]) | None => DecisionKind::Ask,
        }
    }
}

/// Scheme, host and port of the page, of the frame, and of where the action leads. For a navigation only the last counts.
/// `None` is an opaque origin, which is never trusted.
pub(crate) fn endpoints(action: &Action, facts: &Facts) -> Vec<Option<Endpoint>> {
    if let Action::Navigate(go) = action {
        return vec![Endpoint::of(go.url.as_str())];
    }
    let known = |address: &str| Endpoint::of(address).map(Some);
    let mut endpoints: Vec<Option<Endpoint>> = known(&facts.page_url).into_iter().collect();
    for element in facts.target.iter().chain(&facts.to) {
        endpoints.push(Endpoint::of(element.origin.as_str()));
        endpoints.extend(element.href.as_deref().and_then(known));
        endpoints.extend(element.form.as_ref().and_then(|form| known(&form.action)));
    }
    endpoints.extend(facts.dialog.as_ref().and_then(|dialog| known(dialog.origin.as_str())));
    endpoints
}
