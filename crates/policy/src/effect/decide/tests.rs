//! Decisions on effects by access and settings.

use super::*;
use crate::{
    Action, Click, Comparison, CustomRule, EffectRequest, EffectTransport, Facts, RiskResponses,
    RuleDefinition, Settings, Subject, Target,
};

fn effect(method: &str, path: &str) -> Effect {
    Effect::decode(EffectRequest {
        transport: EffectTransport::Http,
        method: method.into(),
        url: format!("https://app.test{path}"),
        content_type: "application/json".into(),
        destination: "empty".into(),
        body: "{}".as_bytes().into(),
    })
}

fn outcome(policy: &Policy, effect: Effect, access: Access, cause: Option<&CausingAction>) -> String {
    match policy.decide_effect(effect, &EffectContext { access, cause }) {
        EffectDecision::Pass => "pass".to_owned(),
        EffectDecision::Allow(permit) => format!("allow {}", permit.into_parts().2),
        EffectDecision::Ask(question) => format!("ask {}", question.rule()),
        EffectDecision::Deny { denial, .. } => format!("deny {} {}", denial.rule, denial.code.name()),
    }
}

#[test]
fn access_decides_which_classes_ask() {
    let policy = Policy::default();
    for (method, path, read, write, full) in [
        ("POST", "/api/search", "pass", "pass", "pass"),
        ("POST", "/api/todos", "ask effect.write", "allow effect.write", "allow effect.write"),
        ("DELETE", "/api/todos/3", "ask effect.destroys", "ask effect.destroys", "allow effect.destroys"),
        ("POST", "/api/messages", "ask effect.sends", "ask effect.sends", "allow effect.sends"),
        ("POST", "/api/payments", "ask effect.pays", "ask effect.pays", "ask effect.pays"),
        ("POST", "/api/tokens", "ask effect.power", "ask effect.power", "ask effect.power"),
        ("DELETE", "/api/account", "ask effect.account", "ask effect.account", "ask effect.account"),
    ] {
        for (access, expected) in [(Access::Read, read), (Access::Write, write), (Access::Full, full)] {
            assert_eq!(
                outcome(&policy, effect(method, path), access, None),
                expected,
                "{method} {path} {access:?}"
            );
        }
    }
}

#[test]
fn settings_deny_and_nobody_to_ask_denies() {
    let responses = RiskResponses { high: RiskResponse::Deny, ..RiskResponses::default() };
    let strict = Policy::new(Settings { responses, ..Settings::default() });
    let expected = "deny effect.destroys denied_by_policy";
    assert_eq!(outcome(&strict, effect("DELETE", "/x/3"), Access::Full, None), expected);
    let alone = Policy::new(Settings { asks: false, ..Settings::default() });
    assert_eq!(outcome(&alone, effect("DELETE", "/x/3"), Access::Write, None), expected);
    assert_eq!(outcome(&alone, effect("POST", "/todos"), Access::Write, None), "allow effect.write");
}

#[test]
fn an_operators_rule_about_the_action_raises_its_effect() {
    let rule = CustomRule::new(RuleDefinition {
        name: "releases".into(),
        tools: vec!["click".into()],
        risk: Risk::Critical,
        conditions: vec![(Subject::Fact, "page_url".into(), Comparison::Contains("release".into()))],
        description: "makes a release".into(),
    });
    let policy = Policy::new(Settings { rules: vec![rule.unwrap()], ..Settings::default() });
    let cause = |is_recent| CausingAction {
        number: 1,
        action: Action::Click(Click::on(Target::Focused)),
        facts: Facts { page_url: "https://app.test/release".into(), ..Facts::default() },
        is_recent,
        opened_by: None,
    };
    assert_eq!(outcome(&policy, effect("POST", "/todos"), Access::Full, Some(&cause(true))), "ask releases");
    assert_eq!(
        outcome(&policy, effect("POST", "/todos"), Access::Full, Some(&cause(false))),
        "allow effect.write"
    );
}

#[test]
fn questions_are_described_and_critical_ones_are_asked_each_time() {
    let ask = |method, path| {
        let context = EffectContext { access: Access::Write, cause: None };
        match Policy::default().decide_effect(effect(method, path), &context) {
            EffectDecision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    };
    let question = ask("DELETE", "/files/3");
    assert_eq!(question.description(), "deletes or cancels something");
    assert_eq!(question.pattern().unwrap().describe(), "DELETE to /files/*");
    assert!(!question.evidence().is_empty());
    assert!(ask("POST", "/payments").pattern().is_none());
}
