//! Tests of a session's secrets.

use super::*;
use policy::{Target, TypeText};

fn secret(text: String) -> Secret {
    Secret::new(text)
}

#[test]
fn issued_secrets_are_redacted_and_the_oldest_dropped_first() {
    let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
    assert!(secrets.add_issued([secret("handed-out-51be20".into())]));
    assert!(!secrets.add_issued([secret("handed-out-51be20".into()), secret("tiny".into())]));
    assert_eq!(secrets.redact("a injected-7f3a9c b handed-out-51be20 c"), "a [redacted] b [redacted] c");
    let many = (0..10).map(|n| secret(format!("{n}-{}", "q7".repeat(MAX_ISSUED_LENGTH / 2 - 4))));
    assert!(secrets.add_issued(many));
    assert_eq!(secrets.redact("injected-7f3a9c handed-out-51be20"), "[redacted] handed-out-51be20");
    let known = secrets.known().unwrap();
    assert!(known.issued.iter().map(|one| one.expose_secret().len()).sum::<usize>() <= MAX_ISSUED_BYTES);
}

fn typing(text: &str) -> Action {
    let (target, text) = (Target::Focused, text.to_owned());
    Action::Type(TypeText { target, text, clear_first: false, submit: false })
}

const SEALED: &str = "s:Kq7vXw2mZt9pLb4n.Yc6Rd8";

fn sealed() -> SessionSecrets {
    let secrets = SessionSecrets::knowing(&["injected-7f3a9c", SEALED]);
    secrets.seal([secret(SEALED.into())]);
    secrets
}

#[test]
fn a_sealed_secret_that_is_found_is_masked_and_noted_once() {
    let secrets = sealed();
    assert_eq!(secrets.redact("a injected-7f3a9c b"), "a [redacted] b");
    assert!(!secrets.take_found_sealed());
    assert_eq!(secrets.redact(&format!("a {SEALED} b")), "a [redacted] b");
    assert!(secrets.take_found_sealed() && !secrets.take_found_sealed());
    let halves = [&SEALED[..9], "", &SEALED[9..]];
    let masked = secrets.redact_neighbours(&halves);
    assert!(masked.len() == 2 && masked.iter().all(|(_, text)| text.contains(MASK)), "{masked:?}");
    assert!(secrets.take_found_sealed());
    let row = format!("1 {} 2 {} 3 {}", &SEALED[..9], &SEALED[9..15], &SEALED[15..]);
    assert_eq!(secrets.redact(&row), "1 [redacted] 2 [redacted] 3 [redacted]");
    assert!(secrets.take_found_sealed());
    // A part is any other text.
    assert_eq!(secrets.redact(&SEALED[..20]), SEALED[..20]);
    assert!(secrets.redact_neighbours(&halves[..2]).is_empty() && !secrets.take_found_sealed());
}

#[test]
fn what_the_agent_supplied_comes_back_the_same_whether_it_is_right_or_wrong() {
    let wrong = "s:Jq7vXw2mZt9pLb4n.Yc6Rd8";
    let supplies: [fn(&str) -> Vec<Action>; 3] = [
        |text| vec![typing(text)],
        |text| vec![typing(&text[..9]), Action::Reload, typing(&text[9..])],
        |text| text.chars().map(|c| typing(&c.to_string())).collect(),
    ];
    for supply in supplies {
        let replies = [SEALED, wrong].map(|text| {
            let secrets = sealed();
            let mut sent = String::new();
            for mut action in supply(text) {
                secrets.replace_guesses(&mut action);
                secrets.note_supplied(&action);
                sent.extend(action.sent_texts());
            }
            let shown = secrets.redact_reply(format!("you wrote {sent}")).into_string();
            let parts = secrets.redact_neighbours(&[&sent[..9], &sent[9..]]);
            let typed = (shown.replace(text, "it"), parts.len(), secrets.take_found_sealed());
            // A page that shows the value stays masked, whatever was guessed.
            let page = secrets.redact_reply(format!("yours is {SEALED}")).into_string();
            (typed, page, secrets.take_found_sealed())
        });
        assert_eq!(replies[0], replies[1]);
        assert!(replies[0].0.0.ends_with("it") && replies[0].1.ends_with(MASK) && replies[0].2);
    }
}

#[test]
fn a_document_in_which_a_sealed_secret_was_found_stays_withheld() {
    let secrets = sealed();
    let (one, other) = (Document { tab: 1, count: 1 }, Document { tab: 1, count: 2 });
    secrets.note_page(one);
    assert!(!secrets.is_page_withheld());
    secrets.redact(SEALED);
    secrets.note_page(one);
    assert!(secrets.take_found_sealed() && secrets.is_page_withheld());
    // An edit takes the value apart: nothing is found any more.
    secrets.redact(&SEALED[..20]);
    secrets.note_page(one);
    assert!(secrets.is_page_withheld() && !secrets.take_found_sealed());
    secrets.note_page(other);
    assert!(!secrets.is_page_withheld());
    secrets.note_page(one);
    assert!(secrets.is_page_withheld(), "back in the same document");
}

#[test]
fn values_of_digits_or_letters_alone_are_looked_for_and_phrases_are_not() {
    for (value, expected) in [
        ("482915027364", true),
        ("qwertyuiopasdfgh", true),
        ("correct horse battery staple", false),
        ("dark", false),
    ] {
        assert_eq!(is_looked_for(value), expected, "{value}");
    }
    let secrets = sealed();
    secrets.seal([secret("482915027364".into())]);
    assert_eq!(secrets.redact("no. 4829-1502-7364"), format!("no. {MASK}"));
    assert!(secrets.take_found_sealed());
}

#[test]
fn a_key_is_redacted_where_the_text_beside_it_says_what_it_is() {
    let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
    let key = "a81bc81b-dead-4e5d-abff-90865d1e13b1";
    assert_eq!(secrets.redact_neighbours(&["Feed token", key, "Orders"]), [(1, MASK.to_owned())]);
    assert!(secrets.redact_neighbours(&["Order", key]).is_empty());
}

#[test]
fn a_clean_session_redacts_nothing() {
    assert_eq!(SessionSecrets::default().redact("token=q8w7e6r5t4y3u2i1o0"), "token=q8w7e6r5t4y3u2i1o0");
    assert!(!SessionSecrets::default().add_issued([secret("handed-out-51be20".into())]));
}

#[test]
fn text_that_looks_like_a_credential_is_redacted() {
    let secrets = SessionSecrets::knowing(&["injected-7f3a9c"]);
    assert_eq!(secrets.redact("api_key = q8W7e6R5t4Y3u2I1o0Pa"), "api_key = [redacted]");
}
