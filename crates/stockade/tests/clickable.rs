//! Everything that a person can act on has a ref, and is clicked through MCP by it.

use crate::common;

use common::Home;
use common::site::Site;
use serde_json::{Value, json};

/// A page, the letter of its markers and how many kinds of things it has. The pages say what each kind is.
const PAGES: [(&str, char, usize); 4] =
    [("/clickable", 'k', 67), ("/listeners", 'm', 76), ("/delegated", 'n', 40), ("/components", 's', 37)];

fn reference_of<'a>(outline: &'a str, marker: &str) -> Option<&'a str> {
    let line = outline.lines().find(|line| line.contains(marker) && line.contains("[ref="))?;
    Some(line.split_once("[ref=")?.1.split_once(']')?.0)
}

#[test]
fn each_kind_of_clickable_thing_is_clicked_through_mcp_by_its_ref() {
    let site = Site::serve(&[
        ("/clickable", include_str!("../../browser/tests/pages/acting/clickable.html")),
        ("/listeners", include_str!("../../browser/tests/pages/acting/listeners.html")),
        ("/delegated", include_str!("../../browser/tests/pages/acting/delegated.html")),
        ("/components", include_str!("../../browser/tests/pages/acting/components.html")),
    ]);
    let settings = format!("    max_actions_per_session: 10000\n{}", site.setting(&["things.test"]));
    let home = Home::new(&settings);
    let mut mcp = home.mcp();
    let session = mcp.open();
    let mut missed = Vec::new();
    for (path, letter, kinds) in PAGES {
        let url = format!("http://things.test{path}");
        mcp.ok("browser_navigate", json!({"session_id": session, "url": url}));
        let whole = json!({"session_id": session, "max_tokens": 50_000});
        let page = mcp.ok("browser_read", whole.clone());
        let outline = page["snapshot"].as_str().unwrap();
        let markers: Vec<String> = (1..=kinds).map(|kind| format!("{letter}{kind:02}")).collect();
        for marker in &markers {
            let Some(reference) = reference_of(outline, marker) else {
                missed.push(format!("{marker} has no ref"));
                continue;
            };
            let click: Value = json!({"session_id": session, "ref": reference});
            if let Err(error) = mcp.call("browser_click", click) {
                missed.push(format!("{marker}: {error}"));
            }
        }
        let after = mcp.ok("browser_read", whole);
        let log = after["snapshot"].as_str().unwrap().lines().find(|line| line.contains("paragraph: "));
        let log = log.unwrap_or_default();
        missed.extend(
            markers
                .into_iter()
                .filter(|marker| !log.contains(&**marker))
                .map(|it| format!("{it} was not hit")),
        );
        assert!(missed.is_empty(), "{missed:#?}\n{outline}");
    }
}
