//! Requests of real applications that were written down before the rules were looked at: how many are judged wrongly.
//!
//! The rules are not complete and cannot be. What counts is the share of ordinary requests that ask, and of consequential
//! ones that pass.

use super::effects::{lines, read};
use policy::{Effect, Policy};

const ORDINARY: &str = include_str!("effects_measured_ordinary.table");
const CONSEQUENTIAL: &str = include_str!("effects_measured_consequential.table");

/// Rows and those of them whose answer is not this.
fn wrong(table: &'static str, asks: bool) -> (usize, Vec<String>) {
    let policy = Policy::default();
    let is_wrong = |line: &&str| {
        let (_, request, cause) = read(line);
        let class = policy.classify_effect(&Effect::decode(request), cause.as_ref()).0.as_str();
        matches!(class, "read" | "write") == asks
    };
    (lines(table).count(), lines(table).filter(is_wrong).map(str::to_owned).collect())
}

#[test]
fn of_measured_ordinary_requests_at_most_one_percent_asks() {
    let (rows, wrong) = wrong(ORDINARY, false);
    assert!(rows >= 400 && wrong.len() * 100 <= rows, "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn of_measured_consequential_requests_at_most_four_percent_pass() {
    let (rows, wrong) = wrong(CONSEQUENTIAL, true);
    assert!(rows >= 400 && wrong.len() * 25 <= rows, "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
}

/// One line for each language: `de: Drehen | Laden`.
const ORDINARY_LABELS: &str = include_str!("effects_ordinary_labels.table");
const CONSEQUENTIAL_LABELS: &str = include_str!("effects_consequential_labels.table");

/// Labels, and those of them after which a request that says nothing is not judged so.
fn wrong_labels(table: &'static str, asks: bool) -> (usize, Vec<String>) {
    let policy = Policy::default();
    let is_wrong = |label: &str| {
        let line = format!("write | http | POST /api/x | json | {{\"a\":1}} | {label}");
        let (_, request, cause) = read(&line);
        let class = policy.classify_effect(&Effect::decode(request), cause.as_ref()).0.as_str();
        matches!(class, "read" | "write") == asks
    };
    let labels: Vec<(&str, &str)> = lines(table)
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(language, list)| list.split(" | ").map(move |label| (language, label)))
        .collect();
    let wrong = labels.iter().filter(|(_, label)| is_wrong(label));
    (labels.len(), wrong.map(|(language, label)| format!("{language}: {label}")).collect())
}

#[test]
fn labels_of_ordinary_work_ask_nobody_in_any_language() {
    let (labels, wrong) = wrong_labels(ORDINARY_LABELS, false);
    assert!(
        labels >= 700 && wrong.len() * 100 <= labels,
        "{} of {labels}: {}",
        wrong.len(),
        wrong.join(", ")
    );
}

#[test]
fn labels_of_consequential_work_ask_in_every_language() {
    let (labels, wrong) = wrong_labels(CONSEQUENTIAL_LABELS, true);
    assert!(
        labels >= 700 && wrong.len() * 100 <= labels,
        "{} of {labels}: {}",
        wrong.len(),
        wrong.join(", ")
    );
}
