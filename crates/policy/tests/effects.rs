//! Requests that leave a page, in many languages, each with its class.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use policy::{
    Action, AnswerDialog, Appearance, CausingAction, Check, Chord, Click, DialogFacts, Drag, Effect,
    EffectRequest, EffectTransport, ElementFacts, Facts, Origin, Policy, Press, Target, TypeText,
};
use std::sync::Arc;

/// The address, the body or the element that was acted on says that a request is consequential.
const CONSEQUENTIAL: &str = include_str!("effects_consequential.table");
/// Reads, and writes that ask nobody.
const ORDINARY: &str = include_str!("effects_ordinary.table");
/// Only the label says what the request does, in English.
const LABELS: &str = include_str!("effects_labels.table");
/// Only the label says what the request does, in other languages.
const LANGUAGES: &str = include_str!("effects_languages.table");
const TABLES: [(&str, usize); 4] = [(CONSEQUENTIAL, 700), (ORDINARY, 500), (LABELS, 150), (LANGUAGES, 350)];

pub(crate) fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

fn element(role: &str, tag: &str, name: &str, href: Option<String>) -> ElementFacts {
    ElementFacts {
        element: "e1".into(),
        role: role.into(),
        name: name.into(),
        text: if role == "textbox" { String::new() } else { name.into() },
        tag: tag.into(),
        origin: Origin::of("https://app.test/"),
        input_type: (role == "checkbox").then(|| "checkbox".into()),
        editable: role == "textbox",
        secret: false,
        href,
        form: None,
        matches: 1,
        appearance: Appearance::default(),
    }
}

fn cause(written: &str, url: &str) -> Option<CausingAction> {
    if written.is_empty() {
        return None;
    }
    let (verb, name) = written.split_once(' ').unwrap_or(("", written));
    let target = Target::Ref("e1".into());
    let (action, element, is_recent) = match verb {
        "link" => (Action::Click(Click::on(target)), element("link", "a", name, Some(url.to_owned())), true),
        "type" => {
            let typing = TypeText { target, text: "hello\n".into(), clear_first: false, submit: false };
            (Action::Type(typing), element("textbox", "div", name, None), true)
        }
        "enter" => {
            let press = Press { target, chord: Chord::parse("Enter").unwrap() };
            (Action::Press(press), element("textbox", "input", name, None), true)
        }
        "check" => {
            (Action::Check(Check { target, checked: true }), element("checkbox", "input", name, None), true)
        }
        "dialog" => return Some(answered_dialog(name)),
        "confirmed" | "declined" | "alerted" => return Some(dialog_after_click(verb, name)),
        "drag" => return Some(dropped_on(name)),
        // A click on a control without a name.
        "" if name == "icon" => {
            (Action::Click(Click::on(target)), element("button", "button", "", None), true)
        }
        "late" => (Action::Click(Click::on(target)), element("button", "button", name, None), false),
        _ => (Action::Click(Click::on(target)), element("button", "button", written, None), true),
    };
    let facts = Facts { page_url: "https://app.test/page".into(), target: Some(element), ..Facts::default() };
    Some(CausingAction { number: 1, action, facts, is_recent, opened_by: None })
}

/// A `confirm` dialog with these words was accepted.
fn answered_dialog(message: &str) -> CausingAction {
    let dialog = DialogFacts {
        kind: "confirm".into(),
        message: message.into(),
        origin: Origin::of("https://app.test/"),
    };
    let facts = Facts { page_url: "https://app.test/page".into(), dialog: Some(dialog), ..Facts::default() };
    let action = Action::Dialog(AnswerDialog { accept: true, text: None });
    CausingAction { number: 1, action, facts, is_recent: true, opened_by: None }
}

/// `LABEL / MESSAGE`: a click opened a dialog, which was then answered.
fn dialog_after_click(answer: &str, written: &str) -> CausingAction {
    let (label, message) = written.split_once(" / ").unwrap();
    let mut answered = answered_dialog(message);
    answered.action = Action::Dialog(AnswerDialog { accept: answer != "declined", text: None });
    if let Some(dialog) = answered.facts.dialog.as_mut().filter(|_| answer == "alerted") {
        dialog.kind = "alert".into();
    }
    answered.opened_by = cause(label, "https://app.test/page").map(Arc::new);
    answered
}

/// Something was dropped on the element of this name.
fn dropped_on(name: &str) -> CausingAction {
    let (from, to) = (Target::Ref("e1".into()), Target::Ref("e2".into()));
    let facts = Facts {
        page_url: "https://app.test/page".into(),
        target: Some(element("listitem", "li", "Card", None)),
        to: Some(element("region", "div", name, None)),
        ..Facts::default()
    };
    CausingAction {
        number: 1,
        action: Action::Drag(Drag { from, to }),
        facts,
        is_recent: true,
        opened_by: None,
    }
}

fn body(kind: &str, written: &str) -> (String, Vec<u8>) {
    let unescaped = written.replace("\\n", "\n").replace("\\u0000", "\0");
    match kind {
        "form" => ("application/x-www-form-urlencoded".into(), unescaped.into_bytes()),
        "json" => ("application/json".into(), unescaped.into_bytes()),
        "json-patch" => ("application/json-patch+json".into(), unescaped.into_bytes()),
        "text" => ("text/plain;charset=UTF-8".into(), unescaped.into_bytes()),
        "gql" => ("application/graphql".into(), unescaped.into_bytes()),
        "rpc" => ("application/grpc-web+proto".into(), vec![0, 0, 0, 0, 2, 8, 3]),
        "none" => (String::new(), Vec::new()),
        "" => (String::new(), unescaped.into_bytes()),
        "multi" => {
            let part = |part: &str| match part.strip_prefix('@') {
                Some(file) => format!(
                    "--b\r\nContent-Disposition: form-data; name=\"{file}\"; filename=\"a.png\"\r\n\r\nPNG\r\n"
                ),
                None => {
                    let (name, value) = part.split_once('=').unwrap();
                    format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                }
            };
            let parts: String = unescaped.split('&').map(part).collect();
            ("multipart/form-data; boundary=b".into(), format!("{parts}--b--\r\n").into_bytes())
        }
        other if other.contains("protobuf") || other.contains("octet") => {
            (other.into(), vec![0xff, 0, 0x80, 3, 0xfe])
        }
        other => (other.into(), unescaped.into_bytes()),
    }
}

/// The expected classes, the request and what was acted on before.
pub(crate) fn read(line: &str) -> (&str, EffectRequest, Option<CausingAction>) {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [class, kind, address, content, written, acted] = cells[..] else { panic!("six cells: {line}") };
    let (method, path) = address.split_once(' ').unwrap_or_else(|| panic!("{line}"));
    let url = if path.starts_with('/') { format!("https://app.test{path}") } else { path.to_owned() };
    let (content_type, body) = body(content, written);
    let request = EffectRequest {
        transport: if matches!(kind, "ws" | "websocket") {
            EffectTransport::WebSocket
        } else {
            EffectTransport::Http
        },
        method: method.into(),
        url: url.clone(),
        content_type,
        destination: if kind == "doc" { "document".into() } else { "empty".into() },
        body: body.into(),
    };
    (class, request, cause(acted, &url))
}

fn misjudged(table: &'static str) -> Vec<String> {
    let policy = Policy::default();
    let mut wrong = Vec::new();
    for line in lines(table) {
        let (expected, request, cause) = read(line);
        let (class, evidence) = policy.classify_effect(&Effect::decode(request), cause.as_ref());
        if !expected.split(',').any(|one| one == class.as_str()) {
            wrong.push(format!("{line}\n    is {}, by {evidence:?}", class.as_str()));
        }
    }
    wrong
}

#[test]
fn every_effect_of_the_tables_has_its_class() {
    for (table, least) in TABLES {
        let wrong = misjudged(table);
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines(table).count(), wrong.join("\n"));
        assert!(lines(table).count() >= least);
    }
}

/// What is not concerned is forwarded unseen, so it has to be harmless.
#[test]
fn what_does_not_concern_the_gate_is_harmless() {
    let policy = Policy::default();
    for line in TABLES.iter().flat_map(|(table, _)| lines(table)) {
        let (_, mut request, cause) = read(line);
        for method in [request.method.clone(), "GET".into(), "HEAD".into(), "POST".into()] {
            request.method = method;
            for cause in [cause.as_ref(), None] {
                if policy.concerns(&request.head(), cause) || request.transport == EffectTransport::WebSocket
                {
                    continue;
                }
                let (class, _) = policy.classify_effect(&Effect::decode(request.clone()), cause);
                assert_eq!(class.as_str(), "read", "{} {line}", request.method);
            }
        }
    }
}

/// The text that people type is not judged: swapping every value for an alarming one changes no ordinary request.
#[test]
fn typed_text_does_not_change_the_class() {
    let policy = Policy::default();
    let class = |text: &str| {
        let value = serde_json::json!({"title": text, "body": text, "items": [{"name": text}], "note": text});
        let request = EffectRequest {
            transport: EffectTransport::Http,
            method: "POST".into(),
            url: "https://app.test/api/tasks".into(),
            content_type: "application/json".into(),
            destination: "empty".into(),
            body: value.to_string().into_bytes().into(),
        };
        policy.classify_effect(&Effect::decode(request), None).0.as_str()
    };
    for text in [
        "Delete account",
        "pay 500 now",
        "send",
        "mutation { deleteAll }",
        "DELETE",
        "admin",
        "{\"action\":\"delete\"}",
    ] {
        assert_eq!(class(text), "write", "{text}");
    }
}

/// In `read` sessions a read passes unasked, so a POST has to be one for certain.
#[test]
fn only_certain_reads_by_post_are_reads() {
    let policy = Policy::default();
    let class = |path: &str| {
        let request = EffectRequest {
            transport: EffectTransport::Http,
            method: "POST".into(),
            url: format!("https://app.test{path}"),
            content_type: "application/json".into(),
            destination: "empty".into(),
            body: br#"{"product":"mug"}"#.to_vec().into(),
        };
        policy.classify_effect(&Effect::decode(request), None).0.as_str()
    };
    for path in [
        "/api/compare",
        "/tickets/4/resolve",
        "/api/poll",
        "/api/page",
        "/health/records",
        "/tasks/4/check",
        "/performance/goals",
        "/api/quote",
        "/convert",
        "/api/schema",
        "/segment/members-of-mine",
        "/chart",
        "/browse",
        "/shop.v1.CartService/Compare",
    ] {
        assert_ne!(class(path), "read", "{path}");
    }
    for path in
        ["/api/search", "/items/_count", "/api/autocomplete", "/markdown/preview", "/shop.v1.Items/ListItems"]
    {
        assert_eq!(class(path), "read", "{path}");
    }
}
