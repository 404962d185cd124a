//! `stockade policy`: evaluates actions against the rules without a browser.

mod case;

use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT};
use crate::cli::{Column, Context, Reply, Table};
use anstyle::Style;
use case::{ExpectedAssessment, PolicyCase};
use clap::{Args, Subcommand};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Assessment, DecisionKind, Policy};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade policy explain --action click --role button --name 'Delete account'
  stockade policy explain --action navigate --url https://admin.example.org/
  stockade policy test cases.yaml
  stockade policy rules")]
pub struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Check a file of cases against the rules; exit code 1 if one differs
    Test {
        /// A list of cases, in YAML or JSON
        file: PathBuf,
    },
    /// Explain one action: the rule, the facts and the decision
    Explain(Box<ExplainArgs>),
    /// List the rules that come with Stockade
    Rules,
}

#[derive(Debug, Args)]
struct ExplainArgs {
    /// A file of cases to explain, instead of flags
    #[arg(long, value_name = "FILE", conflicts_with = "action")]
    file: Option<PathBuf>,
    #[command(flatten)]
    case: PolicyCase,
}

pub(super) fn run(context: &Context, args: PolicyArgs) -> Result<Reply, Fault> {
    let policy = || Ok::<_, Fault>(Policy::new(context.load_config(Vec::new())?.config.policy()));
    match args.command {
        PolicyCommand::Test { file } => test_cases(&policy()?, &case::read_cases(&file)?),
        PolicyCommand::Explain(args) => match args.file {
            Some(file) => explain(&policy()?, &case::read_cases(&file)?),
            None => explain(&policy()?, &[args.case]),
        },
        PolicyCommand::Rules => Ok(list_rules()),
    }
}

fn assess(policy: &Policy, case: &PolicyCase) -> Result<Assessment, Fault> {
    Ok(policy.assess(&case.action()?, &case.facts(), case.mode()?))
}

fn test_cases(policy: &Policy, cases: &[PolicyCase]) -> Result<Reply, Fault> {
    let mut table = Table::new(&[
        Column::Whole(""),
        Column::Short("CASE"),
        Column::Whole("RISK"),
        Column::Whole("DECISION"),
        Column::Short("RULE"),
        Column::Short("EXPECTED"),
    ]);
    let mut list = Vec::new();
    let mut wrong = 0;
    for case in cases {
        let assessed = assess(policy, case)?;
        let differs =
            case.expect.as_ref().map(|expected| find_differences(expected, &assessed)).unwrap_or_default();
        let fits = differs.is_empty();
        wrong += usize::from(!fits);
        let (mark, style) = if fits { ("ok", GOOD) } else { ("no", BAD) };
        table.add_styled_row([
            (mark.to_owned(), style),
            (case.title(), Style::new()),
            (assessed.risk.as_str().to_owned(), Style::new()),
            (assessed.decision.as_str().to_owned(), Style::new()),
            (assessed.rule.to_string(), Style::new()),
            (differs.join(", "), BAD),
        ]);
        list.push(json!({ "case": case.title(), "ok": fits, "expected": differs, "found": assessed }));
    }
    let total = cases.len();
    let (style, summary) = match wrong {
        0 => (GOOD, format!("{total} of {total} are as expected.")),
        _ => (BAD, format!("{wrong} of {total} are not as expected.")),
    };
    let human = format!("{}{style}{summary}{style:#}\n", table.render("The file has no cases."));
    let problem = (wrong > 0).then(|| {
        Fault::outside_sessions(
            ErrorCode::ChecksFailed,
            format!("{wrong} of {total} cases are not as expected"),
        )
        .hint("Each failed case shows the decision. Change the rules, or what the case expects.")
    });
    Ok(Reply::with_problem(human, json!({ "wrong": wrong, "cases": list }), problem))
}

/// Expected values that differ from the assessment.
fn find_differences(expected: &ExpectedAssessment, found: &Assessment) -> Vec<String> {
    let pairs = [
        (&expected.risk, found.risk.as_str()),
        (&expected.decision, found.decision.as_str()),
        (&expected.rule, found.rule.as_str()),
    ];
    pairs.into_iter().filter_map(|(wanted, is)| wanted.clone().filter(|wanted| wanted != is)).collect()
}

fn explain(policy: &Policy, cases: &[PolicyCase]) -> Result<Reply, Fault> {
    let mut human = String::new();
    let mut list: Vec<Value> = Vec::new();
    for case in cases {
        let assessed = assess(policy, case)?;
        human.push_str(&render_assessment(case, &assessed));
        list.push(json!({ "case": case.title(), "found": assessed }));
    }
    let json = if let [one] = &mut list[..] { one.take() } else { json!({ "cases": list }) };
    Ok(Reply::new(human, json))
}

fn render_assessment(case: &PolicyCase, assessed: &Assessment) -> String {
    let style = match assessed.decision {
        DecisionKind::Allow => GOOD,
        DecisionKind::Ask => HINT,
        DecisionKind::Deny => BAD,
    };
    let harmless = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    let done = match assessed.decision {
        DecisionKind::Allow => "it is allowed",
        DecisionKind::Ask if assessed.risk == policy::Risk::Critical => {
            "an operator is asked, with a warning that it cannot be undone"
        }
        DecisionKind::Ask => "an operator is asked",
        DecisionKind::Deny => "it is refused",
    };
    let mut text = format!("{BOLD}{}{BOLD:#}\n", harmless(&case.title()));
    text.push_str(&format!("  risk      {}\n", assessed.risk.as_str()));
    text.push_str(&format!("  decision  {style}{}{style:#}: {done}\n", assessed.decision.as_str()));
    text.push_str(&format!("  rule      {}: {}\n", assessed.rule, harmless(&assessed.description)));
    for because in &assessed.evidence {
        text.push_str(&format!(
            "  {DIM}because{DIM:#}   {} is {:?}\n",
            because.fact,
            harmless(&because.value)
        ));
    }
    text
}

fn list_rules() -> Reply {
    let mut table =
        Table::new(&[Column::Whole("RULE"), Column::Whole("RISK"), Column::Short("WHAT IT SAYS")]);
    let mut list = Vec::new();
    for rule in policy::builtin_rules() {
        table.add_row([rule.name, rule.risk.as_str(), rule.description].map(str::to_owned));
        list.push(json!({ "rule": rule.name, "risk": rule.risk, "description": rule.description }));
    }
    Reply::new(table.render("There are none."), json!({ "rules": list }))
}
