//! A written list of encodings and splittings, and that ordinary text is left alone.

use super::{MASK, Redactor};
use crate::secret::Secret;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

const TOKEN: &str = "ghp_aB3xY9-kLmN0pQr5/tUv+W7=zEnd";

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new((*secret).to_owned())).collect();
    Redactor::new(&secrets)
}

fn each(secret: &str, write: impl Fn(char) -> String) -> String {
    secret.chars().map(write).collect()
}

fn utf16(secret: &str, big: bool) -> Vec<u8> {
    secret.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// Every writing of a secret that is seen through.
fn writings(secret: &str) -> Vec<(&'static str, String)> {
    let percent = |text: &str| each(text, |c| format!("%{:02X}", u32::from(c)));
    let mut found = vec![
        ("raw", secret.to_owned()),
        ("upper case", secret.to_uppercase()),
        ("percent", percent(secret)),
        ("percent, what has to be", secret.replace('/', "%2F").replace('+', "%2b").replace('=', "%3D")),
        ("percent twice", percent(secret).replace('%', "%25")),
        ("percent three times", percent(secret).replace('%', "%2525")),
        ("old JavaScript percent", each(secret, |c| format!("%u{:04x}", u32::from(c)))),
        ("HTML decimal", each(secret, |c| format!("&#{};", u32::from(c)))),
        ("HTML hex", each(secret, |c| format!("&#x{:X};", u32::from(c)))),
        ("HTML of HTML", each(secret, |c| format!("&amp;#{};", u32::from(c)))),
        ("HTML names", secret.replace('+', "&plus;").replace('/', "&sol;")),
        ("JSON", each(secret, |c| format!("\\u{:04x}", u32::from(c)))),
        ("JSON slashes", secret.replace('/', "\\/")),
        ("JavaScript \\x", each(secret, |c| format!("\\x{:02x}", u32::from(c)))),
        ("JavaScript \\u{}", each(secret, |c| format!("\\u{{{:x}}}", u32::from(c)))),
        ("JSON in JSON", each(secret, |c| format!("\\\\u{:04x}", u32::from(c)))),
        ("lines", each(secret, |c| format!("{c}\n"))),
        ("blanks", each(secret, |c| format!("{c} "))),
        ("dashes", each(secret, |c| format!("{c}-"))),
        ("zero-width", each(secret, |c| format!("{c}\u{200b}\u{ad}"))),
        ("tags", each(secret, |c| format!("<b class=\"x\">{c}</b>"))),
        ("UTF-16 as text", each(secret, |c| format!("{c}\0"))),
        ("percent of UTF-16", each(secret, |c| format!("%{:02x}%00", u32::from(c)))),
        ("hex", hex(secret.as_bytes())),
        ("hex in upper case", hex(secret.as_bytes()).to_uppercase()),
        ("hex with colons", each(secret, |c| format!("{:02x}:", u32::from(c)))),
        ("reversed", secret.chars().rev().collect()),
        ("codes", format!("[{}]", each(secret, |c| format!("{},", u32::from(c))))),
        ("codes in words", each(secret, |c| format!("{} ", u32::from(c)))),
        ("hex codes", each(secret, |c| format!("0x{:02X}, ", u32::from(c)))),
        ("hex of UTF-16", hex(&utf16(secret, false))),
        ("hex of UTF-16, big end first", hex(&utf16(secret, true))),
    ];
    for before in ["", "a", "ab", "abc"] {
        for after in ["", "z", "yz"] {
            let text = format!("{before}{secret}{after}");
            found.push(("base64", BASE64_STANDARD.encode(&text)));
            found.push(("base64 for addresses", BASE64_URL_SAFE_NO_PAD.encode(&text)));
        }
    }
    let encoded = BASE64_STANDARD.encode(format!("user:{secret}"));
    found.push((
        "base64 in lines",
        encoded.as_bytes().chunks(19).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\r\n"),
    ));
    found.push(("base64, percent", encoded.replace('=', "%3D").replace('+', "%2B")));
    found.push(("base64 of UTF-16", BASE64_STANDARD.encode(utf16(secret, false))));
    found.push((
        "base64 of UTF-16, big end first",
        BASE64_STANDARD.encode([b"x".to_vec(), utf16(secret, true)].concat()),
    ));
    found
}

#[test]
fn a_secret_is_masked_in_every_writing() {
    for secret in [TOKEN, "hunter2!-hunter3?", "Zm9vYmFy.eyJ1c2VyIjoi", "pass phrase with words"] {
        let redactor = redactor(&[secret]);
        for (writing, text) in writings(secret) {
            let page = format!("日本 {text} 日本");
            let out = redactor.mask(&page);
            assert!(out.contains(MASK), "{writing} of {secret}: {out}");
            assert!(out.starts_with("日本 ") && out.ends_with(" 日本"), "{writing} of {secret}: {out}");
            // Next to nothing of it is left: the ends that base64 mixes with what stands beside, the outermost tags, a mark at its end.
            let left = out.len() - "日本  日本".len() - MASK.len();
            assert!(left <= 40, "{writing} of {secret}: {out}");
            assert!(redactor.finds_any(&page));
        }
    }
}

#[test]
fn a_part_of_a_secret_changes_nothing() {
    let secret = "0123456789abcdefghijklmnopqrstuvwxyzQPONMLKJIHGFEDCB";
    let redactor = redactor(&[secret]);
    for length in 1..secret.len() {
        for part in [&secret[..length], &secret[secret.len() - length..]] {
            for text in
                [part.to_owned(), BASE64_STANDARD.encode(part), hex(part.as_bytes()), hex(&utf16(part, true))]
            {
                assert_eq!(redactor.mask(&text), text);
            }
        }
    }
    // One character that is not right, anywhere.
    for wrong in 0..secret.len() {
        let guess = format!("{}~{}", &secret[..wrong], &secret[wrong + 1..]);
        assert_eq!(redactor.mask(&guess), guess);
    }
    assert_eq!(redactor.mask(&format!("<{secret}>")), format!("<{MASK}>"));
}

#[test]
fn a_value_that_can_be_guessed_is_not_compared() {
    for secret in [
        "hunter2!",
        "12345678901",
        "a-b-c-d-e-f-g-h-i-j-k",
        "!@#$%^&*()_+{}<>?",
        "ПАРОЛЬ",
        "😀😁😂😃😄😅😆😇",
    ] {
        let redactor = redactor(&[secret]);
        assert!(redactor.is_empty(), "{secret}");
        assert_eq!(redactor.mask(secret), secret);
    }
    assert!(!redactor(&["123456789012"]).is_empty());
}

#[test]
fn a_secret_that_is_split_over_cells_lines_and_inputs_is_found() {
    let redactor = redactor(&[TOKEN]);
    let encoded = hex(TOKEN.as_bytes());
    for secret in [TOKEN, encoded.as_str()] {
        for size in [1, 2, 5, 11, 30] {
            let pieces: Vec<String> = secret
                .as_bytes()
                .chunks(size)
                .map(|piece| String::from_utf8_lossy(piece).into_owned())
                .collect();
            let mut fragments = vec!["before", ""];
            fragments.extend(pieces.iter().map(String::as_str));
            fragments.extend(["", "after"]);
            let found = redactor.find_in_fragments(&fragments);
            for (fragment, shares) in fragments.iter().zip(&found) {
                let left: String = match shares.as_slice() {
                    [] => (*fragment).to_owned(),
                    [share] => format!("{}{}", &fragment[..share.range.start], &fragment[share.range.end..]),
                    more => panic!("{more:?}"),
                };
                let is_beside = ["before", "after", ""].contains(fragment);
                let letters = left.chars().filter(char::is_ascii_alphanumeric).count();
                assert!(if is_beside { left == *fragment } else { letters == 0 }, "{fragment}: {left}");
            }
        }
    }
    assert!(redactor.find_in_fragments(&["ghp_aB3xY9-kLmN0", "pQr5/tUv+W7=zEn"]).concat().is_empty());
    assert!(redactor.find_in_fragments(&[]).is_empty());
}

#[test]
fn a_secret_in_a_column_or_in_numbered_lines_is_found() {
    let redactor = redactor(&[TOKEN]);
    let pieces: Vec<&str> = (0..TOKEN.len()).step_by(4).map(|at| &TOKEN[at..at + 4]).collect();
    for columns in 2..=8 {
        for column in 0..columns {
            let row = |piece: &str| {
                (0..columns)
                    .map(|at| if at == column { piece.into() } else { format!("{at} of 9") })
                    .collect::<Vec<_>>()
            };
            let mut table = vec!["Key".to_owned(), "Row".to_owned()];
            table.extend(pieces.iter().flat_map(|piece| row(piece)));
            let fragments: Vec<&str> = table.iter().map(String::as_str).collect();
            let found = redactor.find_in_fragments(&fragments);
            for (fragment, shares) in fragments.iter().zip(&found) {
                assert_eq!(!shares.is_empty(), pieces.contains(fragment), "{columns} {column}: {fragment}");
            }
        }
    }
    for number in ["{}. ", "{}) ", "[{}] ", "#{}: ", "{} | "] {
        let lines: Vec<String> = pieces
            .iter()
            .enumerate()
            .map(|(at, piece)| number.replace("{}", &at.to_string()) + piece)
            .collect();
        let fragments: Vec<&str> = lines.iter().map(String::as_str).collect();
        let found = redactor.find_in_fragments(&fragments);
        for (line, shares) in lines.iter().zip(&found) {
            let kept = number.replace("{}", "0").len();
            assert!(matches!(shares.as_slice(), [share] if share.range.start >= kept), "{line}: {shares:?}");
        }
    }
}

#[test]
fn a_sealed_secret_is_told_from_one_that_a_site_shows() {
    let mut redactor = redactor(&["minted-by-the-site-01"]);
    redactor.learn_sealed(&[Secret::new(TOKEN.to_owned())]);
    let text = format!("a minted-by-the-site-01 b {}", BASE64_STANDARD.encode(TOKEN));
    let kinds: Vec<bool> = redactor.find(&text).iter().map(|found| found.is_sealed).collect();
    assert_eq!(kinds, [false, true]);
    assert!(redactor.mask(&text).starts_with(&format!("a {MASK} b {MASK}")));
}

#[test]
fn the_token_within_a_stored_document_counts_by_itself() {
    let redactor = redactor(&[r#"{"user":"ada","token":"q8W7e6R5t4Y3u2I1","exp":1999999999}"#]);
    assert_eq!(redactor.mask("your key: q8W7e6R5t4Y3u2I1."), format!("your key: {MASK}."));
    assert_eq!(redactor.mask("ada, 1999999999"), "ada, 1999999999");
}

#[test]
fn ordinary_text_is_left_alone() {
    let redactor = redactor(&[TOKEN, "hunter2!", "Bearer 0123456789abcdef", "dark", "", "[]{}"]);
    for text in [
        "",
        "The quick brown fox",
        "dark",
        "Bearer token, please",
        "hunter 3",
        "100% of &amp; \\n <b>it</b> &#65; %zz \\u12 & ; \\",
        "日本語のテキスト 🙂",
        "ghp_aB3xY9",
    ] {
        assert_eq!(redactor.mask(text), text);
    }
    assert!(super::Redactor::new([]).is_empty());
    assert_eq!(super::Redactor::new([]).mask("x"), "x");
}

#[test]
fn odd_secrets_are_found_too() {
    for (secret, text) in [
        (
            "пароль-секретный",
            "%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C-%D1%81%D0%B5%D0%BA%D1%80%D0%B5%D1%82%D0%BD%D1%8B%D0%B9",
        ),
        ("{\"token\":\"abc\\u002ddef.ghi-0123\"}", "your token: abc-def.ghi-0123"),
        ("Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "x aaaaaaaaaaaaaaaaaaaaaaaa y"),
        ("пароль-секретный", "ПАРОЛЬ-СЕКРЕТНЫЙ"),
        ("grüße-und-straße", "GRÜSSE-UND-STRASSE"),
        ("λόγος-λόγος-λόγος", "ΛΌΓΟΣ-ΛΌΓΟΣ-ΛΌΓΟΣ"),
        ("hunter2!hunter2!", "h\u{3164}u\u{ffa0}n\u{115f}t\u{1160}e\u{e0100}r\u{17b4}2hunter2"),
        ("hunter2!hunter2!", "&#x3164;h&#x3164;u&#x3164;n&#x3164;t&#x3164;e&#x3164;r&#x3164;2 hunter2"),
    ] {
        assert!(redactor(&[secret]).mask(text).contains(MASK), "{secret}");
    }
}

#[test]
fn long_tags_between_characters_hide_nothing() {
    let redactor = redactor(&[TOKEN]);
    for length in [100, 300, 390, 500, 1900] {
        let tag = format!("<i {}>", "a".repeat(length));
        let page =
            format!("{}{}{}", "é ".repeat(9_000), each(TOKEN, |c| format!("{c}{tag}")), " é".repeat(9_000));
        let whole = redactor.mask(&page);
        assert!(whole.contains(MASK), "{length}");
    }
}

#[test]
fn what_a_site_hands_out_later_is_learned() {
    let mut redactor = redactor(&[TOKEN]);
    assert!(!redactor.finds_any("rotated-0123456789"));
    redactor.learn(&[Secret::new("rotated-0123456789".to_owned())]);
    assert_eq!(redactor.mask(&format!("{TOKEN} rotated-0123456789")), format!("{MASK} {MASK}"));
}

/// The steps that a search of the text takes.
fn work(redactor: &Redactor, text: &str) -> usize {
    crate::work::work_of(|| drop(redactor.mask(text)))
}

#[test]
fn a_search_costs_the_length_of_the_text_whatever_the_secrets_are() {
    let alike = (0..1000).map(|n| format!("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9{n:08}")).collect();
    let repeating = vec!["abcdefgh".repeat(400), "a".repeat(3200), "😀".repeat(800)];
    let of_bytes = (0..=255).map(|n: u8| format!("{n:05}-{}", hex(&[n; 100]))).collect();
    let short = (12..60).map(|length| hex(&[0xab; 40])[..length].to_owned()).collect();
    // The most steps for a byte: the sieve, a lookup for each length that windows have, a tag's end.
    for (name, secrets, most) in [
        ("alike at the beginning", alike, 30),
        ("repeating themselves", repeating, 30),
        ("of bytes", of_bytes, 30),
        ("of every length", short, 400),
    ] {
        let secrets: Vec<String> = secrets;
        let redactor = redactor(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        for piece in [
            "abcdefgh",
            "abcdefghi",
            "abababac",
            "aaaaaaaaa!aaaaaaaab",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            "eyJhbGciOiJI-",
            "0707070707070707",
            "😀😀😀😁",
            "%25%25&amp;\\u0030",
            "word and word ",
            "<",
            "<b",
            "<b>",
            ">",
        ] {
            let text = piece.repeat(12_000 / piece.len());
            let (once, twice) = (work(&redactor, &text), work(&redactor, &text.repeat(2)));
            // A window that is longer than the text costs nothing. Filters are seeded at random; a square would be four times.
            assert!(twice <= once * 3, "{name}, {piece}: {once} steps, then {twice}");
            let bytes = text.len() * super::View::all(&text).len();
            assert!(once <= most * bytes, "{name}, {piece}: {once} steps for {bytes} bytes");
        }
    }
}
