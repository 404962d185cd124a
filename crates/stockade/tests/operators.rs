//! Operators against the real server: how they log in, who cannot, and what each route refuses.

use crate::common;

use common::login::{PASSWORD, cookie_of, form, request, request_with, status_and_code};
use common::machine::PATIENCE;
use common::terminal::RunningProgram;
use common::{Home, PROGRAM, known};
use server::http::{OPERATOR_ROUTES, OperatorRouteAccess};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_agents_key_gets_403_on_every_operator_route() {
    let home = Home::new("");
    let server = home.serve(&[]);
    home.set_password();
    assert!(OPERATOR_ROUTES.len() > 10, "the table was read");
    let cookie = home.log_in(&server);
    for route in OPERATOR_ROUTES {
        let path = route.path.replace("{id}", "ap-aaaaaaaaaaaaaaaa");
        // With everything else that an operator has, so that only the key causes the refusal.
        for extra in [String::new(), format!("cookie: {cookie}\r\norigin: http://{}\r\n", server.address())] {
            let headers = format!("authorization: Bearer {}\r\n{extra}", server.key());
            let answer = request(&server, route.method, &path, &headers, "");
            assert_eq!(status_and_code(&answer), (403, "operator_only".into()), "{} {path}", route.method);
        }
    }
    // The table has every operator route: other addresses do not exist.
    for path in ["/operator", "/operator/", "/operator/approvals", "/console/x", "/operator/login/x"] {
        let (status, code) = status_and_code(&request(&server, "GET", path, "", ""));
        assert!(matches!(status, 404 | 405), "{path}: {status} {code}");
    }
}

#[test]
fn without_a_login_only_the_login_page_is_shown_and_nothing_is_decided() {
    let home = Home::new("");
    // With `--open` every caller is an agent, and none is an operator.
    let server = home.serve(&["--open"]);
    for route in OPERATOR_ROUTES {
        let path = route.path.replace("{id}", "ap-aaaaaaaaaaaaaaaa");
        let origin = format!("origin: http://{}\r\n", server.address());
        let answer = request(&server, route.method, &path, &origin, "form=x&verdict=approve");
        let (status, code) = status_and_code(&answer);
        match route.access {
            OperatorRouteAccess::Public => assert!(matches!(status, 200 | 401), "{path}: {status} {code}"),
            OperatorRouteAccess::Signature => {
                assert_eq!((status, code.as_str()), (404, "not_found"), "{path}")
            }
            _ => assert_eq!((status, code.as_str()), (401, "login_required"), "{path}"),
        }
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "referrer-policy: same-origin",
        ] {
            assert!(answer.contains(header), "{path} lacks {header}: {answer}");
        }
    }
    let page = request(&server, "GET", "/console", "accept: text/html\r\n", "");
    assert!(page.starts_with("HTTP/1.1 303") && page.contains("location: /console/login?next="), "{page}");
}

#[test]
fn a_cross_site_page_can_neither_log_in_nor_decide_nor_read() {
    let home = Home::new("");
    let server = home.serve(&[]);
    home.set_password();
    let cookie = home.log_in(&server);
    let us = format!("http://{}", server.address());
    let other_port = "http://127.0.0.1:1";
    let login = form(&[("operator", "operator"), ("password", PASSWORD)]);
    let good = form(&[("form", &home.form_of(&server, &cookie)), ("verdict", "approve")]);
    for (method, path, headers, body) in [
        ("POST", "/operator/login", format!("origin: {other_port}\r\n"), &login),
        ("POST", "/operator/login", String::new(), &login),
        (
            "POST",
            "/operator/approvals/ap-aaaaaaaaaaaaaaaa",
            format!("cookie: {cookie}\r\norigin: http://evil.test\r\n"),
            &good,
        ),
        (
            "POST",
            "/operator/approvals/ap-aaaaaaaaaaaaaaaa",
            format!("cookie: {cookie}\r\norigin: null\r\n"),
            &good,
        ),
        (
            "POST",
            "/operator/logout",
            format!("cookie: {cookie}\r\norigin: {us}\r\nsec-fetch-site: same-site\r\n"),
            &good,
        ),
        (
            "GET",
            "/operator/live",
            format!("cookie: {cookie}\r\nsec-fetch-site: same-site\r\nsec-fetch-mode: cors\r\n"),
            &good,
        ),
    ] {
        let answer = request(&server, method, path, &headers, body);
        assert_eq!(status_and_code(&answer), (403, "origin_refused".into()), "{method} {path} {headers}");
    }
    let bad_form = form(&[("form", "0000"), ("verdict", "approve")]);
    let own = format!("cookie: {cookie}\r\norigin: {us}\r\n");
    let answer = request(&server, "POST", "/operator/approvals/ap-aaaaaaaaaaaaaaaa", &own, &bad_form);
    assert_eq!(status_and_code(&answer), (403, "form_refused".into()));
    // With everything correct, only the request itself is missing.
    let own = format!("{own}accept: application/json\r\n");
    let answer = request(&server, "POST", "/operator/approvals/ap-aaaaaaaaaaaaaaaa", &own, &good);
    assert_eq!(status_and_code(&answer), (404, "unknown_approval".into()));
}

#[test]
fn the_login_cookie_is_http_only_same_site_and_ends_at_logout() {
    let home = Home::new("    server:\n      console_url: https://stockade.example.net\n");
    let server = home.serve(&[]);
    home.set_password();
    let login = form(&[("operator", "operator"), ("password", PASSWORD), ("next", "//evil.test/")]);
    let port = server.address().rsplit_once(':').unwrap().1.to_owned();
    let us = format!("origin: http://{}\r\n", server.address());
    let answer = request(&server, "POST", "/operator/login", &us, &login);
    let line =
        answer.lines().find(|line| line.starts_with("set-cookie: ")).unwrap_or_else(|| panic!("{answer}"));
    assert!(line.starts_with(&format!("set-cookie: stockade_operator_{port}=")), "{line}");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(answer.contains("location: /console\r\n"), "{answer}");
    let cookie = cookie_of(&answer);
    let leave = form(&[("form", &home.form_of(&server, &cookie))]);
    let own = format!("{us}cookie: {cookie}\r\n");
    assert!(request(&server, "GET", "/console", &own, "").starts_with("HTTP/1.1 200"));
    let left = request(&server, "POST", "/operator/logout", &own, &leave);
    assert!(left.contains(&format!("stockade_operator_{port}=; ")) && left.contains("Max-Age=0"), "{left}");
    assert_eq!(status_and_code(&request(&server, "GET", "/console", &own, "")).1, "login_required");

    // Through the operator's own proxy over https, so the cookie is bound to that address.
    let outside = "origin: https://stockade.example.net\r\n";
    let answer = request_with(&server, "stockade.example.net", "POST", "/operator/login", outside, &login);
    let line =
        answer.lines().find(|line| line.starts_with("set-cookie: ")).unwrap_or_else(|| panic!("{answer}"));
    assert!(
        line.starts_with("set-cookie: __Host-stockade_operator=") && line.ends_with("; Secure"),
        "{line}"
    );
    // Only the console is available at that address.
    for (host, path, headers) in [
        ("stockade.example.net", "/healthz", ""),
        ("stockade.example.net", "/mcp", ""),
        ("evil.test", "/console/login", ""),
    ] {
        let answer = request_with(&server, host, "GET", path, headers, "");
        assert_eq!(status_and_code(&answer), (403, "host_refused".into()), "{host} {path}");
    }
    let evil = "origin: https://evil.test\r\n";
    let answer = request_with(&server, "stockade.example.net", "POST", "/operator/login", evil, &login);
    assert_eq!(status_and_code(&answer).0, 403);
}

#[test]
fn a_wrong_password_is_slow_and_guessing_is_bounded() {
    const WRONG: &str = "not the password";
    const SLOW: Duration = Duration::from_millis(700);
    let home = Home::new("");
    let server = home.serve(&[]);
    home.set_password();
    let us = format!("origin: http://{}\r\n", server.address());
    let try_it = |name: &str, password: &str| {
        let begun = Instant::now();
        let body = form(&[("operator", name), ("password", password)]);
        let answer = request(&server, "POST", "/operator/login", &us, &body);
        (status_and_code(&answer), begun.elapsed(), answer)
    };
    let begun = Instant::now();
    let (mut refused, mut entered, mut throttled) = (0, 0, Vec::new());
    // Wrong passwords until the limit refuses, then the right one. A new attempt is possible every ten seconds, so on a
    // slow machine it may succeed; then wrong ones are tried again.
    let mut used_up = false;
    while throttled.len() < 3 {
        let (name, password) =
            if used_up { ("operator", PASSWORD) } else { (["operator", "nobody"][refused % 2], WRONG) };
        let ((status, code), took, answer) = try_it(name, password);
        match (status, code.as_str()) {
            (401, "login_failed") if !used_up => {
                assert!(took >= SLOW, "{took:?}");
                assert!(!answer.contains(WRONG), "{answer}");
                refused += 1;
                let allowed = 5 + begun.elapsed().as_secs() as usize / 10;
                assert!(refused <= allowed, "{refused} of {allowed}");
            }
            (429, "login_throttled") => {
                throttled.extend(used_up.then_some(took));
                used_up = true;
            }
            (303, "") if used_up => {
                entered += 1;
                used_up = false;
            }
            _ => panic!("{answer}"),
        }
    }
    assert!(refused >= 5, "{refused}");
    assert!(
        throttled.iter().any(|took| *took < SLOW),
        "even the right one waits, and costs nothing: {throttled:?}"
    );
    let as_page = format!("{us}accept: text/html\r\n");
    loop {
        let page = request(&server, "POST", "/operator/login", &as_page, "operator=operator");
        assert!(page.contains("<form"), "{page}");
        if status_and_code(&page).0 == 429 {
            break;
        }
        assert_eq!(status_and_code(&page).0, 401, "{page}");
        refused += 1;
    }
    // The owner of the state folder has a limit of their own.
    let (code, listed) = home.as_operator(&["approvals"]);
    assert_eq!((code, listed["approvals"].as_array().map(Vec::len)), (0, Some(0)), "{listed}");
    let log = home.audit_log();
    assert_eq!(log.matches("\"operator_refused\"").count(), refused);
    assert_eq!(log.matches("\"operator_entered\"").count(), entered + 1);
    for secret in [WRONG, PASSWORD, "argon2"] {
        assert!(!log.contains(secret), "{secret}");
    }
}

/// Runs a command on a pseudo-terminal; returns its output.
fn on_a_terminal(home: &Home, arguments: &[&str]) -> String {
    let mut line = format!(
        "{PROGRAM} {} --config {} --state {}",
        arguments.join(" "),
        home.config.display(),
        home.state().display()
    );
    line.push_str(" --no-color");
    let done = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("STOCKADE_TEMPLATES", common::templates())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn link_in(shown: &str) -> (String, String) {
    let line =
        shown.lines().find(|line| line.contains("/console/link#")).unwrap_or_else(|| panic!("{shown}"));
    let url = line.split_whitespace().find(|word| word.contains("/console/link#")).unwrap();
    let (page, token) = url.split_once('#').unwrap();
    (page.to_owned(), token.to_owned())
}

#[test]
fn a_link_is_shown_to_a_terminal_only_works_once_and_needs_the_password_once_there_is_one() {
    let home = Home::new("");
    let server = home.serve(&[]);
    assert_eq!(known(home.json(&["operator", "link"]).1["error"].clone())["code"], "terminal_required");
    assert!(server.banner["console"].as_str().unwrap().ends_with("/console"));
    assert!(!server.banner.to_string().contains("link#"), "{}", server.banner);
    let (page, token) = link_in(&on_a_terminal(&home, &["operator", "link"]));
    assert_eq!(page, format!("http://{}/console/link", server.address()), "the running server's address");
    let us = format!("origin: http://{}\r\n", server.address());
    let body = form(&[("link", &token)]);
    let first = request(&server, "POST", "/operator/link", &us, &body);
    assert!(first.starts_with("HTTP/1.1 303") && first.contains("set-cookie: stockade_operator_"), "{first}");
    let again = request(&server, "POST", "/operator/link", &us, &body);
    assert_eq!(status_and_code(&again), (401, "link_spent".into()));
    assert!(!again.contains("set-cookie"), "{again}");
    let asked = request(&server, "GET", "/console", &format!("cookie: {}\r\n", cookie_of(&first)), "");
    assert!(asked.starts_with("HTTP/1.1 200"), "{asked}");

    home.set_password();
    let asked = request(&server, "GET", "/console", &format!("cookie: {}\r\n", cookie_of(&first)), "");
    assert_eq!(status_and_code(&asked).1, "login_required", "a new password ends what came before");
    for (lines, code) in [("wrong wrong wrong\n", "login_failed"), ("", "login_failed")] {
        let (status, reply) = home.with_input(&["operator", "add", "mallory", "--password-stdin"], lines);
        assert_eq!((status, known(reply["error"].clone())["code"].as_str().unwrap()), (1, code), "{reply}");
    }
    assert!(!home.audit_log().contains(&token));
}

#[test]
fn a_start_shows_a_link_to_a_terminal_until_there_is_a_password() {
    let home = Home::new("");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--no-color"];
    let whole = |shown: RunningProgram| {
        shown.until("Stop with Ctrl-C.");
        shown.stop()
    };
    let first = whole(RunningProgram::on_a_terminal(&home, &serve));
    let (_, token) = link_in(&first);
    assert_eq!(token.len(), 43, "{first}");
    home.set_password();
    let second = whole(RunningProgram::on_a_terminal(&home, &serve));
    assert!(second.contains("Stockade is serving") && !second.contains("link#"), "{second}");
    // Into a pipe it prints only how to get a link.
    let other = Home::new("");
    let said = whole(RunningProgram::on_a_pipe(other.command(&serve)));
    assert!(said.contains("stockade operator link") && !said.contains("link#"), "{said}");
}

#[test]
fn changing_operators_or_passwords_needs_the_current_password() {
    let home = Home::new("");
    let run = |arguments: &[&str], lines: &str| {
        let (status, reply) = home.with_input(arguments, lines);
        let code = reply["error"]["code"].as_str().unwrap_or("").to_owned();
        if !code.is_empty() {
            known(reply["error"].clone());
        }
        (status, code, reply)
    };
    let password = ["operator", "password", "--password-stdin"];
    assert_eq!(run(&password, "short\n").1, "bad_password");
    assert_eq!(
        run(&["operator", "password", "nobody", "--password-stdin"], "long enough it is\n").1,
        "unknown_operator"
    );
    assert_eq!(run(&password, &format!("{PASSWORD}\n")).0, 0);
    assert_eq!(run(&password, "a new password\n").1, "login_failed", "the old one comes first");
    assert_eq!(run(&password, &format!("{PASSWORD}\nanother password\n")).0, 0);
    let allowed = "another password\n";
    assert_eq!(run(&["operator", "add", "ada", "--password-stdin"], allowed).0, 0);
    assert_eq!(run(&["operator", "add", "ada", "--password-stdin"], allowed).1, "operator_exists");
    assert_eq!(run(&["operator", "add", "Ada Lovelace", "--password-stdin"], allowed).1, "usage");
    let (_, _, listed) = run(&["operator", "list"], "");
    assert_eq!(listed["operators"].as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains("argon2"), "{listed}");
    assert_eq!(
        run(&["operator", "remove", "ada", "--password-stdin"], "wrong wrong wrong\n").1,
        "login_failed"
    );
    // An operator without a password cannot set one alone.
    let first = ["operator", "password", "ada", "--password-stdin"];
    let begun = Instant::now();
    assert_eq!(run(&first, "a first password\na first password\n").1, "login_failed");
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert_eq!(run(&first, "another password\na first password\n").0, 0);
    assert_eq!(home.audit_log().matches("\"operator_refused\"").count(), 3);
    assert_eq!(run(&["operator", "remove", "ada", "--password-stdin"], allowed).0, 0);
    assert_eq!(run(&["operator", "remove", "operator", "--password-stdin"], allowed).1, "last_operator");
    assert_eq!(run(&["operator", "password"], "").1, "terminal_required", "no terminal, no lines");
    let log = home.audit_log();
    assert!(log.matches("\"operator_changed\"").count() >= 4, "{log}");
    // A first start after all that still makes the agent's key.
    let server = home.serve(&[]);
    assert!(server.key().starts_with("sk_stockade_"));
    assert_eq!(run(&["approvals"], "").1, "terminal_required");
    assert_eq!(run(&["approvals", "--password-stdin"], "wrong wrong wrong\n").1, "login_failed");
    assert_eq!(run(&["approve", "ap-x", "--password-stdin"], allowed).1, "unknown_approval");
}

#[test]
fn open_consoles_get_events_up_to_a_limit() {
    let home = Home::new("");
    let server = home.serve(&[]);
    home.set_password();
    let cookie = home.log_in(&server);
    let open = || {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let host = server.address();
        write!(stream, "GET /operator/events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n").unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (String::from_utf8_lossy(&head[9..]).into_owned(), stream)
    };
    let mut streams: Vec<TcpStream> = Vec::new();
    for number in 0..32 {
        let (status, stream) = open();
        assert_eq!(status, "200", "stream {number}");
        streams.push(stream);
    }
    let answer = request(&server, "GET", "/operator/events", &format!("cookie: {cookie}\r\n"), "");
    assert_eq!(status_and_code(&answer), (503, "too_many_streams".into()));
    drop(streams);
    common::machine::until("a place is free again", PATIENCE, || (open().0 == "200").then_some(()));
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn no_file_environment_or_argument_holds_an_operator_credential() {
    let home = Home::new("");
    let server = home.serve(&["-vv"]);
    let (_, link) = link_in(&on_a_terminal(&home, &["operator", "link"]));
    home.set_password();
    let cookie = home.log_in(&server);
    let form = home.form_of(&server, &cookie);
    assert_eq!(home.as_operator(&["approvals"]).0, 0);
    let (_, token) = cookie.split_once('=').unwrap();
    let mut all = Vec::new();
    files(home.folder.path(), &mut all);
    assert!(all.iter().any(|path| path.ends_with("stockade.db")), "{all:?}");
    for process in common::machine::family(server.child.id()) {
        all.push(format!("/proc/{}/environ", process.pid).into());
        all.push(format!("/proc/{}/cmdline", process.pid).into());
    }
    for path in all {
        // A socket cannot be read, and a process may have ended.
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for secret in [PASSWORD, token, &link, &form] {
            assert!(!text.contains(secret), "{} holds {secret}", path.display());
        }
    }
}

/// `docker exec` and `nsenter` start programs like this. The kernel then reports no terminal session.
#[test]
fn a_server_and_a_command_whose_terminal_session_is_outside_their_pid_namespace_work() {
    let home = Home::new("");
    home.set_password();
    let plain = home.command(&[]);
    let words: Vec<_> = std::iter::once(plain.get_program()).chain(plain.get_args()).collect();
    let program = words.join(std::ffi::OsStr::new(" "));
    let line = format!(
        "STOCKADE serve --listen 127.0.0.1:0 >/dev/null 2>&1 & \
         until echo '{PASSWORD}' | STOCKADE approvals --password-stdin; do sleep 0.2; done; STOCKADE operator logout"
    );
    let mut command = std::process::Command::new("timeout");
    command.args(["60", "unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    if common::machine::uid() != 0 {
        command.arg("--map-root-user");
    }
    command.args(["sh", "-c", &line.replace("STOCKADE", program.to_str().unwrap())]);
    command.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let done = command.output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && shown.contains("had no login in this terminal"), "{done:?}");
}
