//! Grants and credentials as operators handle them: command line, HTTP routes, backends.

use crate::common;
#[path = "../../vault/tests/common/mod.rs"]
mod vaults;

use common::login::{form, request, status_and_code};
use common::terminal::Terminal;
use common::{Home, known};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use vault::{Credential, Database, MasterKeySource, Store};
use vaults::CANARY;

/// The code of a call that must fail.
fn code((status, reply): (i32, Value)) -> String {
    assert_eq!(status, 1, "{reply}");
    known(reply["error"].clone())["code"].as_str().unwrap().to_owned()
}

fn good((status, reply): (i32, Value)) -> Value {
    assert_eq!(status, 0, "{reply}");
    reply
}

/// Every file of a state folder, to search for values that must not be there.
fn everything(folder: &Path) -> Vec<u8> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else if path.is_file() {
            found.extend(std::fs::read(path).unwrap());
        }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

fn document(domain: &str) -> String {
    json!({"domain": domain, "cookies": [{"name": "sid", "value": CANARY}]}).to_string()
}

#[test]
fn a_grant_is_issued_listed_and_revoked_and_its_token_is_shown_once() {
    let home = Home::new("");
    for (domain, tenant) in [
        ("github.com", "default"),
        ("www.example.org", "default"),
        ("a.test", "default"),
        ("a.test", "team"),
        ("b.test", "team"),
    ] {
        good(home.with_input(&["credential", "put", "--tenant", tenant], &document(domain)));
    }
    let issued = good(home.json(&[
        "grant",
        "issue",
        "--host",
        "github.com",
        "--host",
        "site:example.org",
        "--for",
        "5m",
    ]));
    let token = issued["token"].as_str().unwrap();
    assert!(token.starts_with("gr_stockade_") && token.len() == 55, "{token}");
    let grant = &issued["grant"];
    assert_eq!(
        (&grant["hosts"], &grant["state"], &grant["operator"], &grant["single_use"]),
        (&json!(["github.com", "site:example.org"]), &json!("unused"), &json!("operator"), &json!(true))
    );
    let often = good(home.json(&["grant", "issue", "--host", "a.test", "--many"]))["grant"].clone();
    good(home.json(&["grant", "issue", "--host", "b.test", "--tenant", "team"]));

    let listed = good(home.json(&["grant", "list"]));
    let jtis: Vec<&Value> = listed["grants"].as_array().unwrap().iter().map(|one| &one["jti"]).collect();
    assert_eq!(jtis, [&often["jti"], &grant["jti"]], "newest first, and no other tenant's");
    let shown = home.command(&["grant", "list", "--no-color"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("14m 5") && shown.contains("unused") && shown.contains("github.com"), "{shown}");

    let start = &grant["jti"].as_str().unwrap()[..8];
    let revoked = good(home.json(&["grant", "revoke", start]));
    assert_eq!(
        (&revoked["revoked"]["jti"], &revoked["revoked"]["state"]),
        (&grant["jti"], &json!("revoked"))
    );
    assert_eq!(code(home.json(&["grant", "revoke", start, "--tenant", "team"])), "unknown_grant");
    assert_eq!(code(home.json(&["grant", "issue", "--host", "a.test", "--for", "25h"])), "bad_grant");
    assert_eq!(
        code(home.json(&["grant", "issue", "--host", "a.test", "--as", "nobody"])),
        "unknown_operator"
    );
    let (status, reply) = home.json(&["grant", "issue", "--host", "*.a.test"]);
    assert_eq!((status, reply["error"]["code"].as_str().unwrap()), (2, "usage"));

    let seconds = |reply: &Value| {
        let time = |key: &str| reply["grant"][key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        time("expires_at").duration_since(time("issued_at")).as_secs()
    };
    good(home.json(&["grant", "lifetime", "90s", "--tenant", "team"]));
    assert_eq!(seconds(&good(home.json(&["grant", "issue", "--host", "a.test", "--tenant", "team"]))), 90);
    let set = ["grant", "issue", "--host", "a.test", "--set", "credentials.grant_lifetime=7"];
    assert_eq!(seconds(&good(home.json(&set))), 7);

    // A script gets the token alone.
    let done = home.command(&["grant", "issue", "--host", "a.test"]).output().unwrap();
    let (token_line, beside) =
        (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert!(token_line.starts_with("gr_stockade_") && token_line.lines().count() == 1, "{token_line}");
    assert!(beside.contains("credential_mode") && !beside.contains("gr_stockade_"), "{beside}");

    let log = home.audit_log();
    for kind in ["grant_issued", "grant_revoked", "grant_lifetime_set"] {
        assert!(log.contains(kind), "{kind}");
    }
    assert!(log.contains(grant["jti"].as_str().unwrap()));
    let kept = everything(&home.state());
    assert!(kept.len() > 10_000 && !holds(&kept, token) && !holds(&kept, token_line.trim()));
}

#[test]
fn a_grant_has_the_access_that_was_asked_for_and_write_if_none_was() {
    let home = Home::new("");
    good(home.with_input(&["credential", "put"], &document("a.test")));
    for (flags, access) in
        [(&[][..], "write"), (&["--access", "read"], "read"), (&["--access", "full"], "full")]
    {
        let issue = [&["grant", "issue", "--host", "a.test"], flags].concat();
        assert_eq!(good(home.json(&issue))["grant"]["access"], access, "{flags:?}");
        let listed = good(home.json(&["grant", "list"]));
        assert_eq!(listed["grants"][0]["access"], access, "{listed}");
    }
    let (status, reply) = home.json(&["grant", "issue", "--host", "a.test", "--access", "all"]);
    assert_eq!((status, &reply["error"]["code"]), (2, &json!("usage")), "{reply}");
    let shown = home.command(&["grant", "list", "--no-color"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("ACCESS") && shown.contains("full"), "{shown}");
    assert!(home.audit_log().contains("access read"), "what was granted is on record");

    // The same through the console.
    home.set_password();
    let server = home.serve(&[]);
    let cookie = home.log_in(&server);
    let own = format!("cookie: {cookie}\r\norigin: http://{}\r\n", server.address());
    let token = home.form_of(&server, &cookie);
    let issue = |access: &str| {
        let body = form(&[("form", &token), ("hosts", "a.test"), ("access", access)]);
        request(&server, "POST", "/operator/grants", &own, &body)
    };
    assert!(issue("read").contains(r#""access":"read""#));
    assert!(issue("").contains(r#""access":"write""#));
    assert_eq!(status_and_code(&issue("all")), (400, "bad_arguments".into()));
}

#[test]
fn a_login_that_is_not_intercepted_says_so_and_cannot_be_sealed() {
    let home = Home::new("");
    let text = |rest: Value| {
        let mut text = json!({"domain": "a.test", "cookies": [{"name": "sid", "value": CANARY}]});
        text.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        text.to_string()
    };
    for rest in [json!({"intercept": false}), json!({"intercept": false, "sealed": true})] {
        let (status, reply) = home.with_input(&["credential", "put"], &text(rest));
        assert_eq!(status, 1, "{reply}");
        let error = &reply["error"];
        common::known(error.clone());
        assert!(error["message"].as_str().unwrap().contains("needs interception"), "{reply}");
    }
    let open = json!({"intercept": false, "sealed": false});
    good(home.with_input(&["credential", "put"], &text(open)));
    let shown = good(home.json(&["credential", "show", "a.test"]));
    assert_eq!(shown["credential"]["intercept"], false, "{shown}");
    let shown = home.command(&["credential", "show", "a.test", "--no-color"]).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("Not intercepted:"));
    let (_, doctor) = home.json(&["doctor"]);
    let checks = doctor["checks"].as_array().or_else(|| doctor["data"]["checks"].as_array()).unwrap();
    let logins = checks.iter().find(|check| check["name"] == "logins").unwrap();
    assert_eq!(logins["verdict"], "hint", "{logins}");
    assert!(logins["found"].as_str().unwrap().contains("decided in the browser"), "{logins}");
}

/// The vault of a home, as the control plane opens it.
fn store(home: &Home) -> Store {
    let database = Database::sqlite(&home.state().join("vault.db")).unwrap();
    Store::new(database, MasterKeySource::File(home.state().join("master.key")))
}

fn rotate_cookies(home: &Home, of: &str) {
    let text = json!({"domain": "shop.test", "cookies": [{"name": "sid", "value": format!("new-{CANARY}")}]});
    let cookies = Credential::from_json(text.to_string().as_bytes()).unwrap().cookies;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (whose, of, domain) = (vaults::tenant("default"), vaults::id(of), vaults::host("shop.test"));
        store(home).keep_rotated(&whose, &of, &domain, cookies, jiff::Timestamp::now()).await.unwrap();
    });
}

#[test]
fn a_one_time_code_is_shown_to_an_operator_and_is_on_record_without_it() {
    let home = Home::new("");
    let seed = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
    let text = json!({"domain": "shop.test", "cookies": [{"name": "sid", "value": CANARY}], "totp": seed});
    good(home.with_input(&["credential", "put"], &text.to_string()));
    home.set_password();
    let reply = good(home.as_operator(&["credential", "code", "shop.test"]));
    let shown_code = reply["code"].as_str().unwrap();
    assert!(shown_code.len() == 6 && shown_code.bytes().all(|b| b.is_ascii_digit()), "{reply}");
    assert!((1..=30).contains(&reply["seconds_left"].as_u64().unwrap()), "{reply}");
    // The current code, or the one before.
    let now = jiff::Timestamp::now();
    let credential = Credential::from_json(text.to_string().as_bytes()).unwrap();
    let totp = credential.totp.unwrap();
    let codes = [now, now - std::time::Duration::from_secs(30)].map(|at| totp.code_at(at));
    assert!(codes.iter().any(|known| known.expose_secret() == shown_code), "{reply}");
    assert_eq!(home.audit_log().matches("\"credential_code_told\"").count(), 1);
    assert!(!holds(&everything(&home.state()), seed));
}

#[test]
fn once_an_operator_has_a_password_issuing_and_accepting_take_it() {
    let home = Home::new("");
    good(home.with_input(&["credential", "put"], &document("shop.test")));
    home.set_password();
    let issue = ["grant", "issue", "--host", "shop.test", "--password-stdin"];
    for wrong in ["", "not the password\n"] {
        assert_eq!(code(home.with_input(&issue, wrong)), "login_failed");
        let accept = ["credential", "accept", "shop.test", "--password-stdin"];
        assert_eq!(code(home.with_input(&accept, wrong)), "login_failed");
        let lifetime = ["grant", "lifetime", "1h", "--password-stdin"];
        assert_eq!(code(home.with_input(&lifetime, wrong)), "login_failed");
    }
    // Without a terminal the password cannot be asked for.
    assert_eq!(code(home.with_input(&["grant", "issue", "--host", "shop.test"], "")), "terminal_required");
    assert_eq!(good(home.json(&["grant", "list"]))["grants"], json!([]));
    let issued = good(home.as_operator(&["grant", "issue", "--host", "shop.test"]));
    good(home.json(&["grant", "revoke", issued["grant"]["jti"].as_str().unwrap()]));

    let accept = ["credential", "accept", "shop.test"];
    assert_eq!(code(home.as_operator(&accept)), "nothing_rotated");
    rotate_cookies(&home, "shop.test");
    let shown = good(home.json(&["credential", "show", "shop.test"]))["credential"].clone();
    assert_eq!((&shown["rotated"]["cookies"], &shown["backend"]), (&json!(["sid"]), &json!("store")));
    let reply = home.command(&["credential", "show", "shop.test"]).output().unwrap();
    assert!(String::from_utf8(reply.stdout).unwrap().contains("stockade credential accept shop.test"));
    let wrong = ["credential", "accept", "shop.test", "--password-stdin"];
    assert_eq!(code(home.with_input(&wrong, "wrong wrong wrong\n")), "login_failed");
    assert_eq!(good(home.as_operator(&accept))["cookies"], json!(["sid"]));
    assert_eq!(good(home.json(&["credential", "show", "shop.test"]))["credential"]["rotated"], Value::Null);
    rotate_cookies(&home, "shop.test");
    good(home.json(&["credential", "reject", "shop.test"]));
    assert_eq!(code(home.json(&["credential", "reject", "shop.test"])), "nothing_rotated");
    good(home.json(&["credential", "rotate-key"]));
    let tell = ["credential", "code", "shop.test", "--password-stdin"];
    assert_eq!(code(home.with_input(&tell, "wrong wrong wrong\n")), "login_failed");
    assert_eq!(code(home.as_operator(&["credential", "code", "shop.test"])), "no_totp_seed");
    good(home.json(&["credential", "remove", "shop.test"]));
    let log = home.audit_log();
    for kind in ["stored", "accepted", "rejected", "removed"] {
        assert_eq!(log.matches(&format!("\"credential_{kind}\"")).count(), 1, "{kind}");
    }
    assert!(log.contains("master_key_rotated"));
    assert!(!holds(&everything(&home.state()), CANARY), "not even in the log");
}

#[test]
fn the_operators_routes_issue_list_and_revoke_and_show_no_secret_again() {
    let home = Home::new("");
    let server = home.serve(&[]);
    home.set_password();
    for domain in ["shop.test", "example.org", "a.test"] {
        good(home.with_input(&["credential", "put"], &document(domain)));
    }
    let cookie = home.log_in(&server);
    let headers = format!("cookie: {cookie}\r\norigin: http://{}\r\n", server.address());
    let form_token = home.form_of(&server, &cookie);
    let post = |path: &str, fields: &[(&str, &str)]| {
        let mut all = vec![("form", form_token.as_str())];
        all.extend(fields);
        request(&server, "POST", path, &headers, &form(&all))
    };
    let body = |answer: &str| -> Value {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1.trim())
            .unwrap_or_else(|_| panic!("{answer}"))
    };
    let issued = body(&post("/operator/grants", &[("hosts", "shop.test, site:example.org"), ("for", "2h")]));
    let token = issued["token"].as_str().unwrap();
    assert_eq!(issued["grant"]["hosts"], json!(["shop.test", "site:example.org"]));
    for (fields, wanted) in [
        (&[("hosts", "")][..], (400, "bad_grant")),
        (&[("hosts", "*")], (400, "bad_grant")),
        (&[("hosts", "a.test"), ("for", "48h")], (400, "bad_grant")),
        (&[("hosts", "a.test"), ("for", "soon")], (400, "bad_arguments")),
        (&[("hosts", "a.test"), ("many", "perhaps")], (400, "bad_arguments")),
        (&[("hosts", "a.test"), ("tenant", "No Name")], (400, "bad_arguments")),
    ] {
        let (status, code) = status_and_code(&post("/operator/grants", fields));
        assert_eq!((status, code.as_str()), wanted, "{fields:?}");
    }
    let get = |path: &str| request(&server, "GET", path, &headers, "");
    let (grants, credentials) = (get("/operator/grants"), get("/operator/credentials"));
    assert_eq!(body(&grants)["grants"].as_array().unwrap().len(), 1);
    assert_eq!(body(&get("/operator/grants?tenant=team"))["grants"], json!([]));
    assert_eq!(body(&credentials)["credentials"][2]["domain"], "shop.test");
    assert!(![&grants, &credentials].iter().any(|reply| reply.contains(token) || reply.contains(CANARY)));

    let jti = issued["grant"]["jti"].as_str().unwrap();
    let revoked = body(&post(&format!("/operator/grants/{}/revoke", &jti[..6]), &[]));
    assert_eq!((&revoked["revoked"]["jti"], &revoked["revoked"]["state"]), (&json!(jti), &json!("revoked")));
    let unknown = post("/operator/grants/ffffffff/revoke", &[]);
    assert_eq!(status_and_code(&unknown), (404, "unknown_grant".to_owned()));
    let log = home.audit_log();
    let line = log.lines().find(|line| line.contains("\"grant_issued\"")).unwrap();
    assert!(
        line.contains("\"decided_by\":\"operator\"") && line.contains(jti) && !log.contains(token),
        "{line}"
    );
}

#[test]
fn what_a_person_types_at_a_terminal_is_stored_and_not_shown() {
    let home = Home::new("");
    let mut cookie = Terminal::start(&home, "credential put --domain shop.test");
    cookie.answer("Press one of them: ", "c");
    cookie.answer("[https://shop.test]: ", "https://elsewhere.test\r");
    cookie.answer("[https://shop.test]: ", "\r");
    cookie.answer("Its name: ", "sid\r");
    cookie.answer("(not shown): ", &format!("{CANARY}\r"));
    cookie.answer("(y, n) ", "n");
    cookie.answer("Try this login now? [Y/n] ", "n");
    let mut basic = (cookie.end(), Terminal::start(&home, "credential put --no-test --id intranet"));
    basic.1.answer("Which host? ", "not a host\r");
    basic.1.answer("Which host? ", "intra.test\r");
    basic.1.answer("Press one of them: ", "b");
    basic.1.answer("[https://intra.test]: ", "http://intra.test:8080\r");
    basic.1.answer("User name: ", "ada\r");
    basic.1.answer("Password (not shown): ", &format!("{CANARY}\r"));
    let mut pasted = Terminal::start(&home, "credential put");
    pasted.answer("Which host? ", "paste.test\r");
    pasted.answer("Press one of them: ", "d");
    pasted.answer("Then press Ctrl-D. ", &format!("{}\u{4}", document("paste.test").replace(',', ",\n")));
    pasted.answer("Try this login now? [Y/n] ", "x\u{3}");
    let mut imported = Terminal::start(&home, "credential import --domain git.test");
    imported.answer("Then press Ctrl-D. ", &format!("git.test\tFALSE\t/\tTRUE\t0\tsid\t{CANARY}\n\u{4}"));
    imported.answer("Try this login now? [Y/n] ", "N");
    let mut given_up = Terminal::start(&home, "credential put --domain no.test");
    given_up.answer("Press one of them: ", "\u{3}");
    for (said, wanted) in [
        (basic.0.clone(), "Later: stockade credential test shop.test\r\n"),
        (basic.0, "shop.test of default: 1 cookie."),
        (basic.1.end(), "intranet of default: a user name and password."),
        (pasted.end(), "paste.test of default: 1 cookie."),
        (imported.end(), "git.test of default: 1 cookie."),
        (given_up.end(), "error[cancelled]"),
    ] {
        assert!(said.contains(wanted) && !said.contains(CANARY), "{said}");
    }
    let listed = good(home.json(&["credential", "list"]));
    let ids: Vec<&Value> = listed["credentials"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["git.test", "intranet", "paste.test", "shop.test"]);
    let origin = |id| good(home.json(&["credential", "show", id]))["credential"]["origin"].clone();
    assert_eq!(
        (origin("shop.test"), origin("intranet")),
        (json!("https://shop.test"), json!("http://intra.test:8080"))
    );
}

fn secret_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

/// A home whose credentials are in the backend of these settings.
fn home_with(settings: &str) -> Home {
    Home::new(&format!("    credentials:\n{settings}"))
}

fn ids(home: &Home) -> Vec<String> {
    let listed = good(home.json(&["credential", "list"]));
    let all = listed["credentials"].as_array().unwrap();
    all.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_settings_choose_a_vault_and_how_to_log_in() {
    let bao = vaults::bao::Bao::start();
    bao.put("browser/github.com", &vaults::full_document("github.com"));
    let folder = tempfile::tempdir().unwrap();
    let token = secret_file(folder.path(), "token", &bao.root_token);
    let vault = |more: &str| {
        home_with(&format!(
            "      vault_backend: vault\n      vault:\n        address: {}\n{more}",
            bao.address
        ))
    };
    let by_token = vault(&format!("        token_file: {}\n", token.display()));
    assert_eq!(ids(&by_token), ["github.com"]);
    let shown = good(by_token.json(&["credential", "show", "github.com"]))["credential"].clone();
    assert_eq!((&shown["backend"], &shown["domain"]), (&json!("vault"), &Value::Null));
    assert_eq!(code(by_token.json(&["credential", "show", "none.test"])), "unknown_credential");
    // With a read-only backend a credential is neither stored nor asked for.
    for arguments in [&["credential", "put"][..], &["credential", "import", "--domain", "a.test"]] {
        assert_eq!(code(by_token.with_input(arguments, "")), "credential_read_only");
    }
    assert_eq!(code(by_token.json(&["credential", "remove", "github.com"])), "credential_read_only");
    assert_eq!(code(by_token.json(&["credential", "accept", "github.com"])), "credential_read_only");

    bao.policy("reader", "path \"secrets/*\" { capabilities = [\"read\", \"list\"] }");
    bao.cli(&["auth", "enable", "approle"]);
    bao.cli(&["write", "auth/approle/role/stockade", "token_policies=reader"]);
    let role = bao.json(&["read", "auth/approle/role/stockade/role-id"])["data"]["role_id"].clone();
    let secret =
        bao.json(&["write", "-f", "auth/approle/role/stockade/secret-id"])["data"]["secret_id"].clone();
    let secret_id = secret_file(folder.path(), "secret-id", secret.as_str().unwrap());
    let approle = format!(
        "        auth: approle\n        role_id: {}\n        secret_id_file: {}\n",
        role.as_str().unwrap(),
        secret_id.display()
    );
    assert_eq!(ids(&vault(&approle)), ["github.com"]);
    // A wrapping token works once and belongs to the server, so a command does not use it.
    let held = bao.json(&["write", "-wrap-ttl=5m", "-f", "auth/approle/role/stockade/secret-id"]);
    secret_file(folder.path(), "secret-id", held["wrap_info"]["token"].as_str().unwrap());
    let wrapped = vault(&format!("{approle}        wrapped: true\n"));
    assert_eq!(code(wrapped.json(&["credential", "list"])), "credential_settings");
    let server = wrapped.serve(&[]);
    wrapped.set_password();
    let cookie = format!("cookie: {}\r\n", wrapped.log_in(&server));
    for _ in 0..2 {
        let reply = request(&server, "GET", "/operator/credentials", &cookie, "");
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("\"github.com\""), "{reply}");
    }
    drop(server);
    for needed in ["", "        auth: approle\n", "        auth: kubernetes\n"] {
        assert_eq!(code(vault(needed).json(&["credential", "list"])), "credential_settings", "{needed}");
    }

    // S1's own three lines suffice if the environment variables of vault tools provide the rest.
    let s1 = home_with(
        "      vault_backend: \"vault\"\n      vault_path: \"secrets/browser/\"\n      auto_inject: true\n",
    );
    assert_eq!(code(s1.json(&["credential", "list"])), "credential_settings");
    let by_variable = s1
        .command(&["credential", "list", "--json"])
        .env("VAULT_ADDR", &bao.address)
        .env("VAULT_TOKEN", &bao.root_token)
        .output()
        .unwrap();
    let reply = common::parse_reply(&by_variable);
    assert_eq!((&reply["backend"], &reply["credentials"][0]["id"]), (&json!("vault"), &json!("github.com")));
    // A server with clean sessions starts with these settings unchanged.
    s1.serve(&[]);
}

#[test]
fn the_settings_choose_sops_the_environment_and_a_database_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let keys = vaults::sops::Sops::new();
    keys.encrypt(&folder.path().join("github.com.json"), &vaults::full_document("github.com"), &[]);
    for place in ["vault_path", "sops"] {
        let path = folder.path().display();
        let (path, nested) = match place {
            "sops" => (String::new(), format!("        folder: {path}\n")),
            _ => (format!("      vault_path: {path}\n"), String::new()),
        };
        let home = home_with(&format!(
            "      vault_backend: sops\n{path}      sops:\n{nested}        age_key_file: {}\n",
            keys.folder.path().join("keys.txt").display()
        ));
        assert_eq!(ids(&home), ["github.com"], "{place}");
        assert!(!home.state().join("master.key").exists(), "nothing of ours is sealed");
    }
    let home = home_with("      vault_backend: sops\n");
    assert_eq!(code(home.json(&["credential", "list"])), "credential_settings");

    let home = home_with("      vault_backend: env\n");
    let mut command = home.command(&["credential", "list", "--json"]);
    let reply = command.env("STOCKADE_CREDENTIAL_GITHUB_COM", document("github.com")).output().unwrap();
    let reply = common::parse_reply(&reply);
    assert_eq!((&reply["backend"], &reply["credentials"][0]["id"]), (&json!("env"), &json!("github.com")));

    let postgres = vaults::postgres::Postgres::start();
    let url = secret_file(folder.path(), "url", &format!("{}\n", postgres.url));
    let store = |more: &str| {
        let file = format!("        database_url_file: {}\n", url.display());
        home_with(&format!("      store:\n{file}{more}"))
    };
    let home = store("");
    good(home.with_input(&["credential", "put"], &document("shop.test")));
    good(home.json(&["grant", "issue", "--host", "shop.test"]));
    assert!(!home.state().join("vault.db").exists());
    // Another machine with the same database, without the key.
    let other = store("");
    assert_eq!(good(other.json(&["grant", "list"]))["grants"].as_array().unwrap().len(), 1);
    assert_eq!(code(other.json(&["credential", "list"])), "master_key_missing");
    let key = home.state().join("master.key");
    let with_key = store(&format!("        key: file\n        key_file: {}\n", key.display()));
    assert_eq!(ids(&with_key), ["shop.test"]);
    assert_eq!(code(store("        key: env\n").json(&["credential", "list"])), "master_key_missing");
    let by_variable = home_with("      store:\n        key: env\n")
        .command(&["credential", "list", "--json"])
        .env("STOCKADE_DATABASE_URL", &postgres.url)
        .env("STOCKADE_MASTER_KEY", std::fs::read_to_string(&key).unwrap())
        .output()
        .unwrap();
    let reply = common::parse_reply(&by_variable);
    assert_eq!(reply["credentials"][0]["id"], "shop.test", "{reply}");
    std::fs::set_permissions(&url, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(code(home.json(&["grant", "list"])), "credential_settings");
}
