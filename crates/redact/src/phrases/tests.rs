//! Phrases and secrets are found in texts as pages write them.

use super::*;

fn found_in<'a>(words: &PhraseSet, text: &'a str) -> Vec<&'a str> {
    let mut places: Vec<usize> = Vec::new();
    for (at, character) in text.char_indices() {
        places.extend(std::iter::repeat_n(at, character.len_utf16()));
    }
    places.push(text.len());
    let ranges = words.find(text).into_iter();
    ranges.map(|range| &text[places[range.start as usize]..places[range.end as usize]]).collect()
}

#[test]
fn words_are_found_however_a_page_writes_them() {
    let words =
        PhraseSet::new(["Zebra crossing", "pin", "a", "a much longer text that was typed", "añb/c", "🦓s!!"]);
    for (text, expected) in [
        ("Results for zebra crossing.", vec!["zebra crossing"]),
        ("ZEBRACROSSING", vec!["ZEBRACROSSING"]),
        ("zeb\n  ra cross\u{ad}ing", vec!["zeb\n  ra cross\u{ad}ing"]),
        (
            "z\u{3164}e\u{ffa0}b\u{115f}r\u{1160}a\u{e0100}cr\u{e01ef}ossin\u{17b4}g",
            vec!["z\u{3164}e\u{ffa0}b\u{115f}r\u{1160}a\u{e0100}cr\u{e01ef}ossin\u{17b4}g"],
        ),
        ("zebra\0crossing", vec![]),
        ("zebra\0crossing", vec![]),
        ("zebra", vec![]),
        ("Zebra crossin…", vec!["Zebra crossin"]),
        // Short ones by themselves only, and single characters never.
        ("pin it, a pin", vec!["pin", "pin"]),
        ("spin, pins, a", vec![]),
        // Part of a long one.
        ("about: \"longer text that was…\"", vec!["longer text that was"]),
        ("🦓 AÑB/C 🦓S!!", vec!["AÑB/C", "🦓S!!"]),
        ("zebra crossingzebra crossing", vec!["zebra crossingzebra crossing"]),
        // What was typed is looked for as it is.
        ("zebra%20crossing", vec![]),
    ] {
        assert_eq!(found_in(&words, text), expected, "{text}");
    }
    assert!(PhraseSet::new(["", " ", "x"]).is_empty());
    assert!(!PhraseSet::default().is_in("anything"));
}

const TOKEN: &str = "s%3Aq7/Zk+9?&Lm\"2 <Xw>~Tb-uV_e4'RñC0\\yH8";

fn with_secrets<'a>(secrets: impl IntoIterator<Item = &'a str>) -> PhraseSet {
    let secrets: Vec<Secret> = secrets.into_iter().map(|secret| Secret::new(secret.to_owned())).collect();
    PhraseSet::default().with_secrets(&secrets)
}

#[test]
fn secrets_are_found_in_every_writing() {
    let words = with_secrets([TOKEN]);
    let percent = |keeps: fn(u8) -> bool| -> String {
        let one = |byte: u8| if keeps(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        TOKEN.bytes().map(one).collect()
    };
    let component = percent(|byte| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte));
    let form = percent(|byte| byte.is_ascii_alphanumeric() || b" *-._".contains(&byte)).replace(' ', "+");
    let json = serde_json::to_string(TOKEN).unwrap();
    let html = TOKEN.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut writings = vec![
        TOKEN.to_owned(),
        TOKEN.to_uppercase(),
        TOKEN.replace("%3A", ":"),
        component.clone(),
        component.to_ascii_lowercase(),
        component.replace('%', "%25"),
        form,
        percent(|_| false),
        json.trim_matches('"').to_owned(),
        json.trim_matches('"').replace('/', "\\/").replace('<', "\\u003c"),
        html.clone(),
        html.replace('&', "&amp;"),
        TOKEN.chars().map(|character| format!("&#{};", u32::from(character))).collect(),
        hex.to_uppercase(),
        hex,
    ];
    for prefix in ["", "u", "me", "user:"] {
        for suffix in ["", "!", "xyz"] {
            let around = format!("{prefix}{TOKEN}{suffix}");
            for engine in [&base64::prelude::BASE64_STANDARD, &base64::prelude::BASE64_URL_SAFE_NO_PAD] {
                writings.push(base64::Engine::encode(engine, &around));
            }
        }
    }
    for writing in writings {
        let text = format!("before. {writing} .after");
        let found = found_in(&words, &text);
        // At the ends of base64, a character or two belong to what is around it.
        assert!(found.len() == 1 && found[0].len() + 16 > writing.len(), "{writing}: {found:?}");
        assert!(!found[0].contains("before") && !found[0].contains("after"), "{writing}: {found:?}");
    }
    for text in ["", "q7/Zk+9?&Lm", "nothing of it", "cTcvWms5"] {
        assert_eq!(found_in(&words, text), [""; 0], "{text}");
    }
}

#[test]
fn a_secret_is_found_whole_whatever_stands_between_its_characters() {
    let token = "s%3AjWk2-9fQx_7Lm.Zt4/Rb8+Vn3=Yc6";
    let words = with_secrets([token, "hunter2", "x9"]);
    for separator in ["\0", " ", "-", ".", "\n", "|", "\u{200b}", " * "] {
        let spread: Vec<String> = token.chars().map(String::from).collect();
        let text = format!("({})", spread.join(separator));
        assert_eq!(found_in(&words, &text).len(), 1, "{text}");
    }
    for length in 1..token.len() {
        assert_eq!(found_in(&words, &token[..length.min(token.len() - 2)]), [""; 0]);
    }
    // Too short to be compared.
    assert_eq!(found_in(&words, "my hunter2! x9 bWU6aHVudGVyMg=="), [""; 0]);
}

#[test]
fn words_and_secrets_go_together() {
    let both = PhraseSet::new(["Zebra crossing"]).with_secrets_of(&with_secrets(["hunter2-hunter2"]));
    let shared = PhraseSet::new(["other words"]).with_secrets_of(&both);
    let text = "zebra crossing, other words, hunter2%2dhunter2";
    assert_eq!(found_in(&both, text), ["zebra crossing", "hunter2%2dhunter2"]);
    assert_eq!(found_in(&shared, text), ["other words", "hunter2%2dhunter2"]);
}

/// Numbers that look like letters at random, the same in every run.
fn noise(length: usize) -> String {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn a_search_costs_the_length_of_the_text_and_the_parts_are_bounded() {
    let secrets = noise(60_000);
    let mut all: Vec<&str> = (0..50).map(|n| &secrets[n * 1000..(n + 1) * 1000]).collect();
    all.extend((2..12).map(|length| &secrets[50_000..50_000 + length]));
    let words = with_secrets(all);
    assert!(!words.is_too_large());
    let work_of = |text: &str| crate::work::work_of(|| assert!(!words.is_in(text)));
    let text = "%7%A9&#\\ 1234567890 ".repeat(5_000);
    let (short, long) = (work_of(&text[..text.len() / 10]), work_of(&text));
    assert!(long <= short * 11, "{short} steps, then {long}");
    // A sieve and a lookup for each length, in each of the ways in which the text is read.
    assert!(long <= 100 * text.len(), "{long} steps for {} bytes", text.len());
    let large = noise(2_000_000);
    assert!(PhraseSet::new([large.as_str()]).is_too_large());
    assert!(!PhraseSet::new([&large[..200_000]]).is_too_large());
}
