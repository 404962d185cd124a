//! Tries cases of effects in several sessions at once, and says what became of each.

use super::effect_agent::{AnsweringOperator, EffectAgent, EffectFixture};
use super::effect_cases::Case;
use super::effect_site::{EffectSite, Received};
use super::machine::pause;
use engine::approvals::Verdict;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Sessions that share the cases, at the same time.
const SESSIONS: usize = 3;
/// How long an effect may take to arrive, or to be asked about, after the last step.
const MOMENT: Duration = Duration::from_secs(8);

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
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

/// Cases on a site, agents that try them, and an operator who always gives the same answer.
pub struct EffectRun {
    pub fixture: EffectFixture,
    pub operator: AnsweringOperator,
    cases: Vec<Case>,
}

impl EffectRun {
    pub fn start(
        cases: Vec<Case>,
        verdict: Verdict,
        fixture: impl FnOnce(EffectSite) -> EffectFixture,
    ) -> EffectRun {
        let site = EffectSite::new();
        for case in &cases {
            case.publish(&site);
        }
        let fixture = fixture(site);
        let operator = fixture.operator(verdict);
        EffectRun { fixture, operator, cases }
    }

    /// Tries all cases, a part of them in each session.
    pub fn try_all(&self, access: &str) -> Vec<(Case, Outcome)> {
        let cases = &self.cases;
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

    pub fn try_one(&self, agent: &mut EffectAgent, case: &Case) -> Outcome {
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
            pause(begun);
        }
    }

    fn approves(&self) -> bool {
        self.operator.is_approving()
    }

    pub fn has_arrived(&self, case: &Case) -> bool {
        self.fixture.site.has_received(0, |one| case.arrival.is(one))
    }
}

pub fn summary(outcomes: &[(Case, Outcome)]) -> String {
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

pub fn list(outcomes: &[(Case, Outcome)], fits: impl Fn(&Outcome) -> bool) -> Vec<String> {
    let fitting = outcomes.iter().filter(|(_, outcome)| fits(outcome));
    fitting
        .map(|(case, outcome)| {
            format!("{} ({}, {}, {}): {outcome:?}", case.name, case.class, case.means, case.language)
        })
        .collect()
}

/// Proves that each approved case arrived once, signed in, and as a card showed it.
pub fn faults_of_arrivals(run: &EffectRun, outcomes: &[(Case, Outcome)]) -> Vec<String> {
    let (received, asked) = (run.fixture.site.received(), run.operator.asked());
    let mut faults = Vec::new();
    for (case, _) in outcomes {
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
    faults
}
