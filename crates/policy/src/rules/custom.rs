//! The operator's own rules: tools, a risk, conditions on what was asked and on what was found, a description.

use crate::rules::Because;
use crate::{Action, Facts, Risk, Scroll, SelectOption, Target};
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;

const LONGEST_PATTERN: usize = 1000;
const MOST_CONDITIONS: usize = 20;
const COMPILED_BYTES: usize = 1 << 20;

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    pub name: String,
    /// `browser_click`, `click`, or `*` for every one.
    pub tools: Vec<String>,
    pub risk: Risk,
    pub conditions: Vec<(Subject, String, Operator)>,
    pub description: String,
}

/// Whether a condition looks at a parameter or at a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Param,
    Fact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals(String),
    NotEquals(String),
    OneOf(Vec<String>),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    Matches(String),
    NotMatches(String),
}

/// A rule that was understood.
#[derive(Clone, Debug)]
pub struct CustomRule {
    pub name: String,
    pub risk: Risk,
    pub description: String,
    pub text: RuleText,
    tools: Vec<&'static str>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    subject: Subject,
    field: &'static str,
    operator: Operator,
    regex: Option<Regex>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    #[error("a rule has no tools")]
    NoTools,
    #[error("there is no tool {0:?}")]
    Tool(String),
    #[error("a rule has at most {MOST_CONDITIONS} conditions")]
    TooMany,
    #[error("there is no parameter {0:?}; there are {list}", list = PARAMS.join(", "))]
    Param(String),
    #[error("there is no fact {0:?}; there are {list}", list = FACTS.join(", "))]
    Fact(String),
    #[error("the pattern {0:?} is not understood, or too large")]
    Pattern(String),
}

const PARAMS: [&str; 9] = ["url", "role", "name", "text", "key", "option", "checked", "accept", "submit"];
const FACTS: [&str; 18] = [
    "page_url",
    "domain",
    "origin",
    "role",
    "name",
    "text",
    "tag",
    "input_type",
    "secret",
    "href",
    "form.method",
    "form.action",
    "form.payment",
    "form.button",
    "to.role",
    "to.name",
    "dialog.kind",
    "dialog.message",
];

impl CustomRule {
    pub fn new(text: RuleText) -> Result<CustomRule, BadRule> {
        if text.tools.is_empty() {
            return Err(BadRule::NoTools);
        }
        if text.conditions.len() > MOST_CONDITIONS {
            return Err(BadRule::TooMany);
        }
        let mut tools = Vec::new();
        for tool in &text.tools {
            let bare = tool.strip_prefix("browser_").unwrap_or(tool);
            match Action::NAMES.iter().find(|name| **name == bare) {
                Some(name) => tools.push(*name),
                None if tool == "*" => tools.extend(Action::NAMES),
                None => return Err(BadRule::Tool(tool.clone())),
            }
        }
        let conditions = text.conditions.iter().map(Condition::new).collect::<Result<_, _>>()?;
        let RuleText { name, risk, description, .. } = text.clone();
        Ok(CustomRule { name, risk, description, text, tools, conditions })
    }

    /// What it rests on, if each of its conditions holds.
    pub(super) fn applies(&self, action: &Action, facts: &Facts) -> Option<Vec<Because>> {
        if !self.tools.contains(&action.name()) {
            return None;
        }
        self.conditions.iter().map(|condition| condition.holds(action, facts)).collect()
    }
}

impl Condition {
    fn new((subject, field, operator): &(Subject, String, Operator)) -> Result<Condition, BadRule> {
        let (known, unknown): (&[&'static str], fn(String) -> BadRule) = match subject {
            Subject::Param => (&PARAMS, BadRule::Param),
            Subject::Fact => (&FACTS, BadRule::Fact),
        };
        let field = known.iter().find(|name| *name == field).ok_or_else(|| unknown(field.clone()))?;
        let regex = match operator {
            Operator::Matches(pattern) | Operator::NotMatches(pattern) => Some(compile(pattern)?),
            _ => None,
        };
        Ok(Condition { subject: *subject, field, operator: operator.clone(), regex })
    }

    fn holds(&self, action: &Action, facts: &Facts) -> Option<Because> {
        let values = match self.subject {
            Subject::Param => params(self.field, action, facts),
            Subject::Fact => fact(self.field, facts).into_iter().collect(),
        };
        // Of a parameter there are two readings, what was said and what is there: one is enough to be risky, and
        // "not" has to be true of both.
        let negative = matches!(self.operator, Operator::NotEquals(_) | Operator::NotMatches(_));
        let holds = if negative {
            values.iter().all(|value| self.accepts(value))
        } else {
            values.iter().any(|value| self.accepts(value))
        };
        let shown = values.iter().find(|value| self.accepts(value)).map_or("", |value| value);
        let is_typed = self.subject == Subject::Param && matches!(self.field, "text" | "key");
        let shown = if is_typed { "[not told]" } else { shown };
        holds.then(|| Because::new(self.field, shown))
    }

    fn accepts(&self, value: &str) -> bool {
        let matches = || self.regex.as_ref().is_some_and(|regex| regex.is_match(value));
        match &self.operator {
            Operator::Equals(wanted) => value == wanted,
            Operator::NotEquals(wanted) => value != wanted,
            Operator::OneOf(wanted) => wanted.iter().any(|wanted| value == wanted),
            Operator::Contains(part) => value.contains(part.as_str()),
            Operator::StartsWith(part) => value.starts_with(part.as_str()),
            Operator::EndsWith(part) => value.ends_with(part.as_str()),
            Operator::Matches(_) => matches(),
            Operator::NotMatches(_) => !matches(),
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, BadRule> {
    let bad = || BadRule::Pattern(pattern.chars().take(60).collect());
    if pattern.len() > LONGEST_PATTERN {
        return Err(bad());
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(COMPILED_BYTES).dfa_size_limit(COMPILED_BYTES);
    builder.build().map_err(|_| bad())
}

fn fact<'a>(field: &str, facts: &'a Facts) -> Option<Cow<'a, str>> {
    let target = facts.target.as_ref();
    let form = target.and_then(|element| element.form.as_ref());
    let yes = |value: bool| Cow::Borrowed(if value { "true" } else { "false" });
    match field {
        "page_url" => Some(facts.page_url.as_str().into()),
        "domain" => super::navigate::host_of(&facts.page_url).map(Cow::Owned),
        "origin" => target.map(|element| element.origin.as_str().into()),
        "role" => target.map(|element| element.role.as_str().into()),
        "name" => target.map(|element| element.name.as_str().into()),
        "text" => target.map(|element| element.text.as_str().into()),
        "tag" => target.map(|element| element.tag.as_str().into()),
        "input_type" => target.and_then(|element| element.input_type.as_deref()).map(Cow::Borrowed),
        "secret" => target.map(|element| yes(element.secret)),
        "href" => target.and_then(|element| element.href.as_deref()).map(Cow::Borrowed),
        "form.method" => form.map(|form| form.method.as_str().into()),
        "form.action" => form.map(|form| form.action.as_str().into()),
        "form.payment" => form.map(|form| yes(form.payment)),
        "form.button" => form.and_then(|form| form.button.as_ref()).map(|button| button.told().into()),
        "to.role" => facts.to.as_ref().map(|element| element.role.as_str().into()),
        "to.name" => facts.to.as_ref().map(|element| element.name.as_str().into()),
        "dialog.kind" => facts.dialog.as_ref().map(|dialog| dialog.kind.as_str().into()),
        "dialog.message" => facts.dialog.as_ref().map(|dialog| dialog.message.as_str().into()),
        _ => None,
    }
}

/// What was said, and for an element's role and name and for an option what is there as well.
fn params<'a>(field: &str, action: &'a Action, facts: &'a Facts) -> Vec<Cow<'a, str>> {
    let yes = |value: bool| vec![Cow::Borrowed(if value { "true" } else { "false" })];
    match (field, action) {
        ("url", Action::Navigate(go)) => vec![go.url.as_str().into()],
        ("role" | "name", _) => {
            said(field, action).map(Cow::Borrowed).into_iter().chain(fact(field, facts)).collect()
        }
        ("text", Action::Type(typing)) => vec![typing.text.as_str().into()],
        ("text", Action::Dialog(answer)) => answer.text.as_deref().map(Cow::Borrowed).into_iter().collect(),
        ("key", Action::Press(press)) => vec![press.chord.to_string().into()],
        ("option", Action::Select(select)) => {
            let found = facts.options.iter().map(|option| Cow::Borrowed(option.label.as_str()));
            select.options.iter().map(label).chain(found).collect()
        }
        ("checked", Action::Check(check)) => yes(check.checked),
        ("accept", Action::Dialog(answer)) => yes(answer.accept),
        ("submit", Action::Type(typing)) => yes(typing.submit),
        _ => Vec::new(),
    }
}

fn label(option: &SelectOption) -> Cow<'_, str> {
    match option {
        SelectOption::Label(label) => label.as_str().into(),
        SelectOption::Index(index) => index.to_string().into(),
    }
}

fn said<'a>(field: &str, action: &'a Action) -> Option<&'a str> {
    let target = match action {
        Action::Scroll(Scroll::By { over, .. }) => over.as_ref(),
        other => other.target(),
    };
    match (field, target?) {
        ("role", Target::Role { role, .. }) => Some(role),
        ("name", Target::Role { name, .. }) => name.as_deref(),
        _ => None,
    }
}
