//! The decision: total, deterministic, and able to name its rule.

use crate::{Action, Facts, Mode, Permit, Refusal, Risk, Rule, Settings};
use std::sync::Arc;

/// What the operator allows. Later rules join here; the pipeline does not change.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) settings: Arc<Settings>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each action and taken apart at once")]
pub enum Decision {
    Allow(Permit),
    Deny(Denial),
}

/// Why an action was refused, in words for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub rule: Rule,
    pub risk: Risk,
    pub code: &'static str,
    pub message: String,
    pub hint: &'static str,
}

impl Policy {
    pub fn new(settings: Settings) -> Policy {
        Policy { settings: Arc::new(settings) }
    }

    /// Decides on what is there (`facts`), not on what was said.
    ///
    /// Nobody can be asked yet, so what the assessment would ask about is allowed; its risk and its rule are what the
    /// record says.
    pub fn decide(&self, action: Action, facts: Facts) -> Decision {
        let assessed = self.assess(&action, &facts, Mode::Clean);
        // A field that is a secret by its name alone waits for somebody who can be asked.
        match assessed.refusal.filter(|refusal| *refusal != Refusal::SecretName) {
            Some(refusal) => Decision::Deny(refused(refusal, assessed.rule, assessed.risk)),
            None => Decision::Allow(Permit::new(action, facts, assessed.rule, assessed.risk)),
        }
    }
}

/// What is never allowed, whoever asks.
fn refused(refusal: Refusal, rule: Rule, risk: Risk) -> Denial {
    let (message, hint) = match refusal {
        Refusal::Clipboard => (
            "copying, cutting and pasting are refused: they would carry what a field hides",
            "Type the text instead.",
        ),
        Refusal::SecretField | Refusal::SecretName => (
            "typing into a password or other secret field is never allowed",
            "Do not try another way. Ask the person to store this login, so that the session opens signed in.",
        ),
        Refusal::Upload => (
            "choosing a file is refused: nothing is uploaded from this machine",
            "Do not try another way. Tell the person that this step needs a file.",
        ),
        Refusal::BlockedDomain => (
            "this leads to a domain that is not on the allowlist",
            "Do not try another way. Ask the operator to add the domain to security.browser.domain_allowlist.",
        ),
        Refusal::Credential => (
            "the text looks like a key, a token or a card number, and such are never typed by an agent",
            "Do not try another way. Ask the operator to store this credential, so that the session opens with it.",
        ),
    };
    Denial { rule, risk, code: refusal.code(), message: message.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chord, Click, Drag, ElementFacts, Find, Origin, Press, Read, Select, Target, TypeText};

    fn field(secret: bool) -> ElementFacts {
        ElementFacts {
            element: "e1".into(),
            role: "textbox".into(),
            name: "Password".into(),
            text: String::new(),
            tag: "input".into(),
            origin: Origin::of("http://shop.test/"),
            input_type: Some("password".into()),
            secret,
            href: None,
            form: None,
            matches: 1,
        }
    }

    fn on(target: ElementFacts) -> Facts {
        Facts { page_url: "http://shop.test/login".into(), target: Some(target), ..Facts::default() }
    }

    fn typing() -> Action {
        let target = Target::Role { role: "textbox".into(), name: None, index: 0 };
        Action::Type(TypeText { target, text: "hunter2".into(), clear_first: false, submit: false })
    }

    fn press(chord: &str) -> Action {
        Action::Press(Press { target: Target::Focused, chord: Chord::parse(chord).unwrap() })
    }

    fn check(action: Action, facts: Facts, expected: Result<&str, &str>) {
        let asked = format!("{action:?}");
        let decided = match Policy::default().decide(action, facts) {
            Decision::Allow(permit) => Ok(permit.rule().to_string()),
            Decision::Deny(denial) => Err(denial.rule.to_string()),
        };
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(decided, expected, "{asked}");
    }

    #[test]
    fn nothing_is_put_into_a_secret_field_or_taken_out_of_it() {
        let drag = || Action::Drag(Drag { from: Target::Focused, to: Target::Focused });
        let select = Action::Select(Select { target: Target::Focused, options: Vec::new() });
        check(typing(), on(field(true)), Err("type.secret-field"));
        check(typing(), on(field(false)), Ok("type.secret-name"));
        check(press("x"), on(field(true)), Err("press.secret-field"));
        check(press("Backspace"), on(field(true)), Err("press.secret-field"));
        check(press("Tab"), on(field(true)), Ok("press.move"));
        check(press("x"), on(field(false)), Ok("type.secret-name"));
        check(select, on(field(true)), Err("select.secret-field"));
        check(drag(), on(field(true)), Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(true)), ..on(field(false)) }, Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(false)), ..on(field(false)) }, Ok("drag.move"));
    }

    #[test]
    fn the_clipboard_is_out_of_reach_and_so_are_files() {
        check(press("Control+c"), on(field(false)), Err("press.clipboard"));
        check(press("Shift+Insert"), Facts::default(), Err("press.clipboard"));
        let file = || ElementFacts { input_type: Some("file".into()), ..field(false) };
        check(Action::Click(Click::on(Target::Focused)), on(file()), Err("upload"));
        check(press("Enter"), on(file()), Err("upload"));
    }

    #[test]
    fn a_secret_field_may_be_clicked_and_a_page_read() {
        check(Action::Click(Click::on(Target::Ref("e1".into()))), on(field(true)), Ok("click.field"));
        check(Action::Read(Read::default()), Facts::default(), Ok("look"));
        check(Action::Find(Find::default()), Facts::default(), Ok("look"));
    }
}
