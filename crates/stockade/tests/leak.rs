//! `stockade doctor --leak` finds nothing; the same run without the redactor finds canaries in every category.

use crate::common;

use common::{Home, PROGRAM, known, templates};
use std::collections::BTreeSet;
use stockade::doctor::leak::{self, LeakCategory, LeakOptions, LeakReport};

#[test]
fn not_one_byte_of_a_credential_comes_back_by_any_tool() {
    let (code, report) = Home::new("").json(&["doctor", "--leak"]);
    assert_eq!((code, &report["error"]), (0, &serde_json::Value::Null), "{report:#}");
    for category in LeakCategory::ALL {
        let searched = report["searched"][category.as_str()].as_u64();
        assert!(searched.is_some_and(|places| places > 0), "{}: {report:#}", category.as_str());
    }
    assert!(report["places"].as_u64().unwrap() > 1_000, "{report:#}");
    let guesses = report["guesses"].as_object().unwrap();
    assert!(guesses.len() >= 3 && guesses.values().all(|guess| guess[0] == 0), "{report:#}");
}

/// The whole run in a session that does not know the values, so that nothing redacts them.
fn without_the_redactor() -> LeakReport {
    let environment = vec![("STOCKADE_TEMPLATES".into(), templates().into())];
    let options = LeakOptions { program: PROGRAM.into(), environment, signed_in: false, sealed: true };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(leak::run(options, |_| {})).unwrap()
}

#[test]
fn the_search_of_the_jail_finds_a_credential_that_is_not_sealed() {
    let environment = vec![("STOCKADE_TEMPLATES".into(), templates().into())];
    let options = LeakOptions { program: PROGRAM.into(), environment, signed_in: true, sealed: false };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let report = runtime.block_on(leak::run_jail_search(options, |_| {})).unwrap();
    let found: BTreeSet<&str> = report
        .finds
        .iter()
        .filter(|find| find.category == LeakCategory::Jail)
        .map(|find| find.canary)
        .collect();
    for kind in [leak::Kind::CookieHttpOnly, leak::Kind::LocalStorage, leak::Kind::Header] {
        assert!(found.contains(kind.as_str()), "{}: {found:?}", kind.as_str());
    }
}

/// Behaviours of the site that show values outside of a page.
const DONE: [&str; 27] = [
    "address",
    "hash",
    "redirect",
    "title",
    "alert",
    "confirm",
    "prompt",
    "newhash",
    "pushed",
    "newtitle",
    "newtext",
    "newfield",
    "download",
    "errorpage",
    "refresh",
    "closed",
    "popuptitle",
    "row",
    "sentheaders",
    "asked",
    "hover",
    "typed",
    "select",
    "check",
    "press",
    "covering",
    "later",
];

#[test]
fn without_the_redactor_the_run_fails_in_each_category_and_for_each_place() {
    let report = without_the_redactor();
    let fault = known(serde_json::to_value(report.error.as_ref().unwrap()).unwrap());
    assert_eq!((report.ok, fault["code"].as_str()), (false, Some("leak_found")));
    // Keys, locks and times: page text is never written there.
    let never = LeakCategory::Files;
    let categories: BTreeSet<LeakCategory> = report.finds.iter().map(|find| find.category).collect();
    assert_eq!(categories, LeakCategory::ALL.into_iter().filter(|category| *category != never).collect());
    let echoed: BTreeSet<&str> = report.finds.iter().filter_map(|find| find.echoed.as_deref()).collect();
    let wrong: Vec<&str> = leak::PLACEMENTS
        .iter()
        .filter(|it| it.in_replies != echoed.contains(it.name))
        .map(|place| place.name)
        .collect();
    assert_eq!(wrong, [""; 0], "found or not, other than the table says");
    let missing: Vec<&str> = DONE.into_iter().filter(|name| !echoed.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
    for writing in ["as it is, or spaced out", "escaped", "base64", "hex", "drawn"] {
        assert!(report.finds.iter().any(|find| find.writing == writing), "{writing}");
    }
    assert!(report.guesses.values().all(|(right, _)| *right > 0), "{:?}", report.guesses);
}

#[test]
fn a_run_that_cannot_be_done_whole_proves_nothing() {
    let environment = vec![("STOCKADE_TEMPLATES".into(), templates().into())];
    let options = LeakOptions { program: "/bin/false".into(), environment, signed_in: true, sealed: true };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let fault = runtime.block_on(leak::run(options, |_| {})).unwrap_err();
    let fault = known(serde_json::to_value(fault).unwrap());
    assert_eq!(fault["code"], "leak_unfinished");
}
