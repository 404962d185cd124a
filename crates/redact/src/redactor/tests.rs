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
    for secret in [TOKEN, "hunter2!", "Zm9vYmFy.eyJ1c2VyIjoi", "pass phrase with words"] {
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
fn parts_that_matter_are_masked_and_words_that_do_not_are_left() {
    let secret = "0123456789abcdefghijklmnopqrstuvwxyzQPONMLKJIHGFEDCB";
    let redactor = redactor(&[secret]);
    for start in 0..secret.len() - 16 {
        for length in 12..16 {
            let part = &secret[start..start + length];
            assert_eq!(redactor.mask(&format!("<{part}>")), format!("<{MASK}>"), "{part}");
        }
        let part = &secret[start..start + 16];
        for encoded in [BASE64_STANDARD.encode(part), hex(part.as_bytes()), hex(&utf16(part, true))] {
            assert!(redactor.finds_any(&encoded), "{part}: {encoded}");
        }
    }
    for part in ["0123456789", "efghijk", "wxyz", "ghijklmn"] {
        assert_eq!(redactor.mask(part), part);
    }
    let two = format!("{} and {}", &secret[..20], &secret[20..40]);
    assert_eq!(redactor.mask(&two), format!("{MASK} and {MASK}"));
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
        ("!@#$%^&*()_+{}", "it is !@#$%^&*()_+{}."),
        (
            "пароль-секретный",
            "%D0%BF%D0%B0%D1%80%D0%BE%D0%BB%D1%8C-%D1%81%D0%B5%D0%BA%D1%80%D0%B5%D1%82%D0%BD%D1%8B%D0%B9",
        ),
        ("{\"token\":\"abc\\u002ddef.ghi-0123\"}", "your token: abc-def.ghi-0123"),
        ("Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", "x aaaaaaaaaaaaaaaaaaaaaaaa y"),
        ("пароль-секретный", "ПАРОЛЬ-СЕКРЕТНЫЙ"),
        ("ПАРОЛЬ", "пароль"),
        ("grüße-und-straße", "GRÜSSE-UND-STRASSE"),
        ("λόγος-λόγος", "ΛΌΓΟΣ-ΛΌΓΟΣ"),
        ("hunter2!", "h\u{3164}u\u{ffa0}n\u{115f}t\u{1160}e\u{e0100}r\u{17b4}2"),
        ("hunter2!", "&#x3164;h&#x3164;u&#x3164;n&#x3164;t&#x3164;e&#x3164;r&#x3164;2"),
        ("!@#$%^&*()_+{}", "!@#\u{200b}$%^\u{3164}&*(\u{e01ef})_+{}"),
        ("😀😁😂😃😄😅", "😀\u{200d}😁\u{fe0f}😂😃\u{3164}😄😅"),
    ] {
        assert!(redactor(&[secret]).mask(text).contains(MASK), "{secret}");
    }
}

#[test]
fn a_short_secret_is_found_in_base64_whatever_its_letters() {
    for secret in ["?>~?>~", "~~~???", ">>>>>>", "a?b>c~", "ÿþýÿþý"] {
        let redactor = redactor(&[secret]);
        for before in ["", "x", "xy"] {
            for after in ["", "z", "zz"] {
                let clear = format!("{before}{secret}{after}");
                for encoded in [BASE64_STANDARD.encode(&clear), BASE64_URL_SAFE_NO_PAD.encode(&clear)] {
                    assert!(redactor.finds_any(&encoded), "{clear}: {encoded}");
                }
            }
        }
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
        let mut stream = redactor.stream();
        let pieces: Vec<char> = page.chars().collect();
        let mut out: String =
            pieces.chunks(701).map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
        out.push_str(&stream.finish());
        assert!(out == whole, "a tag of {length}");
    }
}

#[test]
fn a_stream_of_small_pieces_is_not_searched_at_each() {
    let redactor = redactor(&["abcdefgh".repeat(400).as_str()]);
    let text = "abcdefgh".repeat(20_000);
    let whole = work(&redactor, &text);
    let steps = crate::work::work_of(|| {
        let mut stream = redactor.stream();
        text.as_bytes()
            .chunks(16)
            .for_each(|piece| assert!(stream.push(&String::from_utf8_lossy(piece)).len() < 100));
        stream.finish();
    });
    assert!(steps < 8 * whole, "{steps} steps, and {whole} for the whole");
}

#[test]
fn a_match_that_ends_inside_a_character_takes_the_whole_of_it() {
    for (secret, text, masked) in [
        ("😀😁😂😃😄😅", "😀😁😂😇 and more", format!("{MASK} and more")),
        ("😀😁😂😃😄😅", "so 🙀😁😂😃😄😅", format!("so {MASK}")),
        ("😀😁😂😃😄😅", "\\😀\\😁\\😂\\😇.", format!("{MASK}.")),
        ("😀😁😂😃😄😅", "%F0%9F%98%80%F0%9F%98%81%F0%9F%98%82%F0%9F%98é", format!("{MASK}é")),
        ("«»“”„‟…", "«»“”„‟‥", MASK.to_owned()),
        ("«»“”„‟…", "é«»“”„‟…é", format!("é{MASK}é")),
    ] {
        let redactor = redactor(&[secret]);
        assert_eq!(redactor.mask(text), masked, "{secret}");
        let mut stream = redactor.stream();
        let long = stream.push(&format!("{}{text}{}", "é ".repeat(9000), " é".repeat(9000)));
        assert_eq!(long + &stream.finish(), format!("{}{masked}{}", "é ".repeat(9000), " é".repeat(9000)));
    }
}

#[test]
fn what_a_site_hands_out_later_is_learned() {
    let mut redactor = redactor(&[TOKEN]);
    assert!(!redactor.finds_any("rotated-0123456789"));
    redactor.learn(&[Secret::new("rotated-0123456789".to_owned())]);
    assert_eq!(redactor.mask(&format!("{TOKEN} rotated-0123456789")), format!("{MASK} {MASK}"));
}

#[test]
fn a_stream_shows_no_more_than_the_whole_would_however_it_is_cut() {
    let redactor = redactor(&[TOKEN]);
    for (writing, text) in writings(TOKEN) {
        let page = format!("{}{text}{}{text}", "lorem ipsum ".repeat(2500), " dolor sit amet".repeat(2000));
        let whole = redactor.mask(&page);
        for size in [61, 30_000] {
            let mut stream = redactor.stream();
            let mut out = String::new();
            let characters: Vec<char> = page.chars().collect();
            for piece in characters.chunks(size) {
                out.push_str(&stream.push(&piece.iter().collect::<String>()));
            }
            out.push_str(&stream.finish());
            assert_eq!(out, whole, "{writing}, in pieces of {size}");
        }
    }
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
    let short = (6..60).map(|length| hex(&[0xab; 40])[..length].to_owned()).collect();
    // The most steps for a byte: the sieve, a lookup for each length that windows have, a tag's end.
    for (name, secrets, most) in [
        ("alike at the beginning", alike, 30),
        ("repeating themselves", repeating, 30),
        ("of bytes", of_bytes, 30),
        ("of every length", short, 150),
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
            assert!(twice <= once * 21 / 10, "{name}, {piece}: {once} steps, then {twice}");
            let bytes = text.len() * super::View::all(&text).len();
            assert!(once <= most * bytes, "{name}, {piece}: {once} steps for {bytes} bytes");
        }
    }
}
