//! Templates with a display: a headed Chromium on Xvfb, all of it inside the jail.

use crate::common;

use common::{Home, build_template, machine, templates};
use serde_json::json;

#[test]
fn a_headed_window_opens_in_the_jail_and_its_display_is_a_phase_of_its_own() {
    build_template(templates(), "xvfb");
    // Full Chromium with a window is heavier than the headless shell.
    let home =
        Home::new("    container:\n      display: xvfb\n      memory_limit: 1g\n      cpu_shares: 2\n");
    let server = home.serve(&[]);
    let mut mcp = home.mcp();
    let session = mcp.open();
    let page = mcp.goto(&session, "http://shop.test/");
    assert_eq!(page["status"], 200, "{page}");
    let shot = mcp.ok("browser_screenshot", json!({"session_id": session}));
    assert!(shot["width"].as_u64() > Some(600), "{shot}");
    mcp.ok("browser_click", json!({"session_id": session, "role": "link", "name": "Stock"}));

    let (_, shown) = home.json(&["session", "show", &session]);
    let phases: Vec<_> =
        shown["phases"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert!(phases.contains(&"display"), "{phases:?}");
    let inside = machine::family(server.child.id());
    let has = |name: &str| inside.iter().any(|p| p.arguments.first().is_some_and(|a| a.ends_with(name)));
    assert!(has("Xvfb"), "no X server in {inside:#?}");
    let headed = inside.iter().find(|p| {
        p.arguments.iter().any(|a| a == "--remote-debugging-pipe") && p.arguments[0].contains("chromium")
    });
    let headed = headed.expect("a browser process");
    assert!(!headed.arguments.iter().any(|a| a.starts_with("--headless")), "{headed:?}");
}
