//! The published test cases of the npm package `accname`, read from the installed package when the test runs.

use super::reading;
use crate::support::Driver;
use serde::Deserialize;
use std::{path::Path, process::Command};

const PACKAGE: &str = "../../target/clients/node_modules/accname";

/// A page, and the expected name of its element `#test`.
type Case = (String, String);

/// The package's expectations, and why some of them were skipped.
#[derive(Deserialize)]
struct Published {
    cases: Vec<Case>,
    skipped: Vec<String>,
}

fn cases() -> Vec<Case> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = here.join(PACKAGE);
    assert!(package.exists(), "the package accname is installed (script/setup test does it)");
    let output = Command::new("node")
        .arg(here.join("tests/driver/oracle/accname_cases.cjs"))
        .arg(package)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Published { cases, skipped } = serde_json::from_slice(&output.stdout).unwrap();
    println!("not taken along: {skipped:?}");
    assert!(cases.len() > 100 && skipped.len() <= 2, "{} cases, {skipped:?}", cases.len());
    cases
}

#[tokio::test]
async fn accname_cases_pass_at_least_as_often_as_in_chromium() {
    let cases = cases();
    let pages: Vec<(String, String)> = cases
        .iter()
        .enumerate()
        .map(|(at, (page, _))| {
            (format!("names.test/{at}"), format!("<!doctype html><title>Case</title><div>{page}</div>"))
        })
        .collect();
    let served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    let (mut ours_right, mut chromium_right) = (0, 0);
    for ((address, _), (page, expected)) in pages.iter().zip(&cases) {
        driver.goto(&format!("http://{address}")).await;
        let frames = reading::read_frames(&driver, std::slice::from_ref(&driver.first_tab)).await;
        let (ours, chromium) = names_of_test(&frames[0]);
        let expected = one_line(expected);
        ours_right += usize::from(ours == expected);
        chromium_right += usize::from(chromium == expected);
        if ours != expected || chromium != expected {
            println!(
                "{address} {:?}\n   expected {expected:?}, ours {ours:?}, Chromium's {chromium:?}",
                one_line(page)
            );
        }
    }
    println!("{} cases, right: ours {ours_right}, Chromium's {chromium_right}", cases.len());
    assert!(ours_right >= chromium_right, "ours {ours_right}, Chromium's {chromium_right}");
}

fn names_of_test(frame: &reading::Frame) -> (String, String) {
    let is_test = |tag: &str| tag.contains(" id=test ") || tag.ends_with(" id=test>");
    let dom = frame
        .tags
        .iter()
        .find(|(_, tag)| is_test(tag))
        .map(|(dom, _)| *dom)
        .expect("a case has an element #test");
    let ours = frame.ours.iter().find(|node| node.dom == Some(dom)).map_or("", |node| node.name.as_str());
    let theirs = frame.chromium.iter().find(|node| node.dom == Some(dom)).map_or("", |node| node.name());
    (one_line(ours), one_line(theirs))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
