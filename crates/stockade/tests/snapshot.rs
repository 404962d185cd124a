//! A long page as an agent reads it over MCP: small replies, folds that open, and find.

use crate::common;

use common::site::Site;
use common::{Home, Mcp, fenced};
use serde_json::{Value, json};

fn rows(count: usize) -> String {
    let rows: String = (0..count)
        .map(|n| format!("<tr><td>Order {n}</td><td><a href=/{n}>Open {n}</a></td></tr>"))
        .collect();
    format!("<title>Orders</title><main><h1>Orders</h1><table>{rows}</table><button>Pay</button></main>")
}

/// The text of a reply, as a model reads it, and its fields.
fn reply(mcp: &mut Mcp, tool: &str, arguments: Value) -> (String, Value) {
    let answer = mcp.request("tools/call", json!({"name": tool, "arguments": arguments}));
    let result = &answer["result"];
    assert_ne!(result["isError"], true, "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["structuredContent"].clone())
}

#[test]
fn a_long_page_costs_what_was_allowed_and_all_of_it_can_be_reached() {
    let site = Site::serve(&[("/", &rows(5_000)), ("/4321", "<h1>This is order 4321</h1>")]);
    let home = Home::new(&site.setting(&["orders.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let whole = json!({"session_id": session, "url": "http://orders.test/"});
    let (text, page) = reply(&mut mcp, "browser_navigate", whole);
    assert!(text.len() <= 24_000 && text.len() > 20_000, "{}", text.len());
    let snapshot = page["snapshot"].as_str().unwrap();
    assert!(snapshot.contains("button \"Pay\""), "{snapshot}");

    let fold = snapshot.lines().find(|line| line.contains(" more rows (")).unwrap();
    let cursor = fold.split_once("cursor=").unwrap().1.trim_end_matches(']');
    let (text, opened) = reply(&mut mcp, "browser_read", json!({"session_id": session, "cursor": cursor}));
    assert!(fenced(&opened["snapshot"]).starts_with("In main > table:\n- row\n"), "{text}");

    for (tokens, format) in
        [(250, "outline"), (250, "markdown"), (250, "tree"), (1_000, "outline"), (20_000, "tree")]
    {
        let asked = json!({"session_id": session, "max_tokens": tokens, "format": format});
        let (text, fields) = reply(&mut mcp, "browser_read", asked);
        assert!(text.len() <= tokens * 4, "{format}: {} bytes for {tokens} tokens:\n{text}", text.len());
        assert!(fields["left_out"].as_u64().unwrap() > 1_000, "{fields}");
        assert!(text.contains("cursor"), "{text}");
    }

    let asked = json!({"session_id": session, "text": "open 4321", "role": "link"});
    let (text, found) = reply(&mut mcp, "browser_find", asked);
    assert_eq!(found["total"], 1, "{found}");
    let one = &found["matches"][0];
    assert_eq!(
        (one["text"].as_str(), one["path"].as_str()),
        (Some("Open 4321"), Some("main > table > row > cell"))
    );
    assert!(text.contains("- link \"Open 4321\" [ref="), "{text}");
    let clicked = mcp.ok("browser_click", json!({"session_id": session, "ref": one["ref"]}));
    assert!(clicked["snapshot"].as_str().unwrap().contains("This is order 4321"), "{clicked}");
}

#[test]
fn a_subtree_is_read_by_its_ref_and_levels_by_their_number() {
    let page = "<main><ul tabindex=0 aria-label=Cart><li>Pen<ul><li>red</ul></ul><p>Outside</main>";
    let site = Site::serve(&[("/", page)]);
    let home = Home::new(&format!("    snapshot:\n      max_depth: 3\n{}", site.setting(&["cart.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let first = mcp.goto(&session, "http://cart.test/");
    let outline = first["snapshot"].as_str().unwrap();
    assert!(
        outline.contains("listitem") && outline.contains("[open: cursor="),
        "folded at level 3: {outline}"
    );
    let reference = outline.split_once("[ref=").unwrap().1.split_once(']').unwrap().0;
    let read = json!({"session_id": session, "root": reference, "max_depth": 10});
    let cart = fenced(&mcp.ok("browser_read", read)["snapshot"]);
    assert!(cart.starts_with("In main:\n- list \"Cart\"") && cart.contains("red"), "{cart}");
    assert!(!cart.contains("Outside") && !cart.contains("cursor"), "{cart}");
}

#[test]
fn contradictory_read_arguments_are_refused() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/");
    for (tool, arguments) in [
        ("browser_read", json!({"max_tokens": 199})),
        ("browser_read", json!({"max_tokens": 50_001})),
        ("browser_read", json!({"max_depth": 0})),
        ("browser_read", json!({"root": "e1", "cursor": "c1.0-1"})),
        ("browser_find", json!({})),
        ("browser_find", json!({"text": ""})),
        ("browser_find", json!({"text": "a", "regex": "a"})),
        ("browser_find", json!({"regex": "(a"})),
        ("browser_find", json!({"regex": "(a{999}){999}"})),
        ("browser_find", json!({"text": "a", "limit": 101})),
        ("browser_find", json!({"text": "x".repeat(1_001)})),
    ] {
        let mut arguments = arguments;
        arguments["session_id"] = json!(session);
        assert_eq!(mcp.code(tool, arguments.clone()), "bad_arguments", "{tool} {arguments}");
    }
    for cursor in ["c1", "c9.0-1", "c1.0-99999", "nonsense"] {
        assert_eq!(
            mcp.code("browser_read", json!({"session_id": session, "cursor": cursor})),
            "stale_cursor"
        );
    }
    let found = mcp.ok("browser_find", json!({"session_id": session, "role": "searchbox"}));
    assert_eq!(found["total"], 1, "{found}");
}
