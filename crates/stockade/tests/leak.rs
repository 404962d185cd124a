//! `stockade doctor --leak`: not one byte comes back; and the same run without the redactor finds the canaries everywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Home, PROGRAM, known, templates};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use stockade::doctor::leak::{self, Category, Options, Report};

/// The whole run, in a session that was given none of the values, so that nothing takes them out again.
fn without_the_redactor() -> Report {
    let environment = vec![("STOCKADE_TEMPLATES".into(), templates().into())];
    let options = Options { program: PROGRAM.into(), environment, signed_in: false };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(leak::run(options, |_| {})).unwrap()
}

#[test]
fn without_the_redactor_the_run_fails_in_each_category_and_for_each_place() {
    let report = without_the_redactor();
    for find in &report.finds { eprintln!("{:?}", find); }
    let fault = known(serde_json::to_value(report.error.unwrap()).unwrap());
    assert_eq!((report.ok, fault["code"].as_str()), (false, Some("leak_found")));
    let categories: BTreeSet<Category> = report.finds.iter().map(|find| find.category).collect();
    eprintln!("{categories:?} {:?} {} {}", report.searched, report.seconds, report.bytes);
    let echoed: BTreeSet<&str> = report.finds.iter().filter_map(|find| find.echoed.as_deref()).collect();
    let missing: Vec<&str> =
        leak::PLACES.iter().filter(|p| p.told != echoed.contains(p.name)).map(|place| place.name).collect();
    let missing2: Vec<&str> =
        leak::BEHAVIOURS.iter().filter(|p| !echoed.contains(p.name)).map(|place| place.name).collect();
    eprintln!("{echoed:?} WRONG {missing:?} {missing2:?}");
    let _ = json!({}); let _: Option<(Value, Home)> = None;
    panic!();
}
