//! The question that an operator is asked about an action, and what an approval for the session covers.

use crate::{
    Action, Click, DomainPattern, ElementFacts, Evidence, Facts, Modifiers, MouseButton, Origin, Risk,
    RuleName,
};
use std::borrow::Cow;

/// An action that needs an operator's approval.
///
/// Only [`Policy::decide`](crate::Policy::decide) makes one, and it cannot be cloned: one answer is one action. Nothing
/// in this crate turns it into a permit.
#[derive(Debug)]
pub struct Question {
    pub(crate) action: Action,
    pub(crate) facts: Facts,
    pub(crate) rule: RuleName,
    pub(crate) risk: Risk,
    pub(crate) description: Cow<'static, str>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) domain: Option<DomainPattern>,
}

/// What has changed since the operator was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    pub what: &'static str,
}

impl Question {
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

    pub fn description(&self) -> &str {
        &self.description
    }

    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// The domain off the allowlist that an approval adds to the session.
    pub fn domain(&self) -> Option<&DomainPattern> {
        self.domain.as_ref()
    }

    /// Critical actions cannot be undone, and are asked about each time.
    pub fn is_irreversible(&self) -> bool {
        self.risk == Risk::Critical
    }

    /// What "this" covers in "allow this for the session"; `None` where that is not offered.
    pub fn allowance_scope(&self) -> Option<AllowanceScope> {
        // A dialog's text is typed text, which is neither shown nor compared.
        let types_text = matches!(&self.action, Action::Dialog(answer) if answer.text.is_some());
        (!self.is_irreversible() && self.domain.is_none() && !types_text).then(|| AllowanceScope::of(self))
    }

    /// What a denial covers for a while: the same action on the same element, critical or not.
    pub fn refusal_scope(&self) -> AllowanceScope {
        AllowanceScope::of(self)
    }

    /// Compares the page that the operator was asked about with the page now.
    pub fn check_unchanged(&self, now: &Facts) -> Result<(), Changed> {
        difference(&self.action, &self.facts, now).map_or(Ok(()), |what| Err(Changed { what }))
    }

    /// Takes the question apart for the record. The parts permit nothing.
    pub fn into_parts(self) -> (Action, Facts, RuleName, Risk) {
        (self.action, self.facts, self.rule, self.risk)
    }
}

fn difference(action: &Action, asked: &Facts, now: &Facts) -> Option<&'static str> {
    // Their effect does not depend on the page.
    let ignores_page = matches!(action, Action::Navigate(_) | Action::Tabs(_));
    if !ignores_page && asked.document != now.document {
        return Some("another document is there");
    }
    if !ignores_page && asked.page_url != now.page_url {
        return Some("the address of the page");
    }
    if asked.options != now.options {
        return Some("what would be chosen");
    }
    if asked.dialog != now.dialog {
        return Some("the question of the page");
    }
    for (asked, now) in [(&asked.target, &now.target), (&asked.to, &now.to)] {
        match (asked, now) {
            (None, None) => {}
            (Some(asked), Some(now)) => {
                if let Some(what) = now.differs_from(asked).or_else(|| now.appearance_difference(asked)) {
                    return Some(what);
                }
            }
            _ => return Some("another element is in its place"),
        }
    }
    None
}

/// What an approval for the session covers: the same action, on a page of the same origin, on an element with the same
/// role, name, text and target in a frame of the same origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowanceScope(Vec<(&'static str, String)>);

impl AllowanceScope {
    fn of(question: &Question) -> AllowanceScope {
        let mut facts = vec![("action", question.action.name().to_owned())];
        match &question.action {
            Action::Navigate(go) => facts.push(("site", go.url.origin().to_string())),
            Action::Click(click) => facts.extend(click_variant(click)),
            Action::Press(press) => facts.push(("key", press.chord.redacted().into_string())),
            Action::Type(typing) if typing.submit => facts.push(("then", "Enter".to_owned())),
            Action::Check(check) => facts.push(("checked", check.checked.to_string())),
            Action::Select(_) => {
                facts.extend(question.facts.options.iter().map(|option| ("option", option.label.clone())));
            }
            Action::Dialog(answer) => facts.push(("accept", answer.accept.to_string())),
            _ => {}
        }
        if !matches!(question.action, Action::Navigate(_)) {
            facts.push(("page of", Origin::of(&question.facts.page_url).to_string()));
        }
        if let Some(element) = &question.facts.target {
            describe(&mut facts, element);
        }
        if let Some(element) = &question.facts.to {
            facts.push(("to", String::new()));
            describe(&mut facts, element);
        }
        if let Some(dialog) = &question.facts.dialog {
            facts.push(("site", dialog.origin.to_string()));
            facts.push(("dialog", format!("{} {}", dialog.kind, dialog.message)));
        }
        facts.push(("rule", question.rule.to_string()));
        AllowanceScope(facts)
    }

    /// Names that this crate gives, with values from the page.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(what, value)| (*what, value.as_str()))
    }
}

/// What distinguishes a click from a plain one.
fn click_variant(click: &Click) -> impl Iterator<Item = (&'static str, String)> {
    let button = (click.button != MouseButton::Left).then(|| ("button", format!("{:?}", click.button)));
    let times = (click.count != 1).then(|| ("times", click.count.to_string()));
    let Modifiers { alt, control, meta, shift } = click.modifiers;
    let keys = [(alt, "Alt"), (control, "Control"), (meta, "Meta"), (shift, "Shift")];
    let held = keys.into_iter().filter(|(held, _)| *held).map(|(_, key)| ("holding", key.to_owned()));
    button.into_iter().chain(times).chain(held)
}

fn describe(facts: &mut Vec<(&'static str, String)>, element: &ElementFacts) {
    facts.push(("site", element.origin.to_string()));
    facts.push(("role", element.role.clone()));
    facts.push(("name", element.name.clone()));
    if element.text != element.name {
        facts.push(("text", element.text.clone()));
    }
    if let Some(form) = &element.form {
        facts.push(("form", format!("{} {}", form.method, form.action)));
        facts.extend(form.button.as_ref().map(|button| ("sent by", button.label())));
    }
    if let Some(href) = &element.href {
        facts.push(("leads to", href.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AnswerDialog, Appearance, Decision, DialogFacts, Document, FormFacts, Policy, RiskResponse,
        RiskResponses, SessionContext, Settings, Target,
    };

    fn button() -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "button".into(),
            name: "Delete".into(),
            text: "Delete".into(),
            tag: "button".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: None,
            editable: false,
            secret: false,
            href: None,
            form: None,
            matches: 1,
            appearance: Appearance { rect: [10, 20, 80, 30], form_digest: String::new(), pinned: false },
        }
    }

    fn page(target: ElementFacts) -> Facts {
        let page_url = "http://shop.test/".to_owned();
        let document = Document { tab: 1, count: 3 };
        Facts { page_url, document, target: Some(target), ..Facts::default() }
    }

    fn asked(facts: Facts) -> Question {
        let click = Action::Click(Click::on(Target::Focused));
        match Policy::default().decide(click, facts, &SessionContext::default()) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_change_of_the_page_or_the_element_is_noticed() {
        let form = |action: &str| {
            let (method, action) = ("post".into(), action.to_owned());
            Some(FormFacts { method, action, ..FormFacts::default() })
        };
        let moved = |rect| Appearance { rect, ..button().appearance };
        for (now, expected) in [
            (page(button()), None),
            (page(ElementFacts { matches: 7, appearance: moved([12, 18, 80, 30]), ..button() }), None),
            (
                page(ElementFacts { element: "e2".into(), ..button() }),
                Some("another element is in its place"),
            ),
            (page(ElementFacts { role: "link".into(), ..button() }), Some("its role")),
            (page(ElementFacts { name: "Send".into(), ..button() }), Some("its name")),
            (page(ElementFacts { text: "Delete all".into(), ..button() }), Some("its text")),
            (page(ElementFacts { form: form("http://evil.test/"), ..button() }), Some("where its form goes")),
            (
                page(ElementFacts { href: Some("http://evil.test/".into()), ..button() }),
                Some("where it leads"),
            ),
            (
                page(ElementFacts { appearance: moved([10, 50, 80, 30]), ..button() }),
                Some("its place or size"),
            ),
            (
                page(ElementFacts { appearance: moved([10, 20, 800, 30]), ..button() }),
                Some("its place or size"),
            ),
            (
                page(ElementFacts {
                    appearance: Appearance { form_digest: "x".into(), ..button().appearance },
                    ..button()
                }),
                Some("what its form holds"),
            ),
            (
                Facts { document: Document { tab: 1, count: 4 }, ..page(button()) },
                Some("another document is there"),
            ),
            (
                Facts { document: Document { tab: 2, count: 3 }, ..page(button()) },
                Some("another document is there"),
            ),
            (
                Facts { page_url: "http://shop.test/#a".into(), ..page(button()) },
                Some("the address of the page"),
            ),
            (Facts { target: None, ..page(button()) }, Some("another element is in its place")),
        ] {
            let held = asked(page(button())).check_unchanged(&now);
            assert_eq!(held.err().map(|changed| changed.what), expected, "{now:?}");
        }
    }

    fn asked_to(action: Action, facts: Facts) -> Question {
        let settings = Settings { responses: RiskResponses::all(RiskResponse::Ask), ..Settings::default() };
        match Policy::new(settings).decide(action, facts, &SessionContext::default()) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_allowance_covers_one_site_and_one_kind_of_click() {
        let at = |url: &str| Facts { page_url: url.into(), posted: true, ..Facts::default() };
        let reload = |url: &str| asked_to(Action::Reload, at(url)).allowance_scope().unwrap();
        assert_eq!(reload("http://shop.test/a"), reload("http://shop.test/b"));
        assert_ne!(reload("http://shop.test/a"), reload("http://bank.test/a"));
        let click = |click: Click| asked_to(Action::Click(click), page(button())).allowance_scope().unwrap();
        let plain = Click::on(Target::Focused);
        let shift = Modifiers { shift: true, ..Modifiers::default() };
        assert_eq!(click(plain.clone()), click(Click::on(Target::Ref("e1".into()))));
        for other in [
            Click { button: MouseButton::Right, ..plain.clone() },
            Click { count: 2, ..plain.clone() },
            Click { modifiers: shift, ..plain.clone() },
        ] {
            assert_ne!(click(other.clone()), click(plain.clone()), "{other:?}");
        }
        let answer = |text: Option<&str>| {
            let (kind, message) = ("prompt".to_owned(), "How much?".to_owned());
            let dialog = DialogFacts { kind, message, origin: Origin::of("http://shop.test/") };
            let facts = Facts { dialog: Some(dialog), ..at("http://shop.test/") };
            let text = text.map(str::to_owned);
            asked_to(Action::Dialog(AnswerDialog { accept: true, text }), facts).allowance_scope()
        };
        assert!(answer(None).is_some() && answer(Some("5")).is_none());
    }

    #[test]
    fn an_allowance_covers_the_same_element_and_nothing_irreversible() {
        let scope = |target: ElementFacts| asked(page(target)).allowance_scope();
        let once = scope(button()).unwrap();
        assert_eq!(scope(ElementFacts { element: "e9".into(), ..button() }), Some(once.clone()));
        for other in [
            ElementFacts { name: "Delete it".into(), ..button() },
            ElementFacts { text: "Delete everything".into(), ..button() },
            ElementFacts { origin: Origin::of("http://other.test/"), ..button() },
            ElementFacts { href: Some("http://shop.test/x".into()), ..button() },
        ] {
            assert_ne!(scope(other.clone()), Some(once.clone()), "{other:?}");
        }
        assert_eq!(scope(ElementFacts { name: "Delete account".into(), ..button() }), None);
        let elsewhere = Facts { page_url: "http://bank.test/".into(), ..page(button()) };
        assert_ne!(asked(elsewhere).allowance_scope(), Some(once.clone()), "in a frame of another page");
        let facts: Vec<_> = once.facts().collect();
        assert!(
            facts.contains(&("name", "Delete")) && facts.contains(&("site", "http://shop.test")),
            "{facts:?}"
        );
    }

    #[test]
    fn approved_facts_are_pinned() {
        let facts = Facts { to: Some(button()), ..page(button()) }.pinned();
        assert!(facts.target.unwrap().appearance.pinned && facts.to.unwrap().appearance.pinned);
    }
}
