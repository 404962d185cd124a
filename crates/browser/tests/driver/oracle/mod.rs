//! Chromium's own accessibility tree as the oracle for snapshots.

#![allow(clippy::print_stdout, reason = "a printed report is a result")]

mod accname;
mod compare;
mod corpus;
mod reading;
mod states;

use crate::support::Driver;
use compare::{Report, compare};
use std::{fs, path::Path};

const AGREEMENT: f64 = 0.995;
/// Fewer comparisons than this would mean that the pages were not read at all.
const FEWEST: usize = 900;

/// Loads each page and compares all its frames; prints a report for each.
async fn check(pages: &[(String, String)], addresses: &[String]) -> Report {
    let served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    let mut events = driver.connection.subscribe();
    let mut all = Report::default();
    for address in addresses {
        let mut of_page = Report::default();
        driver.goto(&format!("http://{address}")).await;
        for frame in reading::read_frames(&driver, &reading::sessions(&driver, &mut events)).await {
            println!(
                "{address}: {} of ours, Chromium {:?}, ours {:?}",
                frame.ours.len(),
                frame.chromium_time,
                frame.our_time
            );
            of_page.add(compare(&frame));
        }
        println!("{address}: {} of {}\n{}", of_page.agreed, of_page.compared, of_page.worst(5));
        all.add(of_page);
    }
    println!("all: {} of {} = {:.4}\n{}", all.agreed, all.compared, all.share(), all.worst(3));
    all
}

#[tokio::test]
async fn component_pages_agree_with_the_accessibility_tree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        pages.push((format!("{name}.test/"), fs::read_to_string(&path).unwrap()));
    }
    pages.sort();
    let addresses: Vec<String> = pages.iter().map(|(at, _)| at.clone()).collect();
    let report = check(&pages, &addresses).await;
    assert_eq!(report.marked, MARKED, "marks on ordinary pages");
    assert!(
        report.compared > FEWEST && report.share() >= AGREEMENT,
        "{:.4} of {}",
        report.share(),
        report.compared
    );
}

/// Component pages get no marks except these, which are correct: images of one pixel or none, a button under
/// aria-hidden, text that is transparent, off screen or of no size, and the fallback of a canvas.
const MARKED: &[&str] = &[
    "button \"Go\" unseen",
    "button \"e\" hidden",
    "text \"transparent\" unseen",
    "text \"off screen\" unseen",
    "text \"zero\" unseen",
    "img \"Named\" unseen",
    "text \"Fallback\" unseen",
    "img \"Alias\" unseen",
];

const MANUAL: &str = "../../target/pgdoc/usr/share/doc";

#[tokio::test]
async fn the_largest_postgresql_manual_pages_agree_with_the_accessibility_tree() {
    let unpacked = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(MANUAL));
    let mut packages = unpacked.expect("the manual is unpacked (script/setup test does it)");
    let folder = packages.next().unwrap().unwrap().path().join("html");
    let listed = fs::read_dir(&folder).unwrap();
    let mut files: Vec<(u64, String)> = listed
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.metadata().unwrap().len(), entry.file_name().into_string().unwrap()))
        .filter(|(_, name)| name.ends_with(".html"))
        .collect();
    files.sort();
    let largest: Vec<String> = files.into_iter().rev().take(20).map(|(_, name)| name).collect();
    let style = fs::read_to_string(folder.join("stylesheet.css")).unwrap();
    let style = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nContent-Length: {}\r\n\r\n{style}",
        style.len()
    );
    let mut pages = vec![("manual.test/stylesheet.css".to_owned(), style)];
    pages.extend(
        largest
            .iter()
            .map(|name| (format!("manual.test/{name}"), fs::read_to_string(folder.join(name)).unwrap())),
    );
    let addresses: Vec<String> = largest.iter().map(|name| format!("manual.test/{name}")).collect();
    let report = check(&pages, &addresses).await;
    assert_eq!(report.marked, [""; 0], "marks in the manual");
    assert!(
        report.compared > FEWEST && report.share() >= AGREEMENT,
        "{:.4} of {}",
        report.share(),
        report.compared
    );
}
