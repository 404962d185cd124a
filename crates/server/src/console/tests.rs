//! Cards of every kind, rendered: the texts that a person reads, in reading order.

use super::*;
use browser::RedactedPageText;
use engine::approvals::{
    Approval, ApprovalCard, ApprovalId, ApprovalKind, ApprovalScreenshot, ApprovalState, CardFact,
    DecisionChannel, EffectCard, EffectFieldCard, ElementCard,
};
use engine::storage::default_scope;
use jiff::{SignedDuration, Timestamp};
use policy::{Risk, SessionId};
use redact::Redacted;

fn page_text(text: &str) -> RedactedPageText {
    RedactedPageText::new(&Redacted::outside_sessions(text))
}

fn field(name: &str, value: &str) -> EffectFieldCard {
    EffectFieldCard {
        name: page_text(name),
        value: page_text(value),
        length: value.len() as u64,
        is_cut: false,
    }
}

fn effect(method: &'static str, address: &str, fields: Vec<EffectFieldCard>) -> EffectCard {
    EffectCard {
        method: method.into(),
        address: page_text(address),
        body: if fields.is_empty() { "none" } else { "form" }.into(),
        body_bytes: fields.iter().map(|field| field.length + 8).sum(),
        operations: Vec::new(),
        fields,
        omitted_fields: 0,
        digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
    }
}

fn element(role: &str, name: &str) -> ElementCard {
    ElementCard {
        role: page_text(role),
        name: page_text(name),
        text: page_text(name),
        origin: page_text("https://shop.test"),
        form_target: None,
        form_button: None,
        href: None,
    }
}

fn card(description: &'static str, risk: Risk, effect: Option<EffectCard>) -> ApprovalCard {
    ApprovalCard {
        tool: "browser_click".into(),
        action: "click".into(),
        risk,
        rule: "effect.destroy".into(),
        description: description.into(),
        because: vec![CardFact::new("path word", &"delete".into())],
        url: page_text("https://shop.test/account/addresses"),
        domain: "shop.test".into(),
        element: Some(element("button", "Delete")),
        input: None,
        mark: Some([900, 300, 90, 34]),
        irreversible: risk == Risk::Critical,
        for_session: match risk {
            Risk::Critical => Vec::new(),
            _ => vec![
                CardFact::new("method", &"POST".into()),
                CardFact::new("path", &"/account/addresses/*/delete".into()),
                CardFact::new("fields", &"csrf, id, reason".into()),
            ],
        },
        effect,
    }
}

fn approval(number: u8, kind: ApprovalKind, card: ApprovalCard) -> Approval {
    let now = Timestamp::now();
    Approval {
        id: ApprovalId::parse(&format!("ap-aaaaaaaaaaaaaa{number:02}")).unwrap(),
        kind,
        scope: default_scope().unwrap(),
        session: SessionId::parse("s-aaaaaaaaaaaa").unwrap(),
        session_name: None,
        card,
        asked_at: now,
        expires_at: now + SignedDuration::from_secs(30),
        state: ApprovalState::Waiting,
        decided_by: None,
        channel: None,
        decided_at: None,
        approved_for_session: false,
        note: None,
        outcome: None,
    }
}

fn rendered(approvals: &[Approval], picture: Option<&ApprovalScreenshot>) -> String {
    page(&ConsoleView {
        operator: "ada",
        form: VerdictForm { token: "token", channel: DecisionChannel::Console },
        approvals,
        picture: &|_| picture.cloned(),
        now: Timestamp::now(),
        update_path: "/operator/live",
        needs_password: false,
    })
    .into_string()
}

fn delete() -> ApprovalCard {
    let long =
        EffectFieldCard { length: 5_120, is_cut: true, ..field("reason", &"No longer there. ".repeat(20)) };
    let fields = vec![field("csrf", "[redacted]"), field("id", "3"), long, field("notify", "")];
    let held = effect("POST", "https://shop.test/account/addresses/3/delete?confirm=1", fields);
    card("deletes something", Risk::High, Some(EffectCard { omitted_fields: 2, ..held }))
}

/// Whether these texts are in it, in this order.
fn assert_order(html: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = html[at..].find(part).unwrap_or_else(|| panic!("{part:?} after byte {at} in {html}"));
        at += found + part.len();
    }
}

#[test]
fn a_held_request_comes_first_then_the_action_the_picture_and_the_buttons() {
    let picture = ApprovalScreenshot { bytes: bytes::Bytes::from_static(b"x"), mime: "image/png" };
    let html = rendered(&[approval(1, ApprovalKind::Effect, delete())], Some(&picture));
    assert_order(
        &html,
        &[
            "Waits to be sent",
            "Deletes something</h2>",
            "POST</b> to <b>shop.test</b>",
            "/account/addresses/3/delete?confirm=1",
            ">id</bdi>",
            ">3</bdi>",
            "cut; 5,120 bytes in all",
            ">notify</bdi>",
            "(empty)",
            "2 more fields are not listed.",
            "After: </b>click on",
            ">button</bdi>",
            ">Delete</bdi>",
            "/picture\" target=\"_blank\"",
            "value=\"deny\"",
            "value=\"approve\"",
            "requests to <b>shop.test</b> are sent without asking",
            ">/account/addresses/*/delete</bdi>",
        ],
    );
    assert!(!html.contains(" style=") && !html.contains(" onclick="), "the content policy refuses both");
}

#[test]
fn what_cannot_be_undone_or_has_no_fields_says_so() {
    let held = effect("DELETE", "http://shop.test:8080/account", Vec::new());
    let critical = ApprovalCard {
        action: "".into(),
        element: None,
        ..card("closes the account", Risk::Critical, Some(held))
    };
    let html = rendered(&[approval(1, ApprovalKind::Effect, critical)], None);
    assert_order(
        &html,
        &[
            "DELETE</b> to <b>http://shop.test:8080</b>",
            "No body.",
            "This cannot be undone.",
            "value=\"approve_irreversible\"",
            "Approve: send this DELETE to shop.test",
        ],
    );
    assert!(!html.contains("After: ") && !html.contains("approve_session"), "{html}");
    let unread = EffectCard {
        body: "binary".into(),
        body_bytes: 2048,
        ..effect("PUT", "https://shop.test/f", Vec::new())
    };
    let html = rendered(
        &[approval(1, ApprovalKind::Effect, card("changes something", Risk::Medium, Some(unread)))],
        None,
    );
    assert!(html.contains("Body: binary, 2,048 bytes. Its content cannot be shown."), "{html}");
}

#[test]
fn typed_text_is_on_the_card_and_history_lines_say_what_and_where() {
    let typing = ApprovalCard {
        action: "type 12 characters".into(),
        element: Some(element("textbox", "Message")),
        input: Some(page_text("See you at 8")),
        ..card("sends something", Risk::High, None)
    };
    let html = rendered(&[approval(1, ApprovalKind::Action, typing)], None);
    assert_order(
        &html,
        &["Type 12 characters into this <bdi", ">Message</bdi>", "Entered", ">See you at 8</bdi>"],
    );

    let decided = |number, kind, card| Approval {
        state: ApprovalState::Denied,
        decided_by: Some("ada".into()),
        channel: Some(DecisionChannel::Console),
        decided_at: Some(Timestamp::now()),
        ..approval(number, kind, card)
    };
    let past = [
        decided(1, ApprovalKind::Effect, delete()),
        decided(2, ApprovalKind::Action, card("deletes something", Risk::High, None)),
    ];
    let html = rendered(&past, None);
    assert_order(
        &html,
        &[
            "Deletes something<span class=\"where\">POST shop.test<bdi",
            "/account/addresses/3/delete?confirm=1",
            ", after click on",
            "Click ",
            ">Delete</bdi>",
            "on shop.test<bdi class=\"word\">/account/addresses</bdi>",
        ],
    );
}

#[test]
fn a_field_cannot_add_markup() {
    let hostile = "</td></tr></table><button>Approve</button>\u{202e}";
    let held = effect("POST", "https://shop.test/x", vec![field(hostile, hostile)]);
    let html = rendered(
        &[approval(1, ApprovalKind::Effect, card("changes something", Risk::Medium, Some(held)))],
        None,
    );
    assert!(!html.contains("<button>Approve") && !html.contains('\u{202e}'), "{html}");
    assert_eq!(html.matches("</table>").count(), 1);
}
