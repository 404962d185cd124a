//! The rules, one file for each kind of action, and the strictest finding.

pub(crate) mod address;
pub(crate) mod catalog;
mod click;
mod controls;
mod form;
mod navigate;
mod typing;
pub(crate) mod wording;

pub use catalog::BuiltinRule;

use crate::evidence::Evidence;
use crate::settings::DomainLimits;
use crate::{Action, CustomRule, Facts, Risk, RuleName, Settings};
use catalog::{LOOK, RELOAD_POSTS};
use error_code::ErrorCode;
use std::borrow::Cow;

/// Every built-in rule.
pub fn builtin_rules() -> &'static [&'static BuiltinRule] {
    catalog::ALL
}

/// What is refused whatever the operator set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    SecretField,
    /// Its name says that it is a secret, though the driver does not know it as one.
    SecretName,
    Clipboard,
    Upload,
    BlockedDomain,
    Credential,
}

impl Refusal {
    /// The error code for the agent.
    pub fn code(self) -> ErrorCode {
        match self {
            Refusal::SecretField | Refusal::SecretName => ErrorCode::SecretField,
            Refusal::Clipboard => ErrorCode::ClipboardRefused,
            Refusal::Upload => ErrorCode::UploadRefused,
            Refusal::BlockedDomain => ErrorCode::BlockedDomain,
            Refusal::Credential => ErrorCode::CredentialTyped,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub risk: Risk,
    pub rule: RuleName,
    pub description: Cow<'static, str>,
    pub evidence: Vec<Evidence>,
    pub refusal: Option<Refusal>,
}

/// The strictest finding so far: a refusal before all others, then the higher risk, then the earlier one.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    best: Option<Finding>,
}

impl Findings {
    pub fn add(&mut self, rule: &'static BuiltinRule, evidence: &[(&'static str, &str)]) {
        self.keep(rule, evidence, None);
    }

    pub fn refuse(
        &mut self,
        rule: &'static BuiltinRule,
        refusal: Refusal,
        evidence: &[(&'static str, &str)],
    ) {
        self.keep(rule, evidence, Some(refusal));
    }

    fn keep(
        &mut self,
        rule: &'static BuiltinRule,
        evidence: &[(&'static str, &str)],
        refusal: Option<Refusal>,
    ) {
        if self.is_stricter(rule.risk, refusal) {
            let evidence = evidence.iter().map(|(fact, value)| Evidence::new(fact, value)).collect();
            let (rule_name, description) = (RuleName::builtin(rule.name), Cow::Borrowed(rule.description));
            self.best = Some(Finding { risk: rule.risk, rule: rule_name, description, evidence, refusal });
        }
    }

    fn is_stricter(&self, risk: Risk, refusal: Option<Refusal>) -> bool {
        // A secret by name alone is the weakest reason to refuse.
        let weight = |refusal: Option<Refusal>| {
            refusal.map_or(0, |refusal| 1 + u8::from(refusal != Refusal::SecretName))
        };
        self.best.as_ref().is_none_or(|best| (weight(refusal), risk) > (weight(best.refusal), best.risk))
    }

    fn add_custom(&mut self, rule: &CustomRule, evidence: Vec<Evidence>) {
        if self.is_stricter(rule.risk, None) {
            let (name, description) = (RuleName::custom(&rule.name), Cow::Owned(rule.description.clone()));
            self.best = Some(Finding { risk: rule.risk, rule: name, description, evidence, refusal: None });
        }
    }

    fn into_strictest(self) -> Finding {
        self.best.unwrap_or_else(|| Finding {
            risk: LOOK.risk,
            rule: RuleName::builtin(LOOK.name),
            description: Cow::Borrowed(LOOK.description),
            evidence: Vec::new(),
            refusal: None,
        })
    }
}

/// What rules judge by beside the action and its facts.
pub(crate) struct RuleContext<'a> {
    pub settings: &'a Settings,
    pub domains: DomainLimits<'a>,
}

/// Applies every rule and returns the strictest finding.
pub(crate) fn evaluate(action: &Action, facts: &Facts, context: &RuleContext<'_>) -> Finding {
    let mut findings = Findings::default();
    for rule in &context.settings.rules {
        if let Some(evidence) = rule.applies(action, facts) {
            findings.add_custom(rule, evidence);
        }
    }
    match action {
        Action::Navigate(go) => navigate::to(&mut findings, go.url.as_str(), facts, context),
        Action::Click(_) => click::on(&mut findings, facts, context),
        Action::Type(typing) => typing::text(&mut findings, typing, facts, context),
        Action::Press(press) => typing::key(&mut findings, press, facts, context),
        Action::Select(_) => controls::select(&mut findings, facts, context),
        Action::Check(check) => controls::check(&mut findings, check.checked, facts, context),
        Action::Drag(_) => controls::drag(&mut findings, facts, context),
        Action::Dialog(answer) => {
            typing::scan(&mut findings, answer.text.as_deref().unwrap_or_default(), context);
            controls::dialog(&mut findings, answer.accept, facts);
        }
        Action::Reload if facts.posted => findings.add(&RELOAD_POSTS, &[("posted", "true")]),
        Action::Back
        | Action::Forward
        | Action::Reload
        | Action::Hover(_)
        | Action::Scroll(_)
        | Action::WaitFor(_)
        | Action::Read(_)
        | Action::ReadDom(_)
        | Action::Find(_)
        | Action::Screenshot(_)
        | Action::Tabs(_) => {}
    }
    findings.into_strictest()
}
