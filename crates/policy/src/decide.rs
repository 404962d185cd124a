//! The decision: total, deterministic, and able to name its rule.

use crate::{Action, Facts, Permit, Rule};

/// What the operator allows. Later rules join here; the pipeline does not change.
#[derive(Clone, Debug, Default)]
pub struct Policy {}

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
    pub code: &'static str,
    pub message: String,
    pub hint: &'static str,
}

impl Policy {
    /// Decides on what is there (`facts`), not on what was said.
    pub fn decide(&self, action: Action, facts: Facts) -> Decision {
        if let (Action::Type(_), Some(target)) = (&action, &facts.target)
            && target.secret
        {
            return Decision::Deny(Denial {
                rule: Rule("type.secret-field"),
                code: "secret_field",
                message: "typing into a password or other secret field is never allowed".to_owned(),
                hint: "Do not try another way. Ask the person to store this login, so that the session opens signed in.",
            });
        }
        let rule = match &action {
            Action::Navigate(_) => Rule("navigate.web"),
            Action::Click(_) => Rule("click.clean"),
            Action::Type(_) => Rule("type.clean"),
            Action::Read(_) => Rule("read"),
            Action::Find(_) => Rule("find"),
            Action::Screenshot(_) => Rule("screenshot"),
        };
        Decision::Allow(Permit::new(action, facts, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Click, ElementFacts, Find, Origin, Read, Target, TypeText};

    fn field(secret: bool) -> Facts {
        let target = ElementFacts {
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
        };
        Facts { page_url: "http://shop.test/login".into(), target: Some(target) }
    }

    fn typing() -> Action {
        let target = Target::Role { role: "textbox".into(), name: None, index: 0 };
        Action::Type(TypeText { target, text: "hunter2".into(), clear_first: false, submit: false })
    }

    fn check(action: Action, facts: Facts, expected: Result<&str, &str>) {
        let decided = match Policy::default().decide(action, facts) {
            Decision::Allow(permit) => Ok(permit.rule().0),
            Decision::Deny(denial) => Err(denial.rule.0),
        };
        assert_eq!(decided, expected);
    }

    #[test]
    fn typing_into_a_secret_field_is_denied() {
        check(typing(), field(true), Err("type.secret-field"));
        check(typing(), field(false), Ok("type.clean"));
    }

    #[test]
    fn a_secret_field_may_be_clicked_and_a_page_read() {
        let target = Target::Ref("e1".into());
        check(Action::Click(Click { target }), field(true), Ok("click.clean"));
        check(Action::Read(Read::default()), Facts::default(), Ok("read"));
        check(Action::Find(Find::default()), Facts::default(), Ok("find"));
    }

    #[test]
    fn typed_text_is_not_in_a_debug_print() {
        assert!(!format!("{:?}", typing()).contains("hunter2"));
    }
}
