//! The first run: the link of a start, the first password, and who cannot use them.

use crate::common;

use common::Home;
use common::login::{PASSWORD, cookie_of, form, request, status_and_code};
use common::terminal::RunningProgram;
use serde_json::json;

/// The page and the token of the link that a start prints.
fn link_in(shown: &str) -> (String, String) {
    let line =
        shown.lines().find(|line| line.contains("/console/link#")).unwrap_or_else(|| panic!("{shown}"));
    let (page, token) = line.trim().split_once('#').unwrap();
    (page.to_owned(), token.to_owned())
}

#[test]
fn the_first_banner_fits_80_columns_and_leads_from_the_link_to_an_approved_order() {
    let home = Home::new("");
    let serve = ["serve", "--demo", "--listen", "127.0.0.1:0", "--no-color"];
    let shown = RunningProgram::on_a_terminal(&home, &serve);
    shown.until("Stop with Ctrl-C.");
    let shown = shown.stop();
    let (first, _) = shown.split_once("Claude Code").unwrap();
    for line in first.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{line:?} has {} columns", line.chars().count());
    }
    for part in [
        "Console  http://127.0.0.1:",
        "MCP      http://127.0.0.1:",
        "Key      sk_stockade_",
        "It works once, within 10 minutes",
        "1. Open the link, set a password there, and keep the page open.",
        "3. Ask it to order a stoneware mug at http://shop.test/",
        "Approve it within 30 seconds.",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    home.set_password();
    let shown = RunningProgram::on_a_terminal(&home, &serve);
    shown.until("Stop with Ctrl-C.");
    let shown = shown.stop();
    assert!(shown.contains("1. Open the console, log in,") && !shown.contains("link#"), "{shown}");
}

#[test]
fn whoever_comes_by_the_link_sets_a_first_password_in_the_console_and_only_the_first() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let shown = RunningProgram::on_a_terminal(&home, &["operator", "link", "--no-color"]);
    shown.until("It logs operator in once");
    let (_, token) = link_in(&shown.so_far());
    let origin = format!("origin: http://{}\r\n", server.address());
    let cookie = cookie_of(&request(&server, "POST", "/operator/link", &origin, &form(&[("link", &token)])));
    let page = |cookie: &str| request(&server, "GET", "/console", &format!("cookie: {cookie}\r\n"), "");
    assert!(page(&cookie).contains("action=\"/operator/password\""), "{}", page(&cookie));
    let set = |cookie: &str, form_token: &str, new: &str, repeated: &str| {
        let headers = format!("{origin}cookie: {cookie}\r\n");
        let body = form(&[("form", form_token), ("password", new), ("repeated", repeated)]);
        request(&server, "POST", "/operator/password", &headers, &body)
    };
    let form_token = home.form_of(&server, &cookie);
    for (token, new, repeated, expected) in [
        ("guessed", PASSWORD, PASSWORD, (403, "form_refused")),
        (form_token.as_str(), "short", "short", (400, "bad_password")),
        (form_token.as_str(), PASSWORD, "something else", (400, "bad_password")),
    ] {
        let answer = set(&cookie, token, new, repeated);
        assert_eq!(status_and_code(&answer), (expected.0, expected.1.to_owned()), "{new}");
    }
    let answer = set(&cookie, &form_token, PASSWORD, PASSWORD);
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let fresh = cookie_of(&answer);
    assert_eq!(status_and_code(&page(&cookie)).1, "login_required", "the link's own log-in has ended");
    assert!(page(&fresh).starts_with("HTTP/1.1 200") && !page(&fresh).contains("/operator/password"));
    // From now on a change needs the password.
    let again = set(&fresh, &home.form_of(&server, &fresh), "another password", "another password");
    assert_eq!(status_and_code(&again), (403, "form_refused".into()));
    assert!(!home.log_in(&server).is_empty());
    let log = home.audit_log();
    assert!(log.contains("a first password is set in the console"), "{log}");
    for secret in [PASSWORD, token.as_str(), form_token.as_str()] {
        assert!(!log.contains(secret), "{secret}");
    }
}

#[test]
fn neither_an_agent_nor_its_browser_can_use_the_link_of_a_start() {
    let home = Home::new("");
    let shown = RunningProgram::on_a_terminal(
        &home,
        &["serve", "--demo", "--listen", "127.0.0.1:0", "--no-color", "-vv"],
    );
    shown.until("Stop with Ctrl-C.");
    let (page, token) = link_in(&shown.so_far());
    let mut mcp = home.mcp();
    let session = mcp.open();
    let code = mcp.code("browser_navigate", json!({"session_id": session, "url": page}));
    assert_eq!(code, "egress_refused");
    drop(mcp);
    let all = shown.stop();
    assert_eq!(all.matches(&token).count(), 1, "only in the banner, not in the log beside it: {all}");
    assert!(!home.audit_log().contains(&token));
    let key = all.lines().find_map(|line| line.trim().strip_prefix("Key      ")).unwrap().to_owned();
    let server = home.serve(&[]);
    let headers = format!("authorization: Bearer {key}\r\norigin: http://{}\r\n", server.address());
    let answer = request(&server, "POST", "/operator/link", &headers, &form(&[("link", &token)]));
    assert_eq!(status_and_code(&answer), (403, "operator_only".into()));
}
