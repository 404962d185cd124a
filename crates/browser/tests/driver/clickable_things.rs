//! Everything that a person can act on has a ref, and is clicked by it.

use crate::support::{Driver, click};
use policy::Target;
use std::{fs, path::Path};

/// Kinds of things on the page, each with a marker in its name, its text or its class.
const KINDS: usize = 67;

/// The ref on the line with this marker, or on the line before it if the marker is the only text of an element.
fn reference_of(outline: &str, marker: &str) -> Option<Target> {
    let lines: Vec<&str> = outline.lines().collect();
    let on_line = |line: &&str| {
        let (_, rest) = line.split_once("[ref=")?;
        rest.split_once(']').map(|(reference, _)| Target::Ref(reference.to_owned()))
    };
    let at = lines.iter().position(|line| line.contains(marker) && line.contains("[ref="))?;
    on_line(&lines[at])
}

#[tokio::test]
async fn each_kind_of_clickable_thing_has_a_ref_and_is_clicked_by_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/acting");
    let page = fs::read_to_string(folder.join("clickable.html")).unwrap();
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let outline = driver.outline().await;
    let mut missed = Vec::new();
    for kind in 1..=KINDS {
        let marker = format!("k{kind:02}");
        let Some(target) = reference_of(&outline, &marker) else {
            missed.push(format!("{marker} has no ref"));
            continue;
        };
        if let Err(error) = driver.act(click(target)).await {
            missed.push(format!("{marker}: {error}"));
            continue;
        }
        let log = driver.value("document.getElementById('log').textContent").await;
        if !log.contains(&marker) {
            missed.push(format!("{marker} was clicked and not hit"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}\n{outline}");
}

#[tokio::test]
async fn a_pointer_over_a_large_part_hides_nothing_of_it() {
    let page = "<style>.card { cursor: pointer } label, label * { cursor: pointer } button span { cursor: pointer }</style>
        <div class=card><h2>Lamp</h2><p>A long description</p><a href=/buy>Buy</a></div>
        <label><input type=checkbox> Agree</label> <button><span>Save</span></button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    for expected in
        ["heading \"Lamp\"", "A long description", "link \"Buy\"", "checkbox \"Agree\"", "button \"Save\""]
    {
        assert!(outline.contains(expected), "{expected}: {outline}");
    }
    assert_eq!(outline.matches("[ref=").count(), 4, "{outline}");
}
