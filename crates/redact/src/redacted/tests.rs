//! Redacted text: masked before it is cut, and built from redacted and safe parts alone.

use super::*;
use crate::{Redactor, Secret};

fn redacted(text: &str) -> Redacted {
    Redactor::new(&[Secret::new("hunter2-hunter2".to_owned())]).redact(text)
}

#[test]
fn a_secret_at_the_cut_is_masked_whole_and_then_cut() {
    let title = redacted("Hello, hunter2-hunter2 and others");
    assert_eq!(title, "Hello, [redacted] and others");
    for most in 0..title.len() {
        for cut in [title.truncate_chars(most, "…"), title.truncate_bytes(most, "…")] {
            assert!(!cut.as_str().contains("hunter"), "{cut}");
            assert_eq!(cut.as_str().chars().count(), most + 1);
        }
    }
    assert_eq!(title.truncate_chars(1000, "…"), title);
    assert_eq!(redacted("日本語").truncate_bytes(4, "…"), "日…");
    assert_eq!(redacted("日本語").truncate_chars(2, ""), "日本");
}

#[test]
fn texts_are_built_from_redacted_and_safe_parts() {
    let name = redacted("hunter2-hunter2");
    assert_eq!(crate::redacted!("{} has {} of {}%", name, 3, 12.5), "[redacted] has 3 of 12.5%");
    assert_eq!(crate::redacted!("nothing"), "nothing");
    assert_eq!(Redacted::fill("{} {}", &[&1]), "1 {}");
    assert_eq!(Redacted::fill("{}", &[&1, &2]), "1");
    assert_eq!(Redacted::fill("{}", &[&redacted("{} {}")]), "{} {}");
    let both = [Redacted::literal("a"), Redacted::from_safe(7)];
    assert_eq!(Redacted::join(both.clone(), ", "), "a, 7");
    assert_eq!(both.into_iter().collect::<Redacted>(), "a7");
    assert_eq!(Redacted::join([], ", "), "");
    let mut line = Redacted::literal("a");
    line.push(&name);
    line.push_literal(".");
    line.push(true);
    assert_eq!(line, "a[redacted].true");
    assert_eq!(format!("{line:>20}|{line:?}").len(), 20 + 1 + 18);
}

#[test]
fn more_can_be_masked_and_parts_can_be_taken() {
    let text = redacted("one two two é");
    assert_eq!(text.mask_text("two", "[typed]"), "one [typed] [typed] é");
    assert_eq!(text.mask_text("", "[typed]"), text);
    assert_eq!(text.mask_ranges([8..11, 4..9, 13..14, 3..3], "*"), "one * *");
    assert_eq!(text.get(4..7).unwrap(), "two");
    assert!(text.get(4..100).is_none() && text.get(0..13).is_none());
    assert_eq!(redacted(" a \n b\t").fold_whitespace(), "a b");
    assert_eq!(redacted(" a b ").trim(), "a b");
    assert_eq!(redacted("a\u{7}b").without(char::is_control), "ab");
    assert_eq!(redacted("a\nb").lines().map(Redacted::into_string).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn it_is_a_string_in_json() {
    let text = redacted("say \"hunter2-hunter2\"");
    assert_eq!(serde_json::to_string(&text).unwrap(), r#""say \"[redacted]\"""#);
    assert_eq!(serde_json::to_string(&Some(&text)).unwrap(), r#""say \"[redacted]\"""#);
}
