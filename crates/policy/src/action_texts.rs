//! The texts that an agent supplies with an action, replaced one by one.

use crate::{
    Action, AnswerDialog, Check, Click, Condition, Drag, Find, Hover, Key, Navigate, Pattern, Press,
    Screenshot, Scroll, Select, SelectOption, Selector, Target, TypeText, WaitFor, WebUrl,
};

/// How a text is supplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuppliedText {
    /// Key by key into a page, after what was typed before.
    Typed,
    /// By itself: an address, a pattern, a name.
    Whole,
}

impl Action {
    /// Replaces each text by what `replace` gives for it; `None` keeps it. A replacement that is no valid address or
    /// selector is not taken.
    pub fn replace_texts(&mut self, replace: &mut dyn FnMut(SuppliedText, &str) -> Option<String>) {
        match self {
            Action::Navigate(Navigate { url, .. }) => {
                let new = replace(SuppliedText::Whole, url.as_str());
                if let Some(new) = new.and_then(|new| WebUrl::parse(&new).ok()) {
                    *url = new;
                }
            }
            Action::Type(TypeText { target, text, .. }) => {
                target.replace_texts(replace);
                set(text, SuppliedText::Typed, replace);
            }
            Action::Dialog(AnswerDialog { text: Some(text), .. }) => set(text, SuppliedText::Typed, replace),
            Action::Press(Press { target, chord }) => {
                target.replace_texts(replace);
                if let Key::Character(character) = chord.key
                    && let Some(new) = replace(SuppliedText::Typed, character.encode_utf8(&mut [0; 4]))
                    && let Some(new) = new.chars().next()
                {
                    chord.key = Key::Character(new);
                }
            }
            Action::Select(Select { target, options }) => {
                target.replace_texts(replace);
                for option in options {
                    if let SelectOption::Label(label) = option {
                        set(label, SuppliedText::Whole, replace);
                    }
                }
            }
            Action::Find(Find { pattern, role, name, .. }) => {
                if let Some(Pattern::Text(text) | Pattern::Regex(text)) = pattern {
                    set(text, SuppliedText::Whole, replace);
                }
                role.iter_mut().chain(name).for_each(|text| set(text, SuppliedText::Whole, replace));
            }
            Action::WaitFor(WaitFor { condition }) => match condition {
                Condition::Text(text) | Condition::TextGone(text) | Condition::Url(text) => {
                    set(text, SuppliedText::Whole, replace);
                }
                Condition::Element(target) | Condition::ElementGone(target) => target.replace_texts(replace),
                Condition::Load(_) | Condition::Time(_) => {}
            },
            Action::Drag(Drag { from, to }) => {
                from.replace_texts(replace);
                to.replace_texts(replace);
            }
            Action::Click(Click { target, .. })
            | Action::Hover(Hover { target })
            | Action::Check(Check { target, .. })
            | Action::Scroll(Scroll::To(target) | Scroll::By { over: Some(target), .. })
            | Action::Screenshot(Screenshot { target: Some(target), .. }) => target.replace_texts(replace),
            Action::Scroll(Scroll::By { over: None, .. })
            | Action::Screenshot(Screenshot { target: None, .. })
            | Action::Dialog(AnswerDialog { text: None, .. })
            | Action::Back
            | Action::Forward
            | Action::Reload
            | Action::Read(_)
            | Action::ReadDom(_)
            | Action::Tabs(_) => {}
        }
    }
}

impl Target {
    fn replace_texts(&mut self, replace: &mut dyn FnMut(SuppliedText, &str) -> Option<String>) {
        match self {
            Target::Ref(text) | Target::Text { text, .. } => set(text, SuppliedText::Whole, replace),
            Target::Role { role, name, .. } => {
                set(role, SuppliedText::Whole, replace);
                name.iter_mut().for_each(|name| set(name, SuppliedText::Whole, replace));
            }
            Target::Selector { selector, .. } => {
                let new = replace(SuppliedText::Whole, selector.as_str());
                if let Some(new) = new.and_then(|new| Selector::parse(&new).ok()) {
                    *selector = new;
                }
            }
            Target::Point { .. } | Target::Focused => {}
        }
    }
}

fn set(text: &mut String, how: SuppliedText, replace: &mut dyn FnMut(SuppliedText, &str) -> Option<String>) {
    if let Some(new) = replace(how, text) {
        *text = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chord, LoadState, Modifiers};

    #[test]
    fn every_text_of_an_action_is_replaced() {
        let text = || Target::Text { text: "old".into(), index: 0 };
        let selector = || Target::Selector { selector: Selector::parse("#old").unwrap(), index: 0 };
        let role = || Target::Role { role: "button".into(), name: Some("old".into()), index: 0 };
        let url = WebUrl::parse("https://a.test/?q=old").unwrap();
        let key = Chord { modifiers: Modifiers::default(), key: Key::Character('o') };
        for mut action in [
            Action::Navigate(Navigate { url, wait_for: LoadState::Load }),
            Action::Click(Click::on(text())),
            Action::Hover(Hover { target: selector() }),
            Action::Drag(Drag { from: role(), to: text() }),
            Action::Type(TypeText { target: text(), text: "old".into(), clear_first: false, submit: false }),
            Action::Dialog(AnswerDialog { accept: true, text: Some("old".into()) }),
            Action::Press(Press { target: Target::Focused, chord: key }),
            Action::Select(Select { target: role(), options: vec![SelectOption::Label("old".into())] }),
            Action::WaitFor(WaitFor { condition: Condition::Url("*old*".into()) }),
            Action::WaitFor(WaitFor { condition: Condition::Element(text()) }),
            Action::Find(Find { pattern: Some(Pattern::Regex("old.".into())), ..Find::default() }),
            Action::Find(Find { name: Some("old".into()), ..Find::default() }),
        ] {
            let before = action.clone();
            action.replace_texts(&mut |_, text| Some(text.replace("old", "new").replace('o', "n")));
            assert_ne!(action, before);
            assert!(!format!("{action:?}").contains("old"), "{action:?}");
            let mut same = before.clone();
            same.replace_texts(&mut |_, _| None);
            assert_eq!(same, before);
        }
    }
}
