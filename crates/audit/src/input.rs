//! The input of an action as the log may keep it: what was selected, never what was typed.

use policy::{
    Action, Check, Click, Condition, Distance, Facts, Key, MouseButton, Press, Scroll, SelectOption, Tabs,
    Target,
};

/// Describes the input of an action. Typed text is counted; options are named by their labels in the page.
pub fn describe_input(action: &Action, facts: &Facts) -> Option<String> {
    match action {
        Action::Type(typing) => Some(count_characters(&typing.text)),
        Action::Press(press) => Some(describe_chord(press)),
        Action::Select(select) if facts.options.is_empty() => {
            Some(select.options.iter().map(option).collect::<Vec<_>>().join(", "))
        }
        Action::Select(_) => {
            let labels = facts.options.iter().map(|option| format!("{:?}", option.label));
            Some(labels.collect::<Vec<_>>().join(", "))
        }
        Action::Check(Check { checked, .. }) => Some(if *checked { "check" } else { "uncheck" }.to_owned()),
        Action::Click(click) => describe_click(click),
        Action::Scroll(Scroll::By { direction, distance, .. }) => {
            let direction = format!("{direction:?}").to_lowercase();
            Some(match distance {
                Distance::Page => format!("{direction} a page"),
                Distance::Pixels(pixels) => format!("{direction} {pixels} pixels"),
                Distance::End => format!("{direction} to the end"),
            })
        }
        Action::WaitFor(wanted) => Some(describe_condition(&wanted.condition)),
        Action::Tabs(tabs) => Some(match tabs {
            Tabs::List => "list".to_owned(),
            Tabs::New => "new".to_owned(),
            Tabs::Switch(tab) => format!("switch to {tab}"),
            Tabs::Close(tab) => format!("close {tab}"),
        }),
        Action::Dialog(answer) => {
            let verb = if answer.accept { "accept" } else { "dismiss" };
            let text = answer.text.as_ref().map(|text| format!(" {}", count_characters(text)));
            Some(format!("{verb}{}", text.unwrap_or_default()))
        }
        Action::Scroll(Scroll::To(_))
        | Action::Navigate(_)
        | Action::Back
        | Action::Forward
        | Action::Reload
        | Action::Hover(_)
        | Action::Drag(_)
        | Action::Read(_)
        | Action::ReadDom(_)
        | Action::Find(_)
        | Action::Screenshot(_) => None,
    }
}

fn count_characters(text: &str) -> String {
    format!("[{} characters]", text.chars().count())
}

/// A key that types text is counted, too.
fn describe_chord(press: &Press) -> String {
    let modifiers = press.chord.modifiers;
    let command = modifiers.control || modifiers.alt || modifiers.meta;
    match press.chord.key {
        Key::Character(c) if c != ' ' && !command => count_characters("."),
        _ => press.chord.to_string(),
    }
}

fn option(option: &SelectOption) -> String {
    match option {
        SelectOption::Label(label) => format!("{label:?}"),
        SelectOption::Index(index) => format!("#{index}"),
    }
}

/// Button, count and modifiers of a click; `None` for a plain one.
fn describe_click(click: &Click) -> Option<String> {
    let button = match click.button {
        MouseButton::Left => "",
        MouseButton::Middle => "middle",
        MouseButton::Right => "right",
    };
    let times = if click.count > 1 { format!("{} times", click.count) } else { String::new() };
    let held = click.modifiers;
    let held = [(held.control, "Control"), (held.alt, "Alt"), (held.shift, "Shift"), (held.meta, "Meta")];
    let words = [button.to_owned(), times]
        .into_iter()
        .chain(held.into_iter().filter(|(is_held, _)| *is_held).map(|(_, name)| name.to_owned()))
        .filter(|word| !word.is_empty());
    Some(words.collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
}

/// An element as the agent named it.
pub fn describe_target(target: &Target) -> String {
    match target {
        Target::Ref(text) => format!("ref {text}"),
        Target::Role { role, name: Some(name), .. } => format!("{role} {name:?}"),
        Target::Role { role, name: None, .. } => role.clone(),
        Target::Selector { selector, .. } => format!("selector {:?}", selector.as_str()),
        Target::Text { text, .. } => format!("text {text:?}"),
        Target::Point { x, y } => format!("point {x}, {y}"),
        Target::Focused => "what has the focus".to_owned(),
    }
}

fn describe_condition(condition: &Condition) -> String {
    match condition {
        Condition::Text(text) => format!("text {text:?}"),
        Condition::TextGone(text) => format!("no text {text:?}"),
        Condition::Element(target) => describe_target(target),
        Condition::ElementGone(target) => format!("no {}", describe_target(target)),
        Condition::Url(url) => format!("address {url:?}"),
        Condition::Load(state) => format!("{state:?}").to_lowercase(),
        Condition::Time(time) => format!("{} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{AnswerDialog, Chord, Modifiers, OptionFacts, Select, TypeText};

    fn press(chord: &str) -> Action {
        Action::Press(Press { target: Target::Focused, chord: Chord::parse(chord).unwrap() })
    }

    #[test]
    fn selected_options_are_named_and_typed_text_is_counted() {
        let text = "hunter2".to_owned();
        let typing =
            TypeText { target: Target::Focused, text: text.clone(), clear_first: false, submit: false };
        let options = vec![SelectOption::Label("Red".into()), SelectOption::Index(3)];
        let shift = Modifiers { shift: true, ..Modifiers::default() };
        let double = Click { count: 2, modifiers: shift, ..Click::on(Target::Focused) };
        for (action, expected) in [
            (Action::Type(typing), Some("[7 characters]")),
            (press("h"), Some("[1 characters]")),
            (press("Shift+H"), Some("[1 characters]")),
            (press("Space"), Some("Space")),
            (press("Control+a"), Some("Control+a")),
            (press("Enter"), Some("Enter")),
            (Action::Select(Select { target: Target::Focused, options }), Some("\"Red\", #3")),
            (Action::Dialog(AnswerDialog { accept: true, text: Some(text) }), Some("accept [7 characters]")),
            (Action::Dialog(AnswerDialog { accept: false, text: None }), Some("dismiss")),
            (Action::Click(double), Some("2 times Shift")),
            (Action::Click(Click::on(Target::Focused)), None),
            (Action::Back, None),
        ] {
            assert_eq!(describe_input(&action, &Facts::default()).as_deref(), expected, "{action:?}");
        }
        let options = vec![OptionFacts { label: "Administrator".into(), value: "3".into() }];
        let by_number = vec![SelectOption::Index(3)];
        let choosing = Action::Select(Select { target: Target::Focused, options: by_number });
        let facts = Facts { options, ..Facts::default() };
        assert_eq!(describe_input(&choosing, &facts).as_deref(), Some("\"Administrator\""));
    }
}
