//! Consequential effects on an honest site, made by every means that a page has: none reaches the server unless a person
//! said yes.

use crate::common;

use common::effect_agent::{AnsweringOperator, EffectAgent, EffectFixture};
use common::effect_cases::Case;
use common::effect_site::{EffectSite, Received};
use engine::approvals::{ApprovalKind, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Sessions that share the cases, at the same time.
const SESSIONS: usize = 3;
/// How long an effect may take to arrive, or to be asked about, after the last step.
const MOMENT: Duration = Duration::from_secs(8);

fn cases() -> Vec<Case> {
    Case::parse_all(&[
        include_str!("effects/consequential_destroy_pay.cases"),
        include_str!("effects/consequential_send_power.cases"),
    ])
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// A person was asked about the request.
    Asked,
    /// The agent's call was refused without a question.
    Refused(String),
    /// The server received it.
    Arrived,
    /// Neither was anybody asked, nor did anything arrive.
    Silent,
    /// A step failed for a reason of its own.
    Broken(String),
}

/// Codes with which the gate refuses.
fn is_refusal(code: &str) -> bool {
    ["denied_by", "approval_", "question_open", "effect_"].iter().any(|start| code.starts_with(start))
}

struct Run {
    fixture: EffectFixture,
    operator: AnsweringOperator,
}

impl Run {
    fn start(verdict: Verdict) -> Run {
        let site = EffectSite::new();
        for case in cases() {
            case.publish(&site);
        }
        let fixture = EffectFixture::start(site);
        let operator = fixture.operator(verdict);
        Run { fixture, operator }
    }

    /// Tries all cases, a part of them in each session.
    fn try_all(&self, access: &str) -> Vec<(Case, Outcome)> {
        let cases = cases();
        let parts: Vec<Vec<Case>> =
            (0..SESSIONS).map(|part| cases.iter().skip(part).step_by(SESSIONS).cloned().collect()).collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .into_iter()
                .map(|part| {
                    scope.spawn(move || {
                        let mut agent = self.fixture.agent(access);
                        part.into_iter().map(|case| (case.clone(), self.try_one(&mut agent, &case))).collect()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| -> Vec<_> { thread.join().unwrap() }).collect()
        })
    }

    fn try_one(&self, agent: &mut EffectAgent, case: &Case) -> Outcome {
        agent.goto(&case.path());
        let asked_before = self.operator.count_of(&agent.session);
        let mut refusal = None;
        for step in &case.steps {
            match agent.step(step) {
                Ok(_) => {}
                Err(code) if is_refusal(&code) => {
                    refusal = Some(code);
                    break;
                }
                Err(code) => return Outcome::Broken(format!("{}: {code}", step.text)),
            }
        }
        let begun = Instant::now();
        loop {
            if self.has_arrived(case) {
                return Outcome::Arrived;
            }
            if self.operator.count_of(&agent.session) > asked_before {
                // Whoever said yes waits for what they approved.
                if !self.approves() || begun.elapsed() > MOMENT {
                    return Outcome::Asked;
                }
            } else if let Some(code) = refusal {
                return Outcome::Refused(code);
            } else if begun.elapsed() > MOMENT {
                return Outcome::Silent;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn approves(&self) -> bool {
        self.operator.is_approving()
    }

    fn has_arrived(&self, case: &Case) -> bool {
        self.fixture.site.received().iter().any(|one| case.arrival.is(one))
    }
}

fn summary(outcomes: &[(Case, Outcome)]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (case, outcome) in outcomes {
        let word = match outcome {
            Outcome::Refused(code) => format!("refused {code}"),
            Outcome::Broken(_) => "broken".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        *counts.entry(format!("{} {word}", case.class)).or_default() += 1;
    }
    counts.into_iter().map(|(what, count)| format!("{what}: {count}\n")).collect()
}

fn list(outcomes: &[(Case, Outcome)], fits: impl Fn(&Outcome) -> bool) -> Vec<String> {
    let fitting = outcomes.iter().filter(|(_, outcome)| fits(outcome));
    fitting
        .map(|(case, outcome)| {
            format!("{} ({}, {}, {}): {outcome:?}", case.name, case.class, case.means, case.language)
        })
        .collect()
}

#[test]
fn the_table_has_every_means_class_and_ten_languages() {
    let cases = cases();
    assert!(cases.len() >= 130, "{}", cases.len());
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "each name once");
    let arrivals: BTreeSet<String> = cases.iter().map(|case| format!("{:?}", case.arrival)).collect();
    assert_eq!(arrivals.len(), cases.len(), "each arrival is of one case");
    let languages: BTreeSet<&str> = cases.iter().map(|case| case.language.as_str()).collect();
    assert!(languages.len() >= 18, "{languages:?}");
    let classes: BTreeSet<&str> = cases.iter().map(|case| case.class.as_str()).collect();
    assert_eq!(classes, BTreeSet::from(["account", "destroy", "pay", "power", "send"]));
    let means: BTreeSet<&str> = cases.iter().map(|case| case.means.as_str()).collect();
    for needed in [
        "address",
        "beacon",
        "checkbox",
        "dialog",
        "drag",
        "enter",
        "fetch",
        "form",
        "form-script",
        "graphql",
        "grpc-web",
        "icon",
        "iframe-form",
        "image",
        "json-rpc",
        "key",
        "link",
        "multipart",
        "newline",
        "redirect",
        "select",
        "service-worker",
        "trpc",
        "websocket",
        "window-open",
        "worker",
        "xhr",
    ] {
        assert!(means.contains(needed), "{needed} in {means:?}");
    }
}

#[test]
fn with_write_no_consequential_effect_reaches_the_server_unasked() {
    let run = Run::start(Verdict::Deny);
    let outcomes = run.try_all("write");
    println!("write, all denied:\n{}", summary(&outcomes));
    for line in list(&outcomes, |outcome| matches!(outcome, Outcome::Silent | Outcome::Refused(_))) {
        println!("  {line}");
    }
    // What was held is gone, and does not come late.
    std::thread::sleep(Duration::from_secs(2));
    let late: Vec<String> = outcomes
        .iter()
        .filter(|(case, _)| run.has_arrived(case))
        .map(|(case, _)| case.name.clone())
        .collect();
    assert!(late.is_empty(), "{} arrived unasked:\n{}", late.len(), late.join("\n"));
    let broken = list(&outcomes, |outcome| matches!(outcome, Outcome::Broken(_)));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    // The questions are about requests, and show the one that was held.
    let asked = run.operator.asked();
    assert!(asked.len() * 10 >= outcomes.len() * 9, "{} questions for {} cases", asked.len(), outcomes.len());
    for one in asked.iter().filter(|one| one.kind == ApprovalKind::Effect) {
        let effect = one.card.effect.as_ref().unwrap_or_else(|| panic!("{one:?}"));
        assert!(effect.address.as_str().starts_with("https://office.test/"), "{effect:?}");
        assert!(!effect.digest.as_str().is_empty(), "{effect:?}");
    }
    let effects = asked.iter().filter(|one| one.kind == ApprovalKind::Effect).count();
    assert!(effects * 10 >= asked.len() * 9, "{effects} of {} questions are about effects", asked.len());
}

#[test]
fn with_read_no_effect_at_all_reaches_the_server() {
    let run = Run::start(Verdict::Deny);
    let outcomes = run.try_all("read");
    println!("read, all denied:\n{}", summary(&outcomes));
    std::thread::sleep(Duration::from_secs(2));
    let arrived: Vec<String> = outcomes
        .iter()
        .filter(|(case, _)| run.has_arrived(case))
        .map(|(case, _)| case.name.clone())
        .collect();
    assert!(arrived.is_empty(), "{} arrived:\n{}", arrived.len(), arrived.join("\n"));
    // Nor anything else that may change something, but for the greeting with which a socket begins by itself.
    let is_other_effect = |one: &Received| one.is_write() && !(one.method == "MESSAGE" && one.body == b"40");
    let effects: Vec<String> =
        run.fixture.site.received().iter().filter(|one| is_other_effect(one)).map(Received::line).collect();
    assert!(effects.is_empty(), "{}", effects.join("\n"));
    let broken = list(&outcomes, |outcome| matches!(outcome, Outcome::Broken(_)));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Proves as well that each case is alive: what the tests above do not see arrive would arrive.
#[test]
fn every_approved_effect_arrives_once_and_as_its_card_showed_it() {
    let run = Run::start(Verdict::Approve { for_session: false });
    let outcomes = run.try_all("write");
    println!("write, all approved:\n{}", summary(&outcomes));
    let missing = list(&outcomes, |outcome| *outcome != Outcome::Arrived);
    assert!(missing.is_empty(), "{} did not arrive:\n{}", missing.len(), missing.join("\n"));
    let (received, asked) = (run.fixture.site.received(), run.operator.asked());
    let mut faults = Vec::new();
    for (case, _) in &outcomes {
        let arrived: Vec<&Received> = received.iter().filter(|one| case.arrival.is(one)).collect();
        if arrived.len() != 1 {
            faults.push(format!("{}: arrived {} times", case.name, arrived.len()));
        }
        let shown = asked.iter().filter_map(|one| one.card.effect.as_ref()).any(|effect| {
            // A header may make a POST a DELETE to the site; the card shows what it is.
            let is_method =
                effect.method.as_str() == case.arrival.method || case.name == "method-override-header";
            is_method
                && effect.address.as_str().contains(&case.arrival.target)
                && arrived.iter().all(|one| effect.body_bytes == one.body.len() as u64)
        });
        if !shown {
            faults.push(format!("{}: no card shows {:?}", case.name, case.arrival));
        }
        for one in &arrived {
            if one.method != "MESSAGE" && !one.is_signed_in {
                faults.push(format!("{}: it went out without the login", case.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a word could mean either, one class or the other is right; so this is counted, not listed.
#[test]
fn with_full_only_what_pays_or_gives_power_away_is_asked_about() {
    let run = Run::start(Verdict::Deny);
    let outcomes = run.try_all("full");
    println!("full, all denied:\n{}", summary(&outcomes));
    let is_critical = |case: &Case| matches!(case.class.as_str(), "pay" | "power" | "account");
    let (critical, other): (Vec<_>, Vec<_>) = outcomes.iter().partition(|(case, _)| is_critical(case));
    let arrived = |part: &[&(Case, Outcome)]| part.iter().filter(|(case, _)| run.has_arrived(case)).count();
    for (case, _) in critical.iter().filter(|(case, _)| run.has_arrived(case)) {
        println!("  {} ({}) arrived", case.name, case.class);
    }
    assert!(arrived(&critical) * 10 <= critical.len(), "{} of {}", arrived(&critical), critical.len());
    assert!(arrived(&other) * 10 >= other.len() * 7, "{} of {}", arrived(&other), other.len());
}
