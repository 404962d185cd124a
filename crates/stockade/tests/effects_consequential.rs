//! Consequential effects on an honest site, made by every means that a page has: none reaches the server unless a person
//! said yes.

use crate::common;

use common::effect_agent::EffectFixture;
use common::effect_cases::{Case, consequential_cases};
use common::effect_run::{EffectRun, Outcome, faults_of_arrivals, list, summary};
use common::effect_site::Received;
use engine::approvals::{ApprovalKind, Verdict};
use std::collections::BTreeSet;
use std::time::Duration;

fn start(verdict: Verdict) -> EffectRun {
    EffectRun::start(consequential_cases(), verdict, EffectFixture::start)
}

#[test]
fn the_table_has_every_means_class_and_ten_languages() {
    let cases = consequential_cases();
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
    let run = start(Verdict::Deny);
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
    // An alert was closed between the click and the request: the card is about the click.
    let after_alert = asked.iter().find(|one| {
        one.card.effect.as_ref().is_some_and(|effect| effect.address.as_str().ends_with("/api/q/881"))
    });
    let element = after_alert.and_then(|one| one.card.element.as_ref());
    assert_eq!(element.map(|element| element.name.as_str()), Some("Delete forever"));
    let effects = asked.iter().filter(|one| one.kind == ApprovalKind::Effect).count();
    assert!(effects * 10 >= asked.len() * 9, "{effects} of {} questions are about effects", asked.len());
}

#[test]
fn with_read_no_effect_at_all_reaches_the_server() {
    let run = start(Verdict::Deny);
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
    let run = start(Verdict::Approve { for_session: false });
    let outcomes = run.try_all("write");
    println!("write, all approved:\n{}", summary(&outcomes));
    let missing = list(&outcomes, |outcome| *outcome != Outcome::Arrived);
    assert!(missing.is_empty(), "{} did not arrive:\n{}", missing.len(), missing.join("\n"));
    let faults = faults_of_arrivals(&run, &outcomes);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where a word could mean either, one class or the other is right; so this is counted, not listed.
#[test]
fn with_full_only_what_pays_or_gives_power_away_is_asked_about() {
    let run = start(Verdict::Deny);
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
