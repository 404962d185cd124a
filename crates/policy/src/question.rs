//! What a person is asked, and how a yes becomes a permit: for that action, on that page, while it is as it was.

use crate::{
    Action, Because, Click, DomainPattern, ElementFacts, Facts, Modifiers, MouseButton, Origin, Permit, Risk,
    Rule,
};
use std::borrow::Cow;

/// An action that waits for a person's word. It is neither cloned nor built elsewhere, so that one answer is one action.
#[derive(Debug)]
pub struct Question {
    pub(crate) action: Action,
    pub(crate) facts: Facts,
    pub(crate) rule: Rule,
    pub(crate) risk: Risk,
    pub(crate) description: Cow<'static, str>,
    pub(crate) because: Vec<Because>,
    pub(crate) domain: Option<DomainPattern>,
}

impl Question {
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

    pub fn description(&self) -> &str {
        &self.description
    }

    pub fn because(&self) -> &[Because] {
        &self.because
    }

    /// The domain off the allowlist that a yes adds to those of the session.
    pub fn domain(&self) -> Option<&DomainPattern> {
        self.domain.as_ref()
    }

    /// What cannot be undone is said to be so, and is asked each time.
    pub fn is_irreversible(&self) -> bool {
        self.risk == Risk::Critical
    }

    /// What "this" is in "allow this for the session"; nothing where that cannot be given.
    pub fn leave(&self) -> Option<Leave> {
        // An answer is typed text, which is neither shown nor compared.
        let answers = matches!(&self.action, Action::Dialog(answer) if answer.text.is_some());
        (!self.is_irreversible() && self.domain.is_none() && !answers).then(|| Leave::of(self))
    }

    /// For the book of approvals alone, once a person has said yes. The architecture test holds other callers off.
    pub fn approved_by(self, who: String) -> Approved {
        Approved { question: self, who }
    }

    /// Takes it apart, for the record of a no.
    pub fn into_parts(self) -> (Action, Facts) {
        (self.action, self.facts)
    }
}

/// A question that a person said yes to.
#[derive(Debug)]
pub struct Approved {
    question: Question,
    who: String,
}

/// What is not as it was when the person was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    pub what: &'static str,
}

impl Approved {
    pub fn action(&self) -> &Action {
        &self.question.action
    }

    /// The permit, if what is found now is what the person was asked about.
    pub fn still_holds(self, now: Facts) -> Result<Permit, Changed> {
        let Question { action, facts: asked, rule, risk, .. } = self.question;
        if let Some(what) = difference(&action, &asked, &now) {
            return Err(Changed { what });
        }
        let mut facts = now;
        for element in facts.target.iter_mut().chain(&mut facts.to) {
            element.sight.is_bound = true;
        }
        Ok(Permit::approved(action, facts, rule, risk, self.who))
    }
}

fn difference(action: &Action, asked: &Facts, now: &Facts) -> Option<&'static str> {
    // Where these lead is in the action itself, whatever page is there.
    let is_anywhere = matches!(action, Action::Navigate(_) | Action::Tabs(_));
    if !is_anywhere && asked.document != now.document {
        return Some("another document is there");
    }
    if !is_anywhere && asked.page_url != now.page_url {
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
                if let Some(what) = now.differs_from(asked).or_else(|| now.looks_unlike(asked)) {
                    return Some(what);
                }
            }
            _ => return Some("another element is in its place"),
        }
    }
    None
}

/// Leave for more of the same: the same action, on a page of the same site, on what has the same role, name, text and
/// target in a frame of the same site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave(Vec<(&'static str, String)>);

impl Leave {
    fn of(question: &Question) -> Leave {
        let mut this = vec![("action", question.action.name().to_owned())];
        match &question.action {
            Action::Navigate(go) => this.push(("site", go.url.origin().to_string())),
            Action::Click(click) => this.extend(gesture(click)),
            Action::Press(press) => this.push(("key", press.chord.told())),
            Action::Type(typing) if typing.submit => this.push(("then", "Enter".to_owned())),
            Action::Check(check) => this.push(("checked", check.checked.to_string())),
            Action::Select(_) => {
                this.extend(question.facts.options.iter().map(|option| ("option", option.label.clone())));
            }
            Action::Dialog(answer) => this.push(("accept", answer.accept.to_string())),
            _ => {}
        }
        if !matches!(question.action, Action::Navigate(_)) {
            this.push(("page of", Origin::of(&question.facts.page_url).to_string()));
        }
        if let Some(element) = &question.facts.target {
            describe(&mut this, element);
        }
        if let Some(element) = &question.facts.to {
            this.push(("to", String::new()));
            describe(&mut this, element);
        }
        if let Some(dialog) = &question.facts.dialog {
            this.push(("site", dialog.origin.to_string()));
            this.push(("dialog", format!("{} {}", dialog.kind, dialog.message)));
        }
        this.push(("rule", question.rule.to_string()));
        Leave(this)
    }

    /// Names of ours, and what the page calls it.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(what, value)| (*what, value.as_str()))
    }
}

/// What makes a click another than a plain one.
fn gesture(click: &Click) -> impl Iterator<Item = (&'static str, String)> {
    let button = (click.button != MouseButton::Left).then(|| ("button", format!("{:?}", click.button)));
    let times = (click.count != 1).then(|| ("times", click.count.to_string()));
    let Modifiers { alt, control, meta, shift } = click.modifiers;
    let keys = [(alt, "Alt"), (control, "Control"), (meta, "Meta"), (shift, "Shift")];
    let held = keys.into_iter().filter(|(held, _)| *held).map(|(_, key)| ("holding", key.to_owned()));
    button.into_iter().chain(times).chain(held)
}

fn describe(this: &mut Vec<(&'static str, String)>, element: &ElementFacts) {
    this.push(("site", element.origin.to_string()));
    this.push(("role", element.role.clone()));
    this.push(("name", element.name.clone()));
    if element.text != element.name {
        this.push(("text", element.text.clone()));
    }
    if let Some(form) = &element.form {
        this.push(("form", format!("{} {}", form.method, form.action)));
        this.extend(form.button.as_ref().map(|button| ("sent by", button.told())));
    }
    if let Some(href) = &element.href {
        this.push(("leads to", href.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AnswerDialog, Decision, DialogFacts, Document, FormFacts, Level, Levels, Policy, Settings, Sight,
        Standing, Target,
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
            sight: Sight { place: [10, 20, 80, 30], form: String::new(), is_bound: false },
        }
    }

    fn page(target: ElementFacts) -> Facts {
        let page_url = "http://shop.test/".to_owned();
        let document = Document { tab: 1, count: 3 };
        Facts { page_url, document, target: Some(target), ..Facts::default() }
    }

    fn asked(facts: Facts) -> Question {
        let click = Action::Click(Click::on(Target::Focused));
        match Policy::default().decide(click, facts, &Standing::default()) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_yes_is_for_what_was_there_and_for_nothing_else() {
        let form = |action: &str| {
            let (method, action) = ("post".into(), action.to_owned());
            Some(FormFacts { method, action, ..FormFacts::default() })
        };
        let moved = |place| Sight { place, ..button().sight };
        for (now, expected) in [
            (page(button()), None),
            (page(ElementFacts { matches: 7, sight: moved([12, 18, 80, 30]), ..button() }), None),
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
            (page(ElementFacts { sight: moved([10, 50, 80, 30]), ..button() }), Some("its place or size")),
            (page(ElementFacts { sight: moved([10, 20, 800, 30]), ..button() }), Some("its place or size")),
            (
                page(ElementFacts { sight: Sight { form: "x".into(), ..button().sight }, ..button() }),
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
            let told = format!("{now:?}");
            let held = asked(page(button())).approved_by("alice".into()).still_holds(now);
            assert_eq!(held.as_ref().err().map(|changed| changed.what), expected, "{told}");
            if let Ok(permit) = held {
                assert_eq!(permit.decided_by(), "alice");
                assert!(permit.facts().target.as_ref().unwrap().sight.is_bound);
            }
        }
    }

    fn asked_to(action: Action, facts: Facts) -> Question {
        let settings = Settings { levels: Levels::all(Level::Ask), ..Settings::default() };
        match Policy::new(settings).decide(action, facts, &Standing::default()) {
            Decision::Ask(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn leave_is_for_one_site_and_one_gesture() {
        let at = |url: &str| Facts { page_url: url.into(), posted: true, ..Facts::default() };
        let reload = |url: &str| asked_to(Action::Reload, at(url)).leave().unwrap();
        assert_eq!(reload("http://shop.test/a"), reload("http://shop.test/b"));
        assert_ne!(reload("http://shop.test/a"), reload("http://bank.test/a"));
        let click = |click: Click| asked_to(Action::Click(click), page(button())).leave().unwrap();
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
            asked_to(Action::Dialog(AnswerDialog { accept: true, text }), facts).leave()
        };
        assert!(answer(None).is_some() && answer(Some("5")).is_none());
    }

    #[test]
    fn leave_is_for_the_same_and_never_for_what_cannot_be_undone() {
        let leave = |target: ElementFacts| asked(page(target)).leave();
        let once = leave(button()).unwrap();
        assert_eq!(leave(ElementFacts { element: "e9".into(), ..button() }), Some(once.clone()));
        for other in [
            ElementFacts { name: "Delete it".into(), ..button() },
            ElementFacts { text: "Delete everything".into(), ..button() },
            ElementFacts { origin: Origin::of("http://other.test/"), ..button() },
            ElementFacts { href: Some("http://shop.test/x".into()), ..button() },
        ] {
            assert_ne!(leave(other.clone()), Some(once.clone()), "{other:?}");
        }
        assert_eq!(leave(ElementFacts { name: "Delete account".into(), ..button() }), None);
        let elsewhere = Facts { page_url: "http://bank.test/".into(), ..page(button()) };
        assert_ne!(asked(elsewhere).leave(), Some(once.clone()), "in a frame of another page");
        let told: Vec<_> = once.facts().collect();
        assert!(
            told.contains(&("name", "Delete")) && told.contains(&("site", "http://shop.test")),
            "{told:?}"
        );
    }
}
