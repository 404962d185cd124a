//! The assessment: what an action can do, which rule says so, which facts it rests on, and what is done about it.

use crate::domains::listed;
use crate::rules::{Because, Refusal, navigate_host, strictest};
use crate::{Action, Effect, Facts, Level, Mode, Policy, Risk, Rule};
use serde::Serialize;
use std::borrow::Cow;

/// What the policy makes of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assessment {
    pub risk: Risk,
    pub decision: Effect,
    pub rule: Rule,
    /// What the rule says the action does.
    pub description: Cow<'static, str>,
    /// The facts that mattered, those of the rule first.
    pub because: Vec<Because>,
    #[serde(skip)]
    pub refusal: Option<Refusal>,
}

impl Policy {
    /// Total and pure: the same action, facts and session always come to the same.
    pub fn assess(&self, action: &Action, facts: &Facts, mode: Mode) -> Assessment {
        let found = strictest(action, facts, &self.settings);
        let mut because = found.because;
        let decision = if found.refusal.is_some() {
            Effect::Deny
        } else {
            self.effect(found.risk, action, facts, mode, &mut because)
        };
        Assessment {
            risk: found.risk,
            decision,
            rule: found.rule,
            description: found.says,
            because,
            refusal: found.refusal,
        }
    }

    fn effect(
        &self,
        risk: Risk,
        action: &Action,
        facts: &Facts,
        mode: Mode,
        because: &mut Vec<Because>,
    ) -> Effect {
        let wanted = match self.settings.levels.of(risk) {
            Level::Allow => Effect::Allow,
            Level::Ask => Effect::Ask,
            Level::Deny => Effect::Deny,
            Level::Trusted => self.trusts(action, facts, mode, because),
        };
        if wanted == Effect::Ask && !self.settings.asks { Effect::Deny } else { wanted }
    }

    /// Sensitive beats trusted, and every host that has a part in it has to be trusted.
    fn trusts(&self, action: &Action, facts: &Facts, mode: Mode, because: &mut Vec<Because>) -> Effect {
        let hosts = hosts(action, facts);
        for host in &hosts {
            if let Some(pattern) = listed(&self.settings.sensitive, host) {
                because.push(Because::new("sensitive domain", pattern.as_str()));
                return Effect::Ask;
            }
        }
        if mode == Mode::Clean {
            because.push(Because::new("session", "clean"));
            return Effect::Allow;
        }
        let trusted: Option<Vec<_>> = hosts.iter().map(|host| listed(&self.settings.trusted, host)).collect();
        match trusted.as_deref() {
            Some([first, ..]) => {
                because.push(Because::new("trusted domain", first.as_str()));
                Effect::Allow
            }
            Some([]) | None => Effect::Ask,
        }
    }
}

/// The page's host, that of the frame, and where the action leads. For a navigation only the last counts.
fn hosts(action: &Action, facts: &Facts) -> Vec<String> {
    if let Action::Navigate(go) = action {
        return vec![go.url.host().to_owned()];
    }
    let mut hosts: Vec<String> = navigate_host(&facts.page_url).into_iter().collect();
    for element in facts.target.iter().chain(&facts.to) {
        // A frame without an origin of its own is nobody's.
        hosts.push(navigate_host(element.origin.as_str()).unwrap_or_default());
        hosts.extend(element.href.as_deref().and_then(navigate_host));
        hosts.extend(element.form.as_ref().and_then(|form| navigate_host(&form.action)));
    }
    hosts.extend(facts.dialog.as_ref().and_then(|dialog| navigate_host(dialog.origin.as_str())));
    hosts
}
