//! Between a question and its answer nothing can be exchanged: the server receives what the card showed, byte for byte, or
//! nothing.

use crate::common;

use common::effect_agent::{EffectAgent, EffectFixture};
use common::effect_cases::Step;
use common::effect_site::{EffectSite, Received};
use common::machine::{PATIENCE, until};
use common::operator::Operator;
use engine::approvals::{Approval, ApprovalId, ApprovalKind, EffectCard, Verdict};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long pages get to do what they do while the question waits.
const MEANWHILE: Duration = Duration::from_millis(600);
/// How long a question is looked for whose request the page may take back.
const TAKEN_BACK: Duration = Duration::from_secs(5);
/// How long whatever comes after the answer may take.
const AFTERWARDS: Duration = Duration::from_millis(1500);

const FORM: &str = "<form id=f method=post action=\"/pay/NAME\"><input id=amount name=amount value=10>\
    <select id=to name=to><option>Ada<option>Eve</select><button id=go>Pay now</button></form>";

struct Swap {
    name: String,
    /// Says nothing of what the page does: opening it is ordinary.
    path: String,
    /// Whether the approved request has to arrive; otherwise it may have been given up.
    must_arrive: bool,
    /// What the approved request may say.
    bodies: Vec<String>,
    page: String,
    /// Further pages and redirects of the site.
    files: Vec<(String, String)>,
    redirect: Option<(u16, String, String)>,
    before: Vec<Step>,
    ask: Step,
    meanwhile: Vec<(Actor, Step)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// The session whose request is held.
    Same,
    /// A second session of the same login.
    Other,
}

fn swaps() -> Vec<Swap> {
    include_str!("effects/swaps.cases").split("\n@ ").skip(1).enumerate().map(parse).collect()
}

fn parse((number, block): (usize, &str)) -> Swap {
    let (head, rest) = block.split_once('\n').unwrap();
    let head: Vec<&str> = head.splitn(4, '|').map(str::trim).collect();
    let rest = rest.replace("FORM", FORM).replace("NAME", head[0]).replace("PAGE", &format!("/s/{number}"));
    let mut swap = Swap {
        name: head[0].to_owned(),
        path: format!("/s/{number}"),
        must_arrive: head[2] == "arrives",
        bodies: head[3].split(" && ").map(str::to_owned).collect(),
        page: String::new(),
        files: Vec::new(),
        redirect: None,
        before: Vec::new(),
        ask: Step::parse("read"),
        meanwhile: Vec::new(),
    };
    for line in rest.lines() {
        if let Some(step) = line.strip_prefix("! ") {
            swap.ask = Step::parse(step);
        } else if let Some(step) = line.strip_prefix("? ") {
            swap.before.push(Step::parse(step));
        } else if let Some(step) = line.strip_prefix("other > ") {
            swap.meanwhile.push((Actor::Other, Step::parse(step)));
        } else if let Some(step) = line.strip_prefix("> ") {
            swap.meanwhile.push((Actor::Same, Step::parse(step)));
        } else if let Some(file) = line.strip_prefix("= ") {
            let (path, text) = file.split_once(' ').unwrap();
            swap.files.push((path.to_owned(), text.to_owned()));
        } else if let Some(redirect) = line.strip_prefix("~ ") {
            let parts: Vec<&str> = redirect.split(' ').collect();
            swap.redirect = Some((parts[0].parse().unwrap(), parts[1].into(), parts[2].into()));
        } else {
            swap.page.extend([line, "\n"]);
        }
    }
    assert_ne!(swap.ask.tool, "browser_read", "{block}");
    swap
}

fn publish(swap: &Swap, site: &EffectSite) {
    let head = "<!doctype html><meta charset=utf-8><script src=/lib.js></script>";
    site.page(&swap.path, &format!("{head}<title>Swap</title>{}", swap.page));
    for (path, text) in &swap.files {
        site.page(path, text);
    }
    if let Some((status, from, to)) = &swap.redirect {
        site.redirect(*status, from, to);
    }
}

/// The differences between what a card showed and what arrived.
fn compare(card: &EffectCard, received: &Received) -> Vec<String> {
    let mut faults = Vec::new();
    let mut differs = |what: &str, shown: String, got: String| {
        if shown != got {
            faults.push(format!("{what}: the card showed {shown}, the server received {got}"));
        }
    };
    differs("method", card.method.as_str().to_owned(), received.method.clone());
    let address = card.address.as_str().replace("wss://", "https://");
    differs("address", address, format!("https://{}{}", received.host, received.target));
    differs("bytes", card.body_bytes.to_string(), received.body.len().to_string());
    if received.content_type.starts_with("application/x-www-form-urlencoded") {
        let shown =
            card.fields.iter().map(|field| format!("{}={}", field.name.as_str(), field.value.as_str()));
        let got = url::form_urlencoded::parse(&received.body).map(|(name, value)| format!("{name}={value}"));
        differs("fields", shown.collect::<Vec<_>>().join("&"), got.collect::<Vec<_>>().join("&"));
    }
    faults
}

struct Attempt<'a> {
    fixture: &'a EffectFixture,
    operator: &'a Operator,
    swap: &'a Swap,
}

impl Attempt<'_> {
    /// Tries one swap; what is wrong with what came of it.
    fn run(&self) -> Vec<String> {
        let mut agent = self.fixture.agent("write");
        let mut faults = Vec::new();
        agent.goto(&self.swap.path);
        for step in &self.swap.before {
            agent.step(step).unwrap_or_else(|code| panic!("{}: {}: {code}", self.swap.name, step.text));
        }
        let mut ask = self.swap.ask.arguments.clone();
        ask["wait"] = json!(false);
        let answer = agent.call(self.swap.ask.tool, ask);
        if let Err(error) = &answer {
            let code = error["code"].as_str().unwrap();
            let was_taken_back = code == "approval_void" && !self.swap.must_arrive;
            if !code.starts_with("approval_pending:") && !was_taken_back {
                faults.push(format!("the call that asks gave {error}"));
            }
        }
        let Some(asked) = self.question_of(&agent) else {
            // The page took its request back before anybody could read of it: then it is gone.
            let arrived = self.arrivals();
            faults.extend(arrived.iter().map(|one| format!("arrived unasked: {}", one.line())));
            return faults;
        };
        let Some(card) = asked.card.effect.clone().filter(|_| asked.kind == ApprovalKind::Effect) else {
            return vec![format!("the question is about no effect: {asked:?}")];
        };
        let mut other = None;
        for (actor, step) in &self.swap.meanwhile {
            let fault = match actor {
                Actor::Same => refused_while_open(&mut agent, step),
                Actor::Other => {
                    let other = other.get_or_insert_with(|| self.fixture.agent("write"));
                    let mut arguments = step.arguments.clone();
                    if !matches!(step.tool, "browser_read" | "browser_tabs") {
                        arguments["wait"] = json!(false);
                    }
                    let done = other.call(step.tool, arguments);
                    let pending = |error: &serde_json::Value| {
                        error["code"].as_str().unwrap_or_default().starts_with("approval_pending:")
                    };
                    done.err()
                        .filter(|error| !pending(error))
                        .map(|error| format!("other: {}: {error}", step.text))
                }
            };
            faults.extend(fault);
        }
        std::thread::sleep(MEANWHILE);
        let before: Vec<String> = self.arrivals().iter().map(Received::line).collect();
        if !before.is_empty() {
            faults.push(format!("arrived before the answer: {before:?}"));
        }
        self.answer(&asked.id);
        faults.extend(self.judge(&card));
        if let Some(mut other) = other {
            drop(other.call("browser_close_session", json!({})));
        }
        drop(agent.call("browser_close_session", json!({})));
        faults
    }

    /// The question of the held request. A page that may take its request back can be faster than the person.
    fn question_of(&self, agent: &EffectAgent) -> Option<Approval> {
        let begun = Instant::now();
        until(&format!("{}: somebody is asked", self.swap.name), PATIENCE, || {
            let mut waiting = self.operator.all_waiting();
            waiting.retain(|one| one.session.as_str() == agent.session);
            waiting.sort_by_key(|one| one.asked_at);
            let given_up = !self.swap.must_arrive && begun.elapsed() > TAKEN_BACK;
            waiting.into_iter().next().map(Some).or(given_up.then_some(None))
        })
    }

    /// Approves the one question that the person read, and denies every other.
    fn answer(&self, first: &ApprovalId) {
        // It may have been withdrawn with the page that sent it.
        drop(self.operator.says(first, Verdict::Approve { for_session: false }));
        let begun = Instant::now();
        while begun.elapsed() < AFTERWARDS {
            for other in self.operator.all_waiting().into_iter().filter(|one| one.id != *first) {
                drop(self.operator.says(&other.id, Verdict::Deny));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Everything that pays by this case, whatever the method.
    fn arrivals(&self) -> Vec<Received> {
        let (own, mark) = (format!("/pay/{}", self.swap.name), "amount=99");
        let fits = |one: &Received| {
            let is_own = one.target.starts_with(&own) && (one.method != "GET" || one.target.contains(mark));
            is_own && one.method != "OPTIONS"
        };
        self.fixture.site.received().into_iter().filter(fits).collect()
    }

    fn judge(&self, card: &EffectCard) -> Vec<String> {
        let arrivals = self.arrivals();
        let mut faults = Vec::new();
        if arrivals.len() > 1 || (arrivals.is_empty() && self.swap.must_arrive) {
            let lines: Vec<String> = arrivals.iter().map(Received::line).collect();
            faults.push(format!("{} arrived: {lines:?}", arrivals.len()));
        }
        for one in &arrivals {
            faults.extend(compare(card, one));
            if !self.swap.bodies.iter().any(|body| body.as_bytes() == one.body) {
                faults.push(format!("the body is {:?}", one.text()));
            }
            if !self.fixture.home.audit_log().contains(card.digest.as_str()) {
                faults.push("the digest is not on record".to_owned());
            }
        }
        faults
    }
}

/// Looking is allowed, and tabs may be; everything that acts is refused.
fn refused_while_open(agent: &mut EffectAgent, step: &Step) -> Option<String> {
    let done = agent.call(step.tool, step.arguments.clone());
    let code = done.err().map(|error| error["code"].as_str().unwrap_or_default().to_owned());
    let is_right = match step.tool {
        "browser_read" | "browser_close_session" => code.is_none(),
        "browser_tabs" => code.as_deref().is_none_or(|code| code == "question_open" || code == "unknown_tab"),
        _ => code.as_deref() == Some("question_open"),
    };
    (!is_right).then(|| format!("{}: {code:?}", step.text))
}

#[test]
fn what_was_shown_is_what_arrives_whatever_is_tried_before_the_answer() {
    let swaps = swaps();
    assert!(swaps.len() >= 20, "{}", swaps.len());
    let names: BTreeSet<&str> = swaps.iter().map(|swap| swap.name.as_str()).collect();
    assert_eq!(names.len(), swaps.len());
    let site = EffectSite::new();
    for swap in &swaps {
        publish(swap, &site);
    }
    let fixture = EffectFixture::start(site);
    let operator = Operator::of(&fixture.home);
    let mut failed = Vec::new();
    for swap in &swaps {
        let attempt = Attempt { fixture: &fixture, operator: &operator, swap };
        failed.extend(attempt.run().into_iter().map(|fault| format!("{}: {fault}", swap.name)));
    }
    assert!(failed.is_empty(), "{} faults:\n{}", failed.len(), failed.join("\n"));
}

/// Both are approved, in the other order: each session sends its own bytes, once.
#[test]
fn two_sessions_of_one_login_each_send_what_their_own_card_showed() {
    let site = EffectSite::new();
    let page = FORM.replace("NAME", "both");
    site.page("/s/both", &format!("<!doctype html><title>Both</title>{page}"));
    let fixture = EffectFixture::start(site);
    let operator = Operator::of(&fixture.home);
    let mut agents = [fixture.agent("write"), fixture.agent("write")];
    let mut questions = Vec::new();
    for (agent, amount) in agents.iter_mut().zip(["10", "9999"]) {
        agent.goto("/s/both");
        agent.step(&Step::parse(&format!("fill #amount = {amount}"))).unwrap();
        drop(agent.call("browser_click", json!({"selector": "#go", "wait": false})));
        let session = agent.session.clone();
        questions.push(until("a session asks", PATIENCE, || {
            operator.all_waiting().into_iter().find(|one| one.session.as_str() == session)
        }));
    }
    for asked in questions.iter().rev() {
        operator.approves(&asked.id);
    }
    until("both arrive", PATIENCE, || {
        (fixture.site.received_at("POST", "/pay/both").len() == 2).then_some(())
    });
    let arrived = fixture.site.received_at("POST", "/pay/both");
    for (asked, body) in questions.iter().zip(["amount=10&to=Ada", "amount=9999&to=Ada"]) {
        let card = asked.card.effect.as_ref().unwrap();
        let of_card: Vec<&Received> = arrived.iter().filter(|one| compare(card, one).is_empty()).collect();
        assert_eq!(of_card.len(), 1, "{card:?}: {arrived:?}");
        assert_eq!(of_card[0].text(), body);
    }
}
