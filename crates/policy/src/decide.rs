//! The decision: total, deterministic, and able to name its rule.

use crate::{Action, ElementFacts, Facts, Permit, Rule};

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
        if let Some(denial) = refused(&action, &facts) {
            return Decision::Deny(denial);
        }
        let rule = match &action {
            Action::Navigate(_) => "navigate.web",
            Action::Back | Action::Forward | Action::Reload => "history",
            Action::Click(_) => "click.clean",
            Action::Hover(_) => "hover",
            Action::Drag(_) => "drag.clean",
            Action::Type(_) => "type.clean",
            Action::Press(_) => "press.clean",
            Action::Select(_) => "select.clean",
            Action::Check(_) => "check.clean",
            Action::Scroll(_) => "scroll",
            Action::WaitFor(_) => "wait",
            Action::Read(_) => "read",
            Action::ReadDom(_) => "read-dom",
            Action::Find(_) => "find",
            Action::Screenshot(_) => "screenshot",
            Action::Tabs(_) => "tabs",
            Action::Dialog(_) => "dialog.clean",
        };
        Decision::Allow(Permit::new(action, facts, Rule(rule)))
    }
}

/// What is never allowed, whoever asks.
fn refused(action: &Action, facts: &Facts) -> Option<Denial> {
    let is_secret = |element: &Option<ElementFacts>| element.as_ref().is_some_and(|element| element.secret);
    match action {
        Action::Press(press) if press.chord.uses_clipboard() => Some(Denial {
            rule: Rule("press.clipboard"),
            code: "clipboard_refused",
            message: "copying, cutting and pasting are refused: they would carry what a field hides"
                .to_owned(),
            hint: "Type the text instead.",
        }),
        Action::Type(_) if is_secret(&facts.target) => Some(secret_field("type.secret-field")),
        Action::Press(press) if press.chord.edits() && is_secret(&facts.target) => {
            Some(secret_field("press.secret-field"))
        }
        Action::Select(_) if is_secret(&facts.target) => Some(secret_field("select.secret-field")),
        // Dragging would move what is selected in it, or drop text into it.
        Action::Drag(_) if is_secret(&facts.target) || is_secret(&facts.to) => {
            Some(secret_field("drag.secret-field"))
        }
        Action::Click(_) | Action::Press(_) if is_file_field(facts) => Some(Denial {
            rule: Rule("upload"),
            code: "upload_refused",
            message: "choosing a file is refused: nothing is uploaded from this machine".to_owned(),
            hint: "Do not try another way. Tell the person that this step needs a file.",
        }),
        _ => None,
    }
}

fn is_file_field(facts: &Facts) -> bool {
    facts.target.as_ref().is_some_and(|target| target.input_type.as_deref() == Some("file"))
}

fn secret_field(rule: &'static str) -> Denial {
    Denial {
        rule: Rule(rule),
        code: "secret_field",
        message: "typing into a password or other secret field is never allowed".to_owned(),
        hint: "Do not try another way. Ask the person to store this login, so that the session opens signed in.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chord, Click, Drag, Find, Origin, Press, Read, Select, Target, TypeText};

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
            Decision::Allow(permit) => Ok(permit.rule().0),
            Decision::Deny(denial) => Err(denial.rule.0),
        };
        assert_eq!(decided, expected, "{asked}");
    }

    #[test]
    fn nothing_is_put_into_a_secret_field_or_taken_out_of_it() {
        let drag = || Action::Drag(Drag { from: Target::Focused, to: Target::Focused });
        let select = Action::Select(Select { target: Target::Focused, options: Vec::new() });
        check(typing(), on(field(true)), Err("type.secret-field"));
        check(typing(), on(field(false)), Ok("type.clean"));
        check(press("x"), on(field(true)), Err("press.secret-field"));
        check(press("Backspace"), on(field(true)), Err("press.secret-field"));
        check(press("Tab"), on(field(true)), Ok("press.clean"));
        check(press("x"), on(field(false)), Ok("press.clean"));
        check(select, on(field(true)), Err("select.secret-field"));
        check(drag(), on(field(true)), Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(true)), ..on(field(false)) }, Err("drag.secret-field"));
        check(drag(), Facts { to: Some(field(false)), ..on(field(false)) }, Ok("drag.clean"));
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
        check(Action::Click(Click::on(Target::Ref("e1".into()))), on(field(true)), Ok("click.clean"));
        check(Action::Read(Read::default()), Facts::default(), Ok("read"));
        check(Action::Find(Find::default()), Facts::default(), Ok("find"));
    }
}
