//! `stockade doctor --leak`: not one byte comes back; and the same run without the redactor finds the canaries everywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Home, PROGRAM, known, templates};
use std::collections::BTreeSet;
use stockade::doctor::leak::{self, Category, Find, Options, Report};

#[test]
fn not_one_byte_of_a_credential_comes_back_by_any_tool() {
    let (code, report) = Home::new("").json(&["doctor", "--leak"]);
    assert_eq!((code, &report["ok"]), (0, &true.into()), "{report:#}");
    for category in Category::ALL {
        let searched = report["searched"][category.as_str()].as_u64();
        assert!(searched.is_some_and(|places| places > 0), "{}: {report:#}", category.as_str());
    }
    assert!(report["places"].as_u64().unwrap() > 1_000, "{report:#}");
}

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
    std::fs::write("/tmp/leak-clean.json", serde_json::to_string_pretty(&report).unwrap()).unwrap();
    let fault = known(serde_json::to_value(report.error.as_ref().unwrap()).unwrap());
    assert_eq!((report.ok, fault["code"].as_str()), (false, Some("leak_found")));
    let categories: BTreeSet<Category> = report.finds.iter().map(|find| find.category).collect();
    assert_eq!(categories, Category::ALL.into_iter().collect());
    let echoed: BTreeSet<&str> = report.finds.iter().filter_map(|find: &Find| find.echoed.as_deref()).collect();
    let wrong: Vec<&str> =
        leak::PLACES.iter().filter(|p| p.told != echoed.contains(p.name)).map(|place| place.name).collect();
    assert_eq!(wrong, [""; 0]);
}
