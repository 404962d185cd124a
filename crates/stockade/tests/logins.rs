//! Signed-in sessions: an agent acts as the account that the operator granted, and gets an error otherwise.

use crate::common;

use common::django::Admin;
use common::grant_issuer::GrantIssuer;
use common::login::PASSWORD;
use common::terminal::Terminal;
use common::{Home, Mcp};
use policy::Tenant;
use serde_json::{Value, json};
use vault::GrantRequest;

fn books(admin: &Admin) -> Home {
    let home = home_of(admin);
    home.store_credential(&document(admin));
    home
}

fn home_of(admin: &Admin) -> Home {
    Home::new(&format!(
        "    max_actions_per_session: 1000\n    egress:\n      hosts:\n        books.test: {}\n",
        admin.address
    ))
}

fn document(admin: &Admin) -> Value {
    json!({
        "domain": "books.test",
        "origin": "http://books.test",
        "cookies": [{"name": "sessionid", "value": admin.cookie(), "httpOnly": true, "sameSite": "Lax"}],
        "probe": {"path": "/admin/", "signed_in": {"text": "Log out"}, "signed_out": {"path": "/admin/login/"}},
    })
}

fn open(mcp: &mut Mcp, grant: &str, domains: &[&str]) -> Result<Value, Value> {
    let arguments = json!({"credential_mode": "operator", "grant": grant, "domains": domains});
    mcp.call("browser_open_session", arguments)
}

#[test]
fn an_agent_reads_and_edits_as_the_signed_in_user_and_no_password_is_typed() {
    let admin = Admin::start();
    let home = books(&admin);
    let granting = GrantIssuer::of(&home);
    let mut mcp = home.mcp();
    let opened = open(&mut mcp, &granting.token(&["books.test"]), &[]).unwrap();
    assert_eq!(
        (&opened["credential_mode"], &opened["signed_in_to"]),
        (&json!("operator"), &json!(["books.test"]))
    );
    let session = opened["session_id"].as_str().unwrap().to_owned();
    mcp.goto(&session, "http://books.test/admin/library/author/");
    mcp.ok("browser_click", json!({"session_id": session, "role": "link", "name": "Ada Byron"}));
    let name = json!({"session_id": session, "role": "textbox", "name": "Name:", "text": "Ada Lovelace", "clear_first": true});
    mcp.ok("browser_type", name);
    mcp.ok("browser_click", json!({"session_id": session, "role": "button", "name": "Save"}));
    assert_eq!(admin.ask("[a.name for a in Author.objects.all()]"), "['Ada Lovelace']");

    // The same agent in a clean session is not signed in.
    let clean = mcp.ok("browser_open_session", json!({}));
    let met = mcp.goto(clean["session_id"].as_str().unwrap(), "http://books.test/admin/");
    assert!(met["final_url"].as_str().unwrap().contains("/admin/login/"), "{met}");
}

#[test]
fn an_invalid_grant_is_an_error_and_no_request_carries_a_cookie() {
    let admin = Admin::start();
    let home = books(&admin);
    let granting = GrantIssuer::of(&home);
    let mut mcp = home.mcp();
    let hosts = ["books.test"];
    let (revoked, grant) = granting.issue(GrantIssuer::request(&hosts));
    granting.revoke(&grant);
    let consumed = granting.token(&hosts);
    open(&mut mcp, &consumed, &hosts).unwrap();
    let others = GrantRequest { tenant: Tenant::parse("other").unwrap(), ..GrantIssuer::request(&hosts) };
    let other_domain = granting.token(&["news.test"]);
    for (grant, code) in [
        (revoked.as_str(), "grant_revoked"),
        (&granting.expired(&hosts), "grant_expired"),
        (&consumed, "grant_consumed"),
        (&granting.issue(others).0, "unknown_grant"),
        (&other_domain, "grant_wrong_host"),
        ("gr_stockade_made_up", "unknown_grant"),
    ] {
        let error = open(&mut mcp, grant, &hosts).unwrap_err();
        assert_eq!(error["code"], code, "{error}");
        assert!(!error.to_string().contains(grant), "{code}");
    }
    // A request beyond the grant does not consume it; its host has no login.
    assert_eq!(open(&mut mcp, &other_domain, &[]).unwrap_err()["code"], "unknown_credential");
    let error = mcp.call("browser_open_session", json!({"credential_mode": "operator"})).unwrap_err();
    assert_eq!(error["code"], "grant_required");
}

#[test]
fn a_login_that_has_expired_says_so_and_nothing_is_opened() {
    let admin = Admin::start();
    let home = books(&admin);
    let granting = GrantIssuer::of(&home);
    let mut mcp = home.mcp();
    admin.ask("[s.delete() for s in __import__('django.contrib.sessions.models').contrib.sessions.models.Session.objects.all()]");
    let token = granting.token(&["books.test"]);
    // Nothing was opened, so the single use is given back.
    for _ in 0..2 {
        let error = open(&mut mcp, &token, &[]).unwrap_err();
        assert_eq!(error["code"], "credential_expired", "{error}");
    }
    assert!(!home.audit_log().contains("session_opened"));
    let (code, tested) = home.with_input(&["credential", "test", "books.test"], "");
    assert_eq!((code, &tested["verdict"]), (1, &json!("signed_out")), "{tested}");
    assert_eq!(tested["error"]["code"], "credential_expired", "{tested}");
}

#[test]
fn a_stored_login_can_be_tried_and_looked_at_without_its_values() {
    let admin = Admin::start();
    let home = books(&admin);
    let (code, tested) = home.with_input(&["credential", "test", "books.test"], "");
    assert_eq!(
        (code, &tested["verdict"], &tested["status"]),
        (0, &json!("signed_in"), &json!(200)),
        "{tested}"
    );
    let (code, shown) = home.json(&["credential", "show", "books.test"]);
    let credential = &shown["credential"];
    assert_eq!((code, &credential["origin"]), (0, &json!("http://books.test")), "{shown}");
    assert_eq!(
        (&credential["sealed"], &credential["cookies"][0]["name"]),
        (&json!(true), &json!("sessionid"))
    );
    assert!(!shown.to_string().contains(&admin.cookie()), "{shown}");
    let (code, refused) = home.with_input(&["grant", "issue", "--host", "nowhere.test"], "");
    assert_eq!((code, &refused["error"]["code"]), (1, &json!("unknown_credential")), "{refused}");
    let allow =
        |rest: [&str; 2]| home.with_input(&[&["credential", "allow", "books.test"], &rest[..]].concat(), "");
    assert_eq!(allow(["--body", "/oauth/token"]).0, 0);
    assert_eq!(allow(["--body", "no-path"]).1["error"]["code"], "usage");
    let shown = home.json(&["credential", "show", "books.test"]).1;
    assert_eq!(shown["credential"]["send_in"], json!(["body /oauth/token"]), "{shown}");
    assert!(home.audit_log().contains("credential_place_allowed"));
    let checks = home.json(&["doctor"]).1.to_string();
    assert!(checks.contains("all stored logins are sealed"), "{checks}");
}

#[test]
fn a_login_is_tried_when_it_is_stored_if_the_operator_wants_that() {
    let admin = Admin::start();
    let home = home_of(&admin);
    let document = document(&admin);
    let cookie = document["cookies"][0]["value"].as_str().unwrap().to_owned();
    let good = document.to_string();
    let stale = good.replace(&cookie, "gone-0123456789abcdef");
    let put = ["credential", "put"];
    let tested = ["credential", "put", "--test"];

    // Without a terminal nothing is asked, and nothing is opened without the flag.
    let (code, stored) = home.with_input(&put, &good);
    assert_eq!((code, &stored["next"]), (0, &json!("stockade credential test books.test")), "{stored}");
    let (_, other) = home.with_input(&["credential", "put", "--tenant", "acme", "--no-test"], &good);
    assert_eq!(other["next"], "stockade credential test books.test --tenant acme", "{other}");
    assert!(!home.audit_log().contains("session_opened"));
    let (code, stored) = home.with_input(&tested, &good);
    assert_eq!((code, &stored["test"]["verdict"]), (0, &json!("signed_in")), "{stored}");

    // The password is the line before the document. Without it nothing is stored.
    home.set_password();
    let (code, refused) = home.with_input(
        &[&tested[..], &["--id", "none", "--password-stdin"]].concat(),
        &format!("wrong\n{good}"),
    );
    assert_eq!((code, &refused["error"]["code"]), (1, &json!("login_failed")), "{refused}");
    assert_eq!(home.json(&["credential", "show", "none"]).1["error"]["code"], "unknown_credential");
    let (code, stored) =
        home.with_input(&[&tested[..], &["--password-stdin"]].concat(), &format!("{PASSWORD}\n{stale}"));
    assert_eq!((code, &stored["stored"]), (1, &json!("books.test")), "{stored}");
    assert_eq!(
        (&stored["test"]["verdict"], &stored["error"]["code"]),
        (&json!("signed_out"), &json!("credential_expired"))
    );
    let (code, usage) = home.with_input(&["credential", "put", "--password-stdin"], &good);
    assert_eq!((code, &usage["error"]["code"]), (2, &json!("usage")), "{usage}");

    // At a terminal the test is offered, and Enter accepts.
    let mut terminal = Terminal::start(&home, "credential put --domain books.test");
    terminal.answer("Press one of them: ", "d");
    terminal.answer("Then press Ctrl-D. ", &format!("{good}\u{4}"));
    terminal.answer("Try this login now? [Y/n] ", "\r");
    terminal.answer("The password of operator: ", &format!("{PASSWORD}\r"));
    let said = terminal.end();
    assert!(said.contains("books.test of default: 1 cookie.") && said.contains("\nsigned in\r\n"), "{said}");
    assert!(!said.contains(&cookie), "{said}");
}

#[test]
fn a_standing_grant_signs_in_the_session_that_a_navigation_opens() {
    let admin = Admin::start();
    let standing = "    credentials:\n      standing:\n        - {actor: agent, hosts: [books.test]}\n";
    let home =
        Home::new(&format!("    egress:\n      hosts:\n        books.test: {}\n{standing}", admin.address));
    home.store_credential(&json!({
        "domain": "books.test", "origin": "http://books.test", "grant_scope": "standing",
        "cookies": [{"name": "sessionid", "value": admin.cookie(), "httpOnly": true}],
    }));
    let mut mcp = home.mcp();
    let went = mcp.ok("browser_navigate", json!({"url": "http://books.test/admin/"}));
    assert_eq!(went["final_url"], "http://books.test/admin/", "{went}");
    // Another site opens in a clean session, unless the hint names the login.
    let mut other = home.mcp();
    let hinted = json!({"url": "http://books.test/admin/", "domain_hint": "books.test"});
    assert_eq!(other.ok("browser_navigate", hinted)["final_url"], "http://books.test/admin/");
}

#[test]
fn an_operator_grants_and_starts_a_signed_in_session_at_the_command_line() {
    let admin = Admin::start();
    let home = books(&admin);
    let _server = home.serve(&[]);
    let (code, issued) = home.with_input(&["grant", "issue", "--host", "books.test"], "");
    assert_eq!(code, 0, "{issued}");
    let token = issued["token"].as_str().unwrap();
    let start = ["session", "start", "mine", "--signed-in"];
    let (code, started) = home.with_input(&start, &format!("{token}\n"));
    assert_eq!((code, &started["signed_in_to"]), (0, &json!(["books.test"])), "{started}");
    let (code, went) = home.json(&["page", "goto", "mine", "http://books.test/admin/"]);
    assert_eq!((code, &went["final_url"]), (0, &json!("http://books.test/admin/")), "{went}");
    let (code, again) = home.with_input(&["session", "start", "--signed-in"], &format!("{token}\n"));
    assert_eq!((code, &again["error"]["code"]), (1, &json!("grant_consumed")), "{again}");
    let log = home.audit_log();
    for event in ["grant_issued", "grant_used", "credential_injected", "grant_refused"] {
        assert!(log.contains(event), "{event} is not on record");
    }
    assert!(!log.contains(token), "the token is on record");
}
