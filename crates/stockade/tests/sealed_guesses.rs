//! Guesses at sealed values: a reply to a right one is the reply to a wrong one.

use crate::common::echo_site::{API_KEY, VALUES};
use crate::common::sealed_app::{BEARER, SESSION};
use crate::sealed_echo::Echoed;
use serde_json::{Value, json};

/// Lengths of the beginnings that are guessed; the last is all of it.
const LENGTHS: [usize; 4] = [4, 8, 12, usize::MAX];
/// Of those on pages that hold the value.
const LONG: [usize; 2] = [12, usize::MAX];
/// What the page writes once the site has answered.
const AWAITED: [&str; 4] = ["Fetched:", "Heard:", "You sent", "The last comment"];
/// A cookie, a stored token and a header that the browser never sees.
const GUESSED: [&str; 3] = [SESSION, BEARER, API_KEY];

/// Another text of the same length, with letters and digits in the same places. It begins alike, because a beginning such
/// as `Sid` is a sign of a credential whatever follows.
fn wrong(guess: &str) -> String {
    let turn = |c: char, first: u8, size: u8| char::from((c as u8 - first + 1) % size + first);
    let other = |c: char| match c {
        '0'..='9' => turn(c, b'0', 10),
        'a'..='f' => turn(c, b'a', 6),
        'g'..='z' => turn(c, b'g', 20),
        'A'..='Z' => turn(c, b'A', 26),
        other => other,
    };
    guess.chars().enumerate().map(|(at, c)| if at < 3 { c } else { other(c) }).collect()
}

/// A reply without what differs between any two: the guess itself, as far as it was typed, marks, ids, numbers and times.
fn normalise(reply: &Value, guess: &str) -> String {
    let mut text = reply["result"].to_string();
    for typed in (4..=guess.len()).rev().map(|length| &guess[..length]) {
        text = text.replace(typed, "GUESS").replace(&typed.to_lowercase(), "GUESS");
    }
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("page:") {
        out.push_str(&rest[..at]);
        rest = rest[at + 5..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    }
    out.push_str(rest);
    let mut numberless = String::new();
    for c in out.chars() {
        match c {
            '0'..='9' if numberless.ends_with('#') => {}
            '0'..='9' => numberless.push('#'),
            _ => numberless.push(c),
        }
    }
    numberless
}

/// The calls that an agent tries a guess with, on a page that it has just gone to.
fn attempts(guess: &str) -> Vec<(&'static str, Value)> {
    let mut attempts = vec![
        ("browser_find", json!({"text": guess})),
        ("browser_find", json!({"regex": format!("{guess}.")})),
        ("browser_find", json!({"role": "button", "name": guess})),
        ("browser_wait_for", json!({"text": guess, "timeout_seconds": 0.3})),
        ("browser_wait_for", json!({"text_gone": guess, "timeout_seconds": 0.3})),
        ("browser_wait_for", json!({"url": format!("*{guess}*"), "timeout_seconds": 0.3})),
        ("browser_click", json!({"visible_text": guess, "timeout_seconds": 0.3})),
        ("browser_hover", json!({"visible_text": guess, "timeout_seconds": 0.3})),
        ("browser_hover", json!({"role": "button", "name": guess, "timeout_seconds": 0.3})),
        ("browser_select", json!({"selector": "#list", "option": guess, "timeout_seconds": 0.3})),
        ("browser_type", json!({"selector": "#note", "text": guess, "clear_first": true})),
        ("browser_read", json!({})),
        ("browser_read", json!({"format": "tree"})),
        ("browser_read", json!({"format": "markdown"})),
        ("browser_navigate", json!({"url": format!("https://app.test/guess?q={guess}")})),
        ("browser_read", json!({"format": "markdown"})),
        ("browser_tabs", json!({})),
        ("browser_find", json!({"text": "You searched for"})),
        ("browser_type", json!({"selector": "#note", "text": guess, "clear_first": true})),
        ("browser_click", json!({"selector": "#fetch"})),
        ("browser_wait_for", json!({"text": "Fetched:", "timeout_seconds": 3})),
        ("browser_read", json!({})),
        ("browser_click", json!({"selector": "#say"})),
        ("browser_wait_for", json!({"text": "Heard:", "timeout_seconds": 3})),
        ("browser_read", json!({})),
        ("browser_type", json!({"selector": "#posted", "text": guess, "submit": true})),
        ("browser_wait_for", json!({"text": "You sent", "timeout_seconds": 3})),
        ("browser_read", json!({"format": "markdown"})),
        ("browser_navigate", json!({"url": "https://app.test/guess?q=again"})),
        ("browser_type", json!({"selector": "#remark", "text": &guess[..guess.len() / 2]})),
        ("browser_type", json!({"selector": "#remark", "text": &guess[guess.len() / 2..]})),
        ("browser_click", json!({"selector": "#leave"})),
        ("browser_wait_for", json!({"text": "The last comment", "timeout_seconds": 3})),
        ("browser_read", json!({})),
        ("browser_navigate", json!({"url": "https://app.test/comment"})),
        ("browser_read", json!({"format": "tree"})),
    ];
    // Key by key, the whole of it.
    if guess.len() > 20 {
        attempts.push(("browser_navigate", json!({"url": "https://app.test/guess?q=keys"})));
        let keys = guess.chars().map(|key| json!({"selector": "#note", "key": key.to_string()}));
        attempts.extend(keys.map(|arguments| ("browser_press_key", arguments)));
        attempts.extend([
            ("browser_click", json!({"selector": "#fetch"})),
            ("browser_wait_for", json!({"text": "Fetched:", "timeout_seconds": 3})),
            ("browser_read", json!({})),
        ]);
    }
    attempts
}

/// Whether the page shows what this attempt caused at once or in a later reply depends on how fast the site answers. Of
/// such a reply only success is compared; all of these are followed by a read of the page, which is compared whole.
fn races_the_site(tool: &str, arguments: &Value) -> bool {
    match tool {
        "browser_click" => arguments.get("selector").is_some(),
        "browser_wait_for" => arguments["text"].as_str().is_some_and(|text| AWAITED.contains(&text)),
        _ => false,
    }
}

fn replies(echoed: &mut Echoed, page: &str, guess: &str) -> Vec<String> {
    echoed.call("browser_navigate", json!({"url": format!("https://app.test{page}")}));
    // Both begin with the same page, read in full.
    echoed.call("browser_read", json!({}));
    let mut replies = Vec::new();
    for (tool, arguments) in attempts(guess) {
        let races = races_the_site(tool, &arguments);
        let reply = echoed.call(tool, arguments);
        replies.push(if races { reply["result"]["isError"].to_string() } else { normalise(&reply, guess) });
    }
    replies
}

/// A reply that differs for a right guess.
struct Difference {
    value: &'static str,
    length: usize,
    attempt: usize,
    wrong: String,
    right: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (tool, arguments) = &attempts("GUESS GUESS GUESS GUESS GUESS")[self.attempt];
        let Self { value, length, wrong, right, .. } = self;
        write!(f, "{length} of {value}: {tool} {arguments}\n  wrong: {wrong}\n  right: {right}")
    }
}

/// What differs between wrong guesses at a value and the right ones on a page, in a session of its own.
fn differences(page: &str, lengths: &[usize], value: &'static str) -> Vec<Difference> {
    let mut echoed = Echoed::start("");
    let mut differences = Vec::new();
    for &length in lengths {
        let right = &value[..length.min(value.len())];
        let other = wrong(right);
        assert!(other != right && !VALUES.iter().any(|value| value.starts_with(&other)));
        let said = [other.as_str(), right].map(|guess| replies(&mut echoed, page, guess));
        for (attempt, (wrong, right)) in said[0].iter().zip(&said[1]).enumerate() {
            if wrong != right {
                let (wrong, right) = (wrong.clone(), right.clone());
                differences.push(Difference { value, length, attempt, wrong, right });
            }
        }
    }
    differences
}

/// A busy machine makes replies differ too (a timeout instead of a result), but not the same one in each of three
/// sessions. What depends on the guess does: each session starts without what the one before it learned.
fn lasting_differences(page: &str, lengths: &[usize], value: &'static str) -> Vec<Difference> {
    let mut found = differences(page, lengths, value);
    for _ in 0..2 {
        if found.is_empty() {
            break;
        }
        let again = differences(page, lengths, value);
        let place = |one: &Difference| (one.length, one.attempt);
        found.retain(|one| again.iter().any(|other| place(other) == place(one)));
    }
    found
}

/// The values are guessed side by side: most of the time a guess waits for something that does not appear.
fn check(page: &str, lengths: &[usize]) {
    let found: Vec<Difference> = std::thread::scope(|scope| {
        let guessing = GUESSED.map(|value| scope.spawn(move || lasting_differences(page, lengths, value)));
        guessing.into_iter().flat_map(|one| one.join().expect("the guesses of one value")).collect()
    });
    let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(listed.is_empty(), "{} differences:\n{}", listed.len(), listed.join("\n"));
}

#[test]
fn a_right_guess_gets_the_reply_of_a_wrong_one() {
    check("/guess?q=nothing", &LENGTHS);
}

#[test]
fn a_right_guess_gets_the_reply_of_a_wrong_one_on_a_page_that_is_withheld() {
    check("/way/cells%20of%20three", &LONG);
}

#[test]
fn a_right_guess_gets_the_reply_of_a_wrong_one_on_a_page_that_shows_the_value() {
    check("/way/text", &LONG);
}
