//! The operator's custom rules.

use crate::config::values::{DisplayValue, scalar, seconds};
use crate::config::yaml::{Field, Node, NodeContent};
use engine::settings::{ApprovalRule, Seconds};
use policy::{Comparison, CustomRule, Risk, RuleDefinition, Subject};
use serde_json::{Map, Value, json};

/// The most rules: each is evaluated for every action.
const MOST_RULES: usize = 200;
const LONGEST_TEXT: usize = 200;

/// The longest that a question waits, in seconds.
pub(super) const LONGEST_WAIT: u32 = 3600;

const EXPECTED: &str =
    "a list of rules, each with 'tools', 'risk', 'conditions', 'description' and, if it is long, 'timeout',";
const CONDITION: &str = "a condition of 'param' or 'fact' and one of 'equals', 'not_equals', 'one_of', 'contains', \
    'starts_with', 'ends_with', 'matches', 'not_matches',";

pub(super) fn rules(node: &Node) -> Result<Vec<ApprovalRule>, String> {
    match &node.content {
        _ if node.is_null() => Ok(Vec::new()),
        NodeContent::List(items) if items.len() <= MOST_RULES => {
            items.iter().enumerate().map(|(at, item)| rule(at + 1, item)).collect()
        }
        _ => Err(format!("{EXPECTED} at most {MOST_RULES}")),
    }
}

fn rule(number: usize, node: &Node) -> Result<ApprovalRule, String> {
    let known = ["name", "tools", "risk", "conditions", "description", "timeout"];
    let fields = map(node, &known, EXPECTED)?;
    let text = |key: &str| -> Result<Option<String>, String> {
        let Some(value) = field(fields, key) else { return Ok(None) };
        let text = scalar(value).filter(|text| !text.is_empty() && text.len() <= LONGEST_TEXT);
        text.map(|text| Some(text.to_owned()))
            .ok_or_else(|| format!("a rule's '{key}' of 1 to {LONGEST_TEXT} bytes"))
    };
    let risk = text("risk")?.and_then(|risk| Risk::parse(&risk.to_ascii_lowercase()));
    let written = RuleDefinition {
        name: text("name")?.unwrap_or_else(|| format!("rule {number}")),
        tools: field(fields, "tools").map_or(Ok(Vec::new()), texts)?,
        risk: risk.ok_or("a rule's 'risk' of 'low', 'medium', 'high' or 'critical'")?,
        conditions: match field(fields, "conditions").map(|node| &node.content) {
            None => Vec::new(),
            Some(NodeContent::List(items)) => {
                items.iter().map(|item| condition(item)).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(CONDITION.to_owned()),
        },
        description: text("description")?.unwrap_or_default(),
    };
    let timeout = match field(fields, "timeout") {
        None => None,
        Some(node) => Some(read_timeout(node)?),
    };
    let rule = CustomRule::new(written).map_err(|bad| format!("rules that are understood ({bad})"))?;
    Ok(ApprovalRule { rule, timeout })
}

fn read_timeout(node: &Node) -> Result<Seconds, String> {
    seconds(1..=LONGEST_WAIT)(node).map_err(|expected| format!("a rule's 'timeout' to be {expected}"))
}

fn condition(node: &Node) -> Result<(Subject, String, Comparison), String> {
    let known = [
        "param",
        "fact",
        "equals",
        "not_equals",
        "one_of",
        "contains",
        "starts_with",
        "ends_with",
        "matches",
        "not_matches",
    ];
    let fields = map(node, &known, CONDITION)?;
    let (mut subject, mut operator) = (None, None);
    for given in fields {
        let text = || scalar(&given.value).map(str::to_owned).ok_or_else(|| CONDITION.to_owned());
        let (as_subject, as_operator) = match given.key.as_str() {
            "param" => (Some((Subject::Param, text()?)), None),
            "fact" => (Some((Subject::Fact, text()?)), None),
            "equals" => (None, Some(Comparison::Equals(text()?))),
            "not_equals" => (None, Some(Comparison::NotEquals(text()?))),
            "one_of" => (None, Some(Comparison::OneOf(texts(&given.value)?))),
            "contains" => (None, Some(Comparison::Contains(text()?))),
            "starts_with" => (None, Some(Comparison::StartsWith(text()?))),
            "ends_with" => (None, Some(Comparison::EndsWith(text()?))),
            "matches" => (None, Some(Comparison::Matches(text()?))),
            _ => (None, Some(Comparison::NotMatches(text()?))),
        };
        let twice =
            (as_subject.is_some() && subject.is_some()) || (as_operator.is_some() && operator.is_some());
        if twice {
            return Err(CONDITION.to_owned());
        }
        subject = subject.or(as_subject);
        operator = operator.or(as_operator);
    }
    match (subject, operator) {
        (Some((subject, name)), Some(operator)) => Ok((subject, name, operator)),
        _ => Err(CONDITION.to_owned()),
    }
}

fn map<'n>(node: &'n Node, known: &[&str], expected: &str) -> Result<&'n [Field], String> {
    match &node.content {
        NodeContent::Map(fields) => match fields.iter().find(|field| !known.contains(&field.key.as_str())) {
            Some(unknown) => Err(format!("{expected} and not '{}',", unknown.key.escape_debug())),
            None => Ok(fields),
        },
        _ => Err(expected.to_owned()),
    }
}

fn field<'n>(fields: &'n [Field], key: &str) -> Option<&'n Node> {
    fields.iter().find(|field| field.key == key).map(|field| &*field.value)
}

/// A list of texts, or a single one.
fn texts(node: &Node) -> Result<Vec<String>, String> {
    let text = |node: &Node| scalar(node).map(str::to_owned).ok_or_else(|| "a list of texts".to_owned());
    match &node.content {
        NodeContent::List(items) => items.iter().map(|item| text(item)).collect(),
        _ => text(node).map(|text| vec![text]),
    }
}

/// In the form of the file, so that what `config show` prints can be read again.
impl DisplayValue for ApprovalRule {
    fn display_value(&self) -> Value {
        let rule = &self.rule;
        let conditions: Vec<Value> = rule.text.conditions.iter().map(display_condition).collect();
        let mut shown = json!({
            "name": rule.name, "tools": rule.text.tools, "risk": rule.risk.as_str(),
            "conditions": conditions, "description": rule.description,
        });
        if let Some(timeout) = self.timeout {
            shown["timeout"] = timeout.0.into();
        }
        shown
    }
}

fn display_condition((subject, name, operator): &(Subject, String, Comparison)) -> Value {
    let subject = match subject {
        Subject::Param => "param",
        Subject::Fact => "fact",
    };
    let (operator, value) = match operator {
        Comparison::Equals(text) => ("equals", json!(text)),
        Comparison::NotEquals(text) => ("not_equals", json!(text)),
        Comparison::OneOf(texts) => ("one_of", json!(texts)),
        Comparison::Contains(text) => ("contains", json!(text)),
        Comparison::StartsWith(text) => ("starts_with", json!(text)),
        Comparison::EndsWith(text) => ("ends_with", json!(text)),
        Comparison::Matches(text) => ("matches", json!(text)),
        Comparison::NotMatches(text) => ("not_matches", json!(text)),
    };
    Value::Object(Map::from_iter([(subject.to_owned(), json!(name)), (operator.to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::parse;
    use policy::{Action, Click, Facts, Policy, SessionMode, Target};

    /// S1's three example rules. The levels are written in capitals, as S1 writes them.
    const S1: &str = r#"
- tools: [browser_navigate]
  risk: MEDIUM
  conditions: [{param: url, matches: '^https://(mail|admin|settings)\.'}]
  description: Sensitive domain navigation
- tools: [browser_click]
  risk: HIGH
  conditions: [{param: name, matches: '(?i)(delete|remove|revoke)'}]
  description: Destructive button clicks
  timeout: 600
- tools: [browser_type]
  risk: critical
  conditions:
    - {param: role, equals: textbox}
    - {param: name, matches: '(?i)(password|secret)'}
  description: Password field typing (auto-deny)
"#;

    #[test]
    fn s1_rules_are_read_and_what_is_shown_is_read_again() {
        let read = rules(&parse(S1).unwrap().unwrap()).unwrap();
        assert_eq!(read.len(), 3);
        let shown = read.display_value();
        let again = rules(&parse(&shown.to_string()).unwrap().unwrap()).unwrap();
        assert_eq!(again.display_value(), shown);
        assert_eq!(again.iter().map(|one| one.timeout).collect::<Vec<_>>(), [None, Some(Seconds(600)), None]);
        let rules = read.into_iter().map(|one| one.rule).collect();
        let policy = Policy::new(policy::Settings { rules, ..policy::Settings::default() });
        let target = Target::Role { role: "button".into(), name: Some("Delete".into()), index: 0 };
        let assessed =
            policy.assess(&Action::Click(Click::on(target)), &Facts::default(), SessionMode::Clean);
        assert_eq!((assessed.rule.as_str(), assessed.risk), ("rule 2", Risk::High));
    }

    #[test]
    fn a_rule_that_is_not_understood_is_refused() {
        for (bad, word) in [
            ("nonsense", "a list of rules"),
            ("[{risk: high}]", "no tools"),
            ("[{tools: click, risk: grave}]", "'risk'"),
            ("[{tools: fly, risk: high}]", "no tool"),
            ("[{tools: click, risk: high, colour: red}]", "colour"),
            ("[{tools: click, risk: high, timeout: 0}]", "'timeout'"),
            ("[{tools: click, risk: high, timeout: soon}]", "'timeout'"),
            ("[{tools: click, risk: high, conditions: [{param: nose, equals: x}]}]", "no parameter"),
            ("[{tools: click, risk: high, conditions: [{fact: nose, equals: x}]}]", "no fact"),
            ("[{tools: click, risk: high, conditions: [{param: name}]}]", "a condition of"),
            (
                "[{tools: click, risk: high, conditions: [{param: name, equals: a, contains: b}]}]",
                "a condition of",
            ),
            ("[{tools: click, risk: high, conditions: [{param: name, matches: '('}]}]", "pattern"),
            (
                "[{tools: click, risk: high, conditions: [{param: name, matches: '(a{1000}){1000}'}]}]",
                "too large",
            ),
        ] {
            let error = rules(&parse(bad).unwrap().unwrap()).unwrap_err();
            assert!(error.contains(word), "{bad}: {error}");
        }
    }
}
