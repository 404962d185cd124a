//! The rules, one file for each kind of action, and the strictest of what they found.

mod address;
pub(crate) mod catalog;
mod click;
mod custom;
mod form;
mod navigate;
mod others;
mod say;
mod typing;

pub use catalog::Builtin;
pub use custom::{BadRule, CustomRule, Operator, RuleText, Subject};
pub(crate) use navigate::host_of as navigate_host;

use crate::{Action, Facts, Risk, Rule, Settings};
use catalog::{LOOK, RELOAD_POSTS};
use serde::Serialize;
use std::borrow::Cow;

/// Every built-in rule.
pub fn builtin() -> &'static [&'static Builtin] {
    catalog::ALL
}

/// A fact that a rule rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Because {
    pub fact: &'static str,
    pub value: String,
}

impl Because {
    pub(crate) fn new(fact: &'static str, value: &str) -> Because {
        const LONGEST: usize = 120;
        let mut value: String = value.chars().take(LONGEST + 1).collect();
        if value.chars().count() > LONGEST {
            value.pop();
            value.push('…');
        }
        Because { fact, value }
    }
}

/// What is refused whatever the operator set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    SecretField,
    /// Called a secret by its page, though it does not look like one to the driver.
    SecretName,
    Clipboard,
    Upload,
    BlockedDomain,
    Credential,
}

impl Refusal {
    /// What the agent is told.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::SecretField | Refusal::SecretName => "secret_field",
            Refusal::Clipboard => "clipboard_refused",
            Refusal::Upload => "upload_refused",
            Refusal::BlockedDomain => "blocked_domain",
            Refusal::Credential => "credential_typed",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub risk: Risk,
    pub rule: Rule,
    pub says: Cow<'static, str>,
    pub because: Vec<Because>,
    pub refusal: Option<Refusal>,
}

/// The strictest finding so far: a refusal before all others, then the higher risk, then what was found first.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    best: Option<Finding>,
}

impl Findings {
    pub fn found(&mut self, rule: &'static Builtin, because: &[(&'static str, &str)]) {
        self.keep(rule, because, None);
    }

    pub fn refused(&mut self, rule: &'static Builtin, refusal: Refusal, because: &[(&'static str, &str)]) {
        self.keep(rule, because, Some(refusal));
    }

    fn keep(&mut self, rule: &'static Builtin, because: &[(&'static str, &str)], refusal: Option<Refusal>) {
        if self.is_stricter(rule.risk, refusal) {
            let because = because.iter().map(|(fact, value)| Because::new(fact, value)).collect();
            let says = Cow::Borrowed(rule.says);
            self.best =
                Some(Finding { risk: rule.risk, rule: Rule::builtin(rule.name), says, because, refusal });
        }
    }

    fn is_stricter(&self, risk: Risk, refusal: Option<Refusal>) -> bool {
        // What is a secret by its name alone gives way to what is refused for more than a name.
        let weight = |refusal: Option<Refusal>| {
            refusal.map_or(0, |refusal| 1 + u8::from(refusal != Refusal::SecretName))
        };
        self.best.as_ref().is_none_or(|best| (weight(refusal), risk) > (weight(best.refusal), best.risk))
    }

    fn operators(&mut self, rule: &CustomRule, because: Vec<Because>) {
        if self.is_stricter(rule.risk, None) {
            let (name, says) = (Rule::custom(&rule.name), Cow::Owned(rule.description.clone()));
            self.best = Some(Finding { risk: rule.risk, rule: name, says, because, refusal: None });
        }
    }

    fn done(self) -> Finding {
        self.best.unwrap_or_else(|| Finding {
            risk: LOOK.risk,
            rule: Rule::builtin(LOOK.name),
            says: Cow::Borrowed(LOOK.says),
            because: Vec::new(),
            refusal: None,
        })
    }
}

/// Looks at an action with every rule there is.
pub(crate) fn strictest(action: &Action, facts: &Facts, settings: &Settings) -> Finding {
    let mut findings = Findings::default();
    for rule in &settings.rules {
        if let Some(because) = rule.applies(action, facts) {
            findings.operators(rule, because);
        }
    }
    match action {
        Action::Navigate(go) => navigate::to(&mut findings, go.url.as_str(), facts, settings),
        Action::Click(_) => click::on(&mut findings, facts, settings),
        Action::Type(typing) => typing::text(&mut findings, typing, facts, settings),
        Action::Press(press) => typing::key(&mut findings, press, facts, settings),
        Action::Select(_) => others::select(&mut findings, facts, settings),
        Action::Check(check) => others::check(&mut findings, check.checked, facts, settings),
        Action::Drag(_) => others::drag(&mut findings, facts, settings),
        Action::Dialog(answer) => {
            typing::scan(&mut findings, answer.text.as_deref().unwrap_or_default(), settings);
            others::dialog(&mut findings, answer.accept, facts);
        }
        Action::Reload if facts.posted => findings.found(&RELOAD_POSTS, &[("posted", "true")]),
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
    findings.done()
}
