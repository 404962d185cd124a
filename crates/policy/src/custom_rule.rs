//! The operator's own rules: tools, a risk, a description, and conditions on parameters and facts.

use crate::evidence::Evidence;
use crate::url::host_of;
use crate::{Action, ActionKind, Facts, Risk, Scroll, SelectOption, Target};
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;

const LONGEST_PATTERN: usize = 1000;
const MOST_CONDITIONS: usize = 20;
const COMPILED_BYTES: usize = 1 << 20;

/// A rule as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDefinition {
    pub name: String,
    /// `browser_click`, `click`, or `*` for every one.
    pub tools: Vec<String>,
    pub risk: Risk,
    pub conditions: Vec<(Subject, String, Comparison)>,
    pub description: String,
}

/// Whether a condition tests a parameter or a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Param,
    Fact,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equals(String),
    NotEquals(String),
    OneOf(Vec<String>),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    Matches(String),
    NotMatches(String),
}

/// A rule that was validated.
#[derive(Clone, Debug)]
pub struct CustomRule {
    pub name: String,
    pub risk: Risk,
    pub description: String,
    pub text: RuleDefinition,
    tools: Vec<ActionKind>,
    conditions: Vec<RuleCondition>,
}

#[derive(Clone, Debug)]
struct RuleCondition {
    subject: Subject,
    field: &'static str,
    comparison: Comparison,
    regex: Option<Regex>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
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
    #[error("the pattern {0:?} is invalid or too large")]
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
    pub fn new(text: RuleDefinition) -> Result<CustomRule, InvalidRule> {
        if text.tools.is_empty() {
            return Err(InvalidRule::NoTools);
        }
        if text.conditions.len() > MOST_CONDITIONS {
            return Err(InvalidRule::TooMany);
        }
        let mut tools = Vec::new();
        for tool in &text.tools {
            let bare = tool.strip_prefix("browser_").unwrap_or(tool);
            match ActionKind::ALL.iter().find(|kind| kind.name() == bare) {
                Some(kind) => tools.push(*kind),
                None if tool == "*" => tools.extend(ActionKind::ALL),
                None => return Err(InvalidRule::Tool(tool.clone())),
            }
        }
        let conditions = text.conditions.iter().map(RuleCondition::new).collect::<Result<_, _>>()?;
        let RuleDefinition { name, risk, description, .. } = text.clone();
        Ok(CustomRule { name, risk, description, text, tools, conditions })
    }

    /// The evidence, if every condition holds.
    pub(crate) fn applies(&self, action: &Action, facts: &Facts) -> Option<Vec<Evidence>> {
        if !self.tools.contains(&action.kind()) {
            return None;
        }
        self.conditions.iter().map(|condition| condition.holds(action, facts)).collect()
    }
}

impl RuleCondition {
    fn new(
        (subject, field, comparison): &(Subject, String, Comparison),
    ) -> Result<RuleCondition, InvalidRule> {
        let (known, unknown): (&[&'static str], fn(String) -> InvalidRule) = match subject {
            Subject::Param => (&PARAMS, InvalidRule::Param),
            Subject::Fact => (&FACTS, InvalidRule::Fact),
        };
        let field = known.iter().find(|name| *name == field).ok_or_else(|| unknown(field.clone()))?;
        let regex = match comparison {
            Comparison::Matches(pattern) | Comparison::NotMatches(pattern) => Some(compile(pattern)?),
            _ => None,
        };
        Ok(RuleCondition { subject: *subject, field, comparison: comparison.clone(), regex })
    }

    fn holds(&self, action: &Action, facts: &Facts) -> Option<Evidence> {
        let values = match self.subject {
            Subject::Param => params(self.field, action, facts),
            Subject::Fact => fact(self.field, facts).into_iter().collect(),
        };
        // A parameter has two values, as the agent gave it and as the page has it. One match is enough to be risky; a
        // negated comparison has to hold for both.
        let negative = matches!(self.comparison, Comparison::NotEquals(_) | Comparison::NotMatches(_));
        let holds = if negative {
            values.iter().all(|value| self.accepts(value))
        } else {
            values.iter().any(|value| self.accepts(value))
        };
        let shown = values.iter().find(|value| self.accepts(value)).map_or("", |value| value);
        let is_typed = self.subject == Subject::Param && matches!(self.field, "text" | "key");
        let shown = if is_typed { "[typed text]" } else { shown };
        holds.then(|| Evidence::new(self.field, shown))
    }

    fn accepts(&self, value: &str) -> bool {
        let matches = || self.regex.as_ref().is_some_and(|regex| regex.is_match(value));
        match &self.comparison {
            Comparison::Equals(wanted) => value == wanted,
            Comparison::NotEquals(wanted) => value != wanted,
            Comparison::OneOf(wanted) => wanted.iter().any(|wanted| value == wanted),
            Comparison::Contains(part) => value.contains(part.as_str()),
            Comparison::StartsWith(part) => value.starts_with(part.as_str()),
            Comparison::EndsWith(part) => value.ends_with(part.as_str()),
            Comparison::Matches(_) => matches(),
            Comparison::NotMatches(_) => !matches(),
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, InvalidRule> {
    let bad = || InvalidRule::Pattern(pattern.chars().take(60).collect());
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
        "domain" => host_of(&facts.page_url).map(Cow::Owned),
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
        "form.button" => form.and_then(|form| form.button.as_ref()).map(|button| button.label().into()),
        "to.role" => facts.to.as_ref().map(|element| element.role.as_str().into()),
        "to.name" => facts.to.as_ref().map(|element| element.name.as_str().into()),
        "dialog.kind" => facts.dialog.as_ref().map(|dialog| dialog.kind.as_str().into()),
        "dialog.message" => facts.dialog.as_ref().map(|dialog| dialog.message.as_str().into()),
        _ => None,
    }
}

/// The values of a parameter: as the agent gave it and, for roles, names and options, as the page has it.
fn params<'a>(field: &str, action: &'a Action, facts: &'a Facts) -> Vec<Cow<'a, str>> {
    let yes = |value: bool| vec![Cow::Borrowed(if value { "true" } else { "false" })];
    match (field, action) {
        ("url", Action::Navigate(go)) => vec![go.url.as_str().into()],
        ("role" | "name", _) => {
            given_target(field, action).map(Cow::Borrowed).into_iter().chain(fact(field, facts)).collect()
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

fn given_target<'a>(field: &str, action: &'a Action) -> Option<&'a str> {
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
