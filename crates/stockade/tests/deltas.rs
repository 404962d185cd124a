//! Replies to actions over MCP: the changes since the session's last snapshot, or the whole page.

use crate::common;

use common::site::Site;
use common::{Home, fenced};
use serde_json::json;

fn page() -> String {
    let filler: String = (0..40).map(|n| format!("<p>Paragraph {n} stays.</p>")).collect();
    format!(
        "<title>Cart</title><main><ul aria-label=Cart><li>Lamp</ul>
         <button onclick=\"document.querySelector('ul').insertAdjacentHTML('beforeend', '<li>Chair')\">Add</button>
         {filler}</main>"
    )
}

#[test]
fn a_reply_holds_what_changed_and_full_asks_for_all() {
    let site = Site::serve(&[("/", &page())]);
    let home = Home::new(&site.setting(&["cart.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let first = mcp.goto(&session, "http://cart.test/");
    assert!(first["delta"].is_null() && first["changes"].is_null(), "{first}");
    let add = json!({"session_id": session, "role": "button", "name": "Add"});
    let reply = mcp.ok("browser_click", add.clone());
    assert_eq!((&reply["delta"], &reply["since"]), (&json!(true), &first["snapshot_id"]), "{reply}");
    assert!(reply["snapshot"].is_null(), "{reply}");
    let changes = fenced(&reply["changes"]);
    assert!(changes.starts_with("Changed since your last snapshot:\n@@ main > list \"Cart\"\n"), "{changes}");
    assert!(changes.contains("\n+ - listitem: \"Chair\"\n") && !changes.contains("Paragraph"), "{changes}");
    let full = json!({"session_id": session, "role": "button", "name": "Add", "full": true});
    let reply = mcp.ok("browser_click", full);
    assert!(fenced(&reply["snapshot"]).contains("Paragraph 39") && reply["delta"].is_null(), "{reply}");
    let typed = mcp.ok("browser_click", add);
    assert_eq!((&typed["delta"], &typed["since"]), (&json!(true), &reply["snapshot_id"]), "{typed}");
}

#[test]
fn what_changed_is_sent_to_the_client_that_saw_the_page_before() {
    let site = Site::serve(&[("/", &page())]);
    let home = Home::new(&site.setting(&["cart.test"]));
    let _server = home.serve(&[]);
    let (mut one, mut other) = (home.mcp_with(&[]), home.mcp_with(&[]));
    let session = one.open();
    one.goto(&session, "http://cart.test/");
    let add = json!({"session_id": session, "role": "button", "name": "Add"});
    assert_eq!(one.ok("browser_click", add.clone())["delta"], true);
    assert!(other.ok("browser_click", add.clone())["snapshot"].is_string(), "it has seen nothing yet");
    assert!(one.ok("browser_click", add.clone())["snapshot"].is_string(), "the page moved on without it");
    assert_eq!(one.ok("browser_click", add)["delta"], true);
}
