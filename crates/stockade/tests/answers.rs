//! Answers from the command line and by webhook, with a real agent waiting for them.

use crate::common;

use common::approval_fixture::ApprovalFixture;
use common::login::{PASSWORD, request, status_and_code};
use common::operator::Operator;
use common::terminal::RunningProgram;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::time::SystemTime;

#[test]
fn the_command_line_approves_and_denies_and_no_answer_is_a_denial() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let operator = Operator::of(&asking.home);
    let call = asking.click("Delete");
    let id = asking.waiting()["id"].clone();
    let (code, reply) = asking.home.as_operator(&["approve", id.as_str().unwrap()]);
    assert_eq!((code, &reply["approval"]["state"]), (0, &json!("approved")), "{reply}");
    assert_eq!(asking.outcome(call), Ok("http://account.test/files".into()));
    let (code, reply) = asking.home.as_operator(&["deny", id.as_str().unwrap()]);
    assert_eq!((code, &reply["error"]["code"]), (1, &json!("approval_decided")), "one answer counts");

    asking.again();
    let call = asking.click("Delete");
    let id = asking.waiting()["id"].clone();
    let deny = ["deny", id.as_str().unwrap(), "--note", "not this one"];
    assert_eq!(asking.home.as_operator(&deny).0, 0);
    let denied = asking.error_of(call);
    assert_eq!(denied["code"], "denied_by_operator");
    assert!(denied["message"].as_str().unwrap().ends_with("denied this action: not this one"), "{denied}");
    let decided = asking.decided(&id);
    assert_eq!((&decided["decided_by"], &decided["door"]), (&json!("operator"), &json!("command_line")));

    let call = asking.click("Delete account");
    let id = asking.waiting()["id"].clone();
    let (_, reply) = asking.home.as_operator(&["approve", id.as_str().unwrap()]);
    assert_eq!(reply["error"]["code"], "confirmation_required", "{reply}");
    operator.expires(&operator.next().id);
    assert_eq!(asking.outcome(call), Err("approval_timeout".into()));
    let (_, reply) = asking.home.as_operator(&["approve", id.as_str().unwrap(), "--irreversible"]);
    assert_eq!(reply["error"]["code"], "approval_expired", "{reply}");
}

#[test]
fn watch_shows_each_request_and_ignores_keys_pressed_before_it() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut terminal = RunningProgram::on_a_terminal(&asking.home, &["watch", "--no-color"]);
    terminal.until("The password of operator");
    terminal.press(&format!("{PASSWORD}\r"));
    terminal.until("Logged in as operator");
    // These keys are pressed before the question arrives. A terminal keeps keys in order: if one of them counted, the
    // question would be approved before the program reads the "d".
    terminal.press("aaa");
    let call = asking.click("Delete");
    terminal.until("HIGH RISK");
    terminal.press_until("d", "denied");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));

    let call = asking.click("Delete account");
    terminal.until("This cannot be undone.");
    terminal.press_until("a", "Press y to approve it");
    terminal.press_until("y", "approved");
    assert_eq!(asking.outcome(call), Ok("http://account.test/gone".into()));
    terminal.press("q");
    terminal.until("Logged out.");
    assert!(terminal.child.wait().unwrap().success());
    let shown = terminal.so_far();
    assert!(!shown.contains(PASSWORD), "{shown}");
    for line in shown.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{line}");
    }
}

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Computed independently of the program under test.
fn signature(direction: &str, time: &str, nonce: &str, body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("v1.{direction}.{time}.{nonce}.{body}").as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// A bot: takes one question, checks its signature.
fn take_question(listener: &TcpListener) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    let mut text = String::new();
    let mut buffer = [0; 8192];
    let body = loop {
        let count = stream.read(&mut buffer).unwrap();
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                break body.to_owned();
            }
        }
    };
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    let header = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .unwrap_or_else(|| panic!("{text}"))
    };
    let (time, nonce) = (header("x-stockade-timestamp"), header("x-stockade-nonce"));
    assert!(now().abs_diff(time.parse().unwrap()) < 30);
    assert_eq!(header("x-stockade-signature"), signature("ask", time, nonce, &body));
    assert!(!text.contains(SECRET));
    serde_json::from_str(&body).unwrap()
}

fn headers(direction: &str, time: u64, nonce: &str, body: &str) -> String {
    let signature = signature(direction, &time.to_string(), nonce, body);
    format!(
        "x-stockade-timestamp: {time}\r\nx-stockade-nonce: {nonce}\r\nx-stockade-signature: {signature}\r\n"
    )
}

#[test]
fn a_webhook_is_called_and_answers_once_and_only_signed_and_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    let mut secret =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file).unwrap();
    secret.write_all(SECRET.as_bytes()).unwrap();
    let mut asking = ApprovalFixture::start(&format!(
        "      approval_timeout: 300\n      webhook:\n        url: http://{}/hook\n        secret_file: {}\n",
        listener.local_addr().unwrap(),
        file.display()
    ));
    let answer = |asking: &ApprovalFixture, headers: &str, body: &str| {
        status_and_code(&request(&asking.server, "POST", "/operator/webhook", headers, body))
    };

    let call = asking.click("Delete");
    let question = take_question(&listener);
    assert_eq!(
        (&question["risk"], &question["tool"]),
        (&json!("high"), &json!("browser_click")),
        "{question}"
    );
    assert_eq!(question["page_says"]["element"]["name"], "Delete");
    assert!(question["page_says"].as_object().unwrap().contains_key("input"));
    let console = question["console"].as_str().unwrap();
    assert!(
        console.starts_with(&asking.console()) && console.ends_with(question["approval"].as_str().unwrap())
    );
    let body = json!({"approval": question["approval"], "verdict": "approve", "by": "ada"}).to_string();
    let changed = body.replace("approve\"", "deny\"");
    for (what, headers, body, code) in [
        ("unsigned", String::new(), &body, "webhook_refused"),
        ("our own direction", headers("ask", now(), "nonce-nonce-0001", &body), &body, "webhook_refused"),
        ("changed", headers("answer", now(), "nonce-nonce-0002", &body), &changed, "webhook_refused"),
        ("old", headers("answer", now() - 120, "nonce-nonce-0003", &body), &body, "webhook_refused"),
        (
            "of the future",
            headers("answer", now() + 120, "nonce-nonce-0004", &body),
            &body,
            "webhook_refused",
        ),
    ] {
        assert_eq!(answer(&asking, &headers, body), (401, code.into()), "{what}");
    }
    let key = format!("authorization: Bearer {}\r\n", asking.server.key());
    let good = headers("answer", now(), "nonce-nonce-0005", &body);
    assert_eq!(answer(&asking, &format!("{good}{key}"), &body), (403, "operator_only".into()));
    assert_eq!(answer(&asking, &good, &body).0, 200);
    assert_eq!(asking.outcome(call), Ok("http://account.test/files".into()));
    assert_eq!(answer(&asking, &good, &body), (401, "webhook_refused".into()), "sent again");
    let decided = asking.decided(&question["approval"]);
    assert_eq!((&decided["decided_by"], &decided["door"]), (&json!("ada"), &json!("webhook")));

    asking.again();
    let call = asking.click("Delete account");
    let question = take_question(&listener);
    let verdict = |verdict: &str| {
        json!({"approval": question["approval"], "verdict": verdict, "by": "ada"}).to_string()
    };
    for (nonce, word, expected) in [
        ("nonce-nonce-0006", "approve", (400, "confirmation_required")),
        ("nonce-nonce-0007", "maybe", (400, "bad_verdict")),
        ("nonce-nonce-0008", "deny", (200, "")),
    ] {
        let body = verdict(word);
        let reply = answer(&asking, &headers("answer", now(), nonce, &body), &body);
        assert_eq!(reply, (expected.0, expected.1.into()), "{word}");
    }
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));

    // The webhook is called, and no answer comes: that is a no.
    let call = asking.click("Delete");
    take_question(&listener);
    let operator = Operator::of(&asking.home);
    operator.expires(&operator.next().id);
    assert_eq!(asking.outcome(call), Err("approval_timeout".into()));
}

/// One line of a shell on a terminal, with the program by its path.
fn shell_on_a_terminal(home: &common::Home, line: &str) -> RunningProgram {
    let plain = home.command(&[]);
    let words: Vec<_> = std::iter::once(plain.get_program()).chain(plain.get_args()).collect();
    let program = words.join(std::ffi::OsStr::new(" "));
    let mut command = std::process::Command::new("script");
    command.arg("-qec").arg(line.replace("STOCKADE", program.to_str().unwrap())).arg("/dev/null");
    command.envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))));
    RunningProgram::on_a_pipe(command)
}

#[test]
fn listing_takes_the_password_once_for_a_terminal_session_and_answers_take_it_each_time() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let call = asking.click("Delete");
    let id = asking.waiting()["id"].as_str().unwrap().to_owned();
    let line = format!(
        "STOCKADE approvals; echo end-one; STOCKADE approvals; echo end-two; setsid -w STOCKADE approvals; echo end-three; \
         STOCKADE deny {id}; echo end-four; STOCKADE operator logout; STOCKADE approvals; echo end-five"
    );
    let mut terminal = shell_on_a_terminal(&asking.home, &line);
    let asked = |text: &str| text.matches("The password of operator").count();
    terminal.until("The password of operator");
    terminal.press(&format!("{PASSWORD}\r"));
    terminal.until("end-three");
    let shown = terminal.so_far();
    let (first, rest) = shown.split_once("end-one").unwrap();
    let (second, third) = rest.split_once("end-two").unwrap();
    assert!(first.contains(&id) && asked(first) == 1, "{first}");
    assert!(second.contains(&id) && asked(second) == 0, "the login is kept: {second}");
    assert!(third.contains("terminal_required") && !third.contains(&id), "another session has none: {third}");
    common::machine::until("the answer asks again", common::machine::PATIENCE, || {
        (asked(&terminal.so_far()) == 2).then_some(())
    });
    terminal.press(&format!("{PASSWORD}\r"));
    terminal.until("end-four");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
    common::machine::until("it is forgotten", common::machine::PATIENCE, || {
        (asked(&terminal.so_far()) == 3).then_some(())
    });
    assert!(terminal.so_far().contains("is forgotten"), "{}", terminal.so_far());
    terminal.press(&format!("{PASSWORD}\r"));
    terminal.until("end-five");
}

#[test]
fn a_paused_session_is_resumed_and_ended_from_the_command_line() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n      failures_before_pause: 3\n");
    for (verb, state) in [("resume", "resumed"), ("end", "ended")] {
        for _ in 0..3 {
            let missing = json!({"session_id": asking.session, "role": "button", "name": "Nowhere"});
            asking.mcp.call("browser_click", missing).unwrap_err();
        }
        let id = asking.waiting()["id"].as_str().unwrap().to_owned();
        let (_, reply) = asking.home.as_operator(&["approve", &id]);
        assert_eq!(reply["error"]["code"], "bad_verdict", "{reply}");
        let note: &[&str] = if verb == "resume" { &["--note", "Look in the menu."] } else { &[] };
        let (code, reply) = asking.home.as_operator(&[&[verb, &id], note].concat());
        assert_eq!((code, &reply["approval"]["state"]), (0, &json!(state)), "{reply}");
        if verb == "resume" {
            let went = asking.mcp.goto(&asking.session, "http://account.test/");
            assert!(went.to_string().contains("Look in the menu."), "{went}");
        }
    }
    let code = asking.mcp.code("browser_read", json!({"session_id": asking.session}));
    assert_eq!(code, "session_ended:operator");
}

#[test]
fn a_revoked_key_ends_its_agents_sessions_and_voids_its_question() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let call = asking.click("Delete");
    let question = asking.waiting();
    let (code, other) = asking.home.json(&["key", "make", "--actor", "other", "--label", "laptop"]);
    assert_eq!(code, 0, "{other}");
    let (_, reply) = asking.home.json(&["key", "revoke", other["made"]["id"].as_str().unwrap()]);
    assert_eq!(reply["ended_sessions"], json!([]), "another agent's sessions go on: {reply}");
    let (_, keys) = asking.home.json(&["key", "list"]);
    let own = keys["keys"].as_array().unwrap().iter().find(|key| key["actor"] == "agent").unwrap();
    let (code, reply) = asking.home.json(&["key", "revoke", own["id"].as_str().unwrap()]);
    assert_eq!((code, &reply["ended_sessions"]), (0, &json!([asking.session])), "{reply}");
    assert_eq!(asking.outcome(call), Err("session_ended:operator".into()));
    assert_eq!(asking.decided(&question["id"])["state"], "withdrawn");
    let (_, late) = asking.home.as_operator(&["approve", question["id"].as_str().unwrap()]);
    assert_eq!(late["error"]["code"], "approval_decided", "{late}");
    let log = asking.home.audit_log();
    assert!(log.matches("\"key_made\"").count() == 2 && log.contains("at the first start"), "{log}");
    assert!(log.matches("\"key_revoked\"").count() == 2 && log.contains("laptop"), "{log}");
}

#[test]
fn a_secret_that_others_can_read_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, SECRET).unwrap();
    std::os::unix::fs::chown(&file, None, None).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let home = common::Home::new(&format!(
        "    hitl:\n      webhook:\n        url: http://127.0.0.1:9/\n        secret_file: {}\n",
        file.display()
    ));
    let (code, reply) = home.json(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, &reply["error"]["code"]), (1, &json!("webhook_secret")), "{reply}");
    assert!(!reply.to_string().contains(SECRET));
    let half = common::Home::new("    hitl:\n      webhook:\n        url: http://127.0.0.1:9/\n");
    let (code, reply) = half.json(&["config", "check"]);
    assert_eq!((code, &reply["problems"][0]["code"]), (1, &json!("config_value")), "{reply}");
}
