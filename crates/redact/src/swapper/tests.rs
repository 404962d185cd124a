//! Every encoding of many kinds of secrets, at every alignment and however a stream is cut.

use super::*;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

/// The same numbers in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.next() as usize % letters.len()]).collect()
    }
}

const ALNUM: &str = crate::random::ALPHANUMERIC;

/// Secrets as sites make them.
fn secrets(noise: &mut Noise) -> Vec<String> {
    let base64url = format!("{ALNUM}-_");
    let header = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
    let hex = |noise: &mut Noise, length| noise.text("0123456789abcdef", length);
    vec![
        hex(noise, 32),
        hex(noise, 64),
        hex(noise, 40).to_uppercase(),
        noise.text(&base64url, 43),
        noise.text(&base64url, 22),
        format!("{}==", noise.text(&format!("{ALNUM}+/"), 30)),
        format!("{header}.eyJzdWIiOiJhbGljZSJ9.{}", noise.text(&base64url, 43)),
        format!(
            "{}-{}-4{}-8{}-{}",
            hex(noise, 8),
            hex(noise, 4),
            hex(noise, 3),
            hex(noise, 3),
            hex(noise, 12)
        ),
        format!("s:{}.{}", noise.text(&base64url, 32), noise.text(&format!("{ALNUM}+/"), 43)),
        format!("s%3A{}.{}%2B{}", noise.text(&base64url, 32), noise.text(ALNUM, 20), noise.text(ALNUM, 22)),
        format!("\"{}\"", noise.text(ALNUM, 24)),
        format!(r#"{{"token":"{}","n":5,"more":{{"id":"{}"}}}}"#, noise.text(ALNUM, 30), hex(noise, 24)),
        format!("user={}&sig={}; <'q'> \\ \"x\"/", noise.text(ALNUM, 9), noise.text(ALNUM, 18)),
        noise.text("0123456789", 20),
        noise.text("abcdefghijklmnopqrstuvwxyz", 16),
        noise.text(ALNUM, 8),
        noise.text("абвгдежз-éüß日本😀", 16),
        format!("Bearer {}", noise.text(&base64url, 40)),
    ]
}

fn pair(secret: &str) -> (Secret, Placeholder) {
    let secret = Secret::new(secret.to_owned());
    let placeholder = Placeholder::for_secret(&secret);
    (secret, placeholder)
}

fn hex_of(text: &str) -> String {
    hex::encode(text)
}

/// A way of writing a text.
type Writing = (&'static str, fn(&str) -> String);

fn html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#x27;")
}

fn percent(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

const WRITINGS: &[Writing] = &[
    ("raw", |text| text.to_owned()),
    ("form", percent),
    ("component", |text| {
        percent(text)
            .replace('+', "%20")
            .replace("%7E", "~")
            .replace("%21", "!")
            .replace("%27", "'")
            .replace("%28", "(")
            .replace("%29", ")")
    }),
    ("every byte", |text| text.bytes().map(|byte| format!("%{byte:02X}")).collect()),
    ("every byte, lower", |text| text.bytes().map(|byte| format!("%{byte:02x}")).collect()),
    ("JSON", json),
    ("JSON, slashes", |text| json(text).replace('/', "\\/")),
    ("JSON in JSON", |text| json(&json(text))),
    ("JSON, ASCII", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()),
    ("JavaScript", |text| json(text).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")),
    ("HTML", html),
    ("HTML, hex", |text| text.chars().map(|c| format!("&#x{:x};", u32::from(c))).collect()),
    ("HTML, hex, in an attribute", |text| {
        text.chars().map(|c| format!("&amp;#x{:X};", u32::from(c))).collect()
    }),
    ("component twice, every", |text| {
        percent(text)
            .replace('+', "%20")
            .replace("%7E", "~")
            .replace("%2A", "*")
            .replace('*', "%2A")
            .replace('%', "%25")
    }),
    ("every byte twice", |text| text.bytes().map(|byte| format!("%25{byte:02X}")).collect()),
    ("hex", hex_of),
    ("hex, spaced", |text| text.chars().map(|c| format!("{:02x} ", u32::from(c))).collect()),
    ("hex codes", |text| text.chars().map(|c| format!("0x{:02x}, ", u32::from(c))).collect()),
    ("reversed", |text| text.chars().rev().collect()),
    ("hex, upper", |text| hex_of(text).to_uppercase()),
    ("base64", |text| BASE64_STANDARD.encode(text)),
    ("base64, no padding", |text| BASE64_STANDARD_NO_PAD.encode(text)),
    ("base64 for addresses", |text| BASE64_URL_SAFE.encode(text)),
    ("base64 for addresses, no padding", |text| BASE64_URL_SAFE_NO_PAD.encode(text)),
];

#[test]
fn every_writing_of_a_secret_becomes_that_of_its_placeholder_and_back() {
    let mut noise = Noise(7);
    for secret in (0..12).flat_map(|_| secrets(&mut noise)).collect::<Vec<_>>() {
        let (secret, placeholder) = pair(&secret);
        let text = secret.expose_secret();
        let sealing = Swapper::sealing([(&secret, &placeholder)]);
        let unsealing = Swapper::unsealing([(&secret, &placeholder)]);
        for (name, write) in WRITINGS {
            // Two levels of percent escapes are not undone.
            if text.contains("%3A") && (name.starts_with("every") || name.contains("hex")) {
                continue;
            }
            for (before, after) in [("", ""), ("u:", "z"), ("a=", ""), ("me:", "~~"), ("", "xyz")] {
                // In base64 what stands around is encoded with it, so this is every alignment.
                let sealed = write(&format!("{before}{}{after}", placeholder.as_str()));
                let open = write(&format!("{before}{text}{after}"));
                assert_eq!(open.len(), sealed.len(), "{name} of {text}");
                // Some secrets do not show which alphabet, or which case of hex, they are written in.
                let alphabet = |text: &str| match (secret.expose_secret().is_ascii(), name.contains("base64"))
                {
                    (true, true) => text.to_owned(),
                    (false, true) => text.replace('-', "+").replace('_', "/"),
                    (_, false) if ["every", "hex", "ASCII"].iter().any(|part| name.contains(part)) => {
                        text.to_lowercase()
                    }
                    (_, false) => text.to_owned(),
                };
                let swapped = String::from_utf8(sealing.swap(open.as_bytes()).into_owned()).unwrap();
                assert_eq!(alphabet(&swapped), alphabet(&sealed), "{name} of {text}");
                let swapped = String::from_utf8(unsealing.swap(sealed.as_bytes()).into_owned()).unwrap();
                assert_eq!(alphabet(&swapped), alphabet(&open), "{name} of {text}, back");
                assert!(sealing.finds_any(open.as_bytes()) && !sealing.finds_any(sealed.as_bytes()));
            }
        }
    }
}

fn codes_of(text: &str, escaped: &str, write: fn(u32) -> String) -> String {
    text.chars().map(|c| if escaped.contains(c) { write(u32::from(c)) } else { c.to_string() }).collect()
}

fn all_but(text: &str, kept: &str, write: fn(u32) -> String) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || kept.contains(c);
    text.chars().map(|c| if is_kept(c) { c.to_string() } else { write(u32::from(c)) }).collect()
}

/// With the names of the characters whose codes are given, in the order of `&`, `<` and `>`.
fn named(text: &str, codes: &str) -> String {
    let names = ["&amp;", "&lt;", "&gt;"];
    codes
        .split(' ')
        .zip(names)
        .fold(text.to_owned(), |text, (code, name)| text.replace(&format!("&#{code};"), name))
}

/// As libraries of applications write what is neither a letter nor a digit.
const LIBRARIES: &[Writing] = &[
    (".NET", |text| codes_of(text, "<>&'+`", |c| format!("\\u{c:04X}"))),
    ("Gson", |text| codes_of(text, "<>&'=", |c| format!("\\u{c:04x}"))),
    ("Django's json_script", |text| codes_of(text, "<>&", |c| format!("\\u{c:04X}"))),
    ("Laravel", |text| codes_of(text, "<>&'", |c| format!("\\u{c:04X}")).replace('/', "\\/")),
    ("Go's scripts", |text| codes_of(text, "<>&'+=`", |c| format!("\\u{c:04x}")).replace('/', "\\/")),
    ("Twig's scripts", |text| all_but(text, ",._", |c| format!("\\u{c:04X}"))),
    ("ESAPI's scripts", |text| all_but(text, ",._", |c| format!("\\x{c:02X}"))),
    ("SQL", |text| text.replace('\'', "''")),
    ("Python's quote", |text| all_but(text, "-_.~/", |c| format!("%{c:02X}"))),
    ("escape in scripts", |text| all_but(text, "@*_+-./", |c| format!("%{c:02X}"))),
    ("ASP.NET", |text| html(text).replace('+', "&#x2B;")),
    ("Twig's attributes", |text| named(&all_but(text, ",.-_", |c| format!("&#x{c:02X};")), "x26 x3C x3E")),
    ("ESAPI", |text| named(&all_but(text, ",.-_", |c| format!("&#x{c:02x};")), "x26 x3c x3e")),
    ("AntiXSS", |text| named(&all_but(text, ",.-_", |c| format!("&#{c};")), "38 60 62")),
    ("BitConverter", |text| text.bytes().map(|byte| format!("{byte:02X}-")).collect()),
];

#[test]
fn a_secret_is_found_as_the_libraries_of_applications_escape_it() {
    let mut noise = Noise(11);
    let base64 = format!("{}+/{}==", noise.text(ALNUM, 14), noise.text(ALNUM, 14));
    for secret in [base64.as_str(), "aB3+x/9=Q&z<k>w'u~p!r*(e)7Ed9^m`c"] {
        let (secret, placeholder) = pair(secret);
        let sealing = Swapper::sealing([(&secret, &placeholder)]);
        for (name, write) in LIBRARIES {
            let (open, sealed) = (write(secret.expose_secret()), write(placeholder.as_str()));
            let swapped = String::from_utf8(sealing.swap(open.as_bytes()).into_owned()).unwrap();
            assert_eq!(swapped, sealed, "{name}");
        }
    }
}

/// Writings whose length depends on the character, and bytes that are no UTF-8. The value is found, and none of it stays.
#[test]
fn writings_without_room_lose_the_secret_too() {
    let mut noise = Noise(23);
    for _ in 0..300 {
        let (secret, placeholder) = pair(&noise.text(&format!("{ALNUM}-_"), 24));
        let text = secret.expose_secret();
        let sealing = Swapper::sealing([(&secret, &placeholder)]);
        let codes = |text: &str, separator: &str| -> String {
            text.chars().map(|c| u32::from(c).to_string()).collect::<Vec<_>>().join(separator)
        };
        for separator in [",", ", ", " "] {
            let open = format!("[{}]", codes(text, separator));
            let swapped = String::from_utf8(sealing.swap(open.as_bytes()).into_owned()).unwrap();
            assert!(swapped.len() == open.len() && swapped != open, "{swapped}");
            let numbers = swapped.trim_matches(['[', ']']).split(separator);
            let read: String = numbers.map(|n| char::from(n.parse::<u8>().unwrap())).collect();
            let kept = read.chars().zip(text.chars()).filter(|(one, other)| one == other).count();
            assert!(kept < text.len() / 2, "{read} of {text}");
        }
        // References mean the placeholder, whatever it takes to write it in as many bytes.
        for start in ["&#", "&amp;#"] {
            let open: String = text.chars().map(|c| format!("{start}{};", u32::from(c))).collect();
            let swapped = String::from_utf8(sealing.swap(open.as_bytes()).into_owned()).unwrap();
            assert_eq!(swapped.len(), open.len());
            assert_eq!(read_references(&swapped, start), placeholder.as_str(), "{swapped}");
        }
        for encode in [u16::to_le_bytes, u16::to_be_bytes] {
            let utf16 =
                |text: &str| format!("ab{text}cd").encode_utf16().flat_map(encode).collect::<Vec<u8>>();
            assert_eq!(sealing.swap(&utf16(text)), utf16(placeholder.as_str()));
        }
        let base32 = crate::encode::base32(text.as_bytes(), 0);
        assert!(sealing.finds_any(base32.as_bytes()) && sealing.finds_any(base32.to_lowercase().as_bytes()));
    }
    let (secret, placeholder) = pair(&noise.text(ALNUM, 200));
    let sealing = Swapper::sealing([(&secret, &placeholder)]);
    for (length, end) in [(76, "\r\n"), (76, "\n"), (64, "\n")] {
        let lines = |text: &str| {
            let encoded = BASE64_STANDARD.encode(text);
            encoded.as_bytes().chunks(length).map(String::from_utf8_lossy).collect::<Vec<_>>().join(end)
        };
        let swapped = sealing.swap(lines(secret.expose_secret()).as_bytes()).into_owned();
        let inner = |text: &str| text[..text.len() - 4].to_owned();
        assert_eq!(inner(&String::from_utf8(swapped).unwrap()), inner(&lines(placeholder.as_str())));
    }
}

#[test]
fn a_short_value_is_swapped_beside_its_name_and_nowhere_else() {
    let (secret, placeholder) = pair("48213");
    let swap = |name: &str, text: &str| {
        let named = [NamedSecret { name, secret: &secret, placeholder: &placeholder }];
        let swapper = Swapper::sealing_named([SwapPair::from((&secret, &placeholder))], named);
        String::from_utf8(swapper.swap(text.as_bytes()).into_owned()).unwrap()
    };
    for text in [
        "sid=48213; a=b",
        "?sid=48213&x",
        "{\"sid\":\"48213\"}",
        "{\"sid\": \"48213\"}",
        "{'sid': '48213'}",
        "sid: 48213",
    ] {
        assert_eq!(swap("sid", text), text.replace("48213", placeholder.as_str()), "{text}");
    }
    for text in ["48213", "pid=48213", "sid=48214", "{\"sid\":\"482130\"}"] {
        assert_eq!(swap("sid", text), text);
    }
    // Too short to mean anything.
    assert_eq!(swap("a", "data=48213"), "data=48213");
}

#[test]
fn the_memory_of_a_search_is_bounded() {
    let mut noise = Noise(29);
    let pairs: Vec<(Secret, Placeholder)> = (0..250).map(|_| pair(&noise.text(ALNUM, 64))).collect();
    let swapper = Swapper::sealing(pairs.iter().map(|(s, p)| (s, p)));
    // The usual forms of the values that come too late.
    assert!(swapper.automaton.len() < MAX_PATTERN_BYTES * 2, "{}", swapper.automaton.len());
    let (last, placeholder) = &pairs[249];
    let escaped = |text: &str| text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    assert!(swapper.finds_any(escaped(pairs[0].0.expose_secret()).as_bytes()));
    assert_eq!(swapper.swap(last.expose_secret().as_bytes()), placeholder.as_str().as_bytes());
    assert!(swapper.finds_any(hex_of(last.expose_secret()).as_bytes()));
}

#[test]
fn no_bit_of_a_secret_stays_in_base64_whatever_stands_beside_it() {
    let mut noise = Noise(11);
    for round in 0..200 {
        let length = 8 + round % 9;
        let (secret, placeholder) = pair(&noise.text(ALNUM, length));
        let (second, other) = pair(&noise.text(ALNUM, 12));
        let sealing = Swapper::sealing([(&secret, &placeholder), (&second, &other)]);
        let before = noise.text(ALNUM, round % 4);
        // Two secrets side by side share a character.
        let write = |one: &str, two: &str| BASE64_URL_SAFE_NO_PAD.encode(format!("{before}{one}{two}"));
        let open = write(secret.expose_secret(), second.expose_secret());
        let sealed = write(placeholder.as_str(), other.as_str());
        assert_eq!(sealing.swap(open.as_bytes()), sealed.as_bytes());
    }
}

#[test]
fn however_a_stream_is_cut_it_says_the_same() {
    let mut noise = Noise(13);
    let pairs: Vec<(Secret, Placeholder)> = secrets(&mut noise).iter().map(|secret| pair(secret)).collect();
    let swapper = Arc::new(Swapper::sealing(pairs.iter().map(|(secret, placeholder)| (secret, placeholder))));
    for (secret, _) in &pairs {
        let text = secret.expose_secret();
        let page = format!(
            "<p>{text}{text} or {}</p>{}",
            BASE64_STANDARD.encode(text),
            &text[..(text.len() / 2) & !3].chars().filter(char::is_ascii).collect::<String>()
        );
        let whole = swapper.swap(page.as_bytes()).into_owned();
        assert_ne!(whole, page.as_bytes());
        for cut in 0..=page.len() {
            let mut stream = swapper.stream();
            let mut out = stream.push(&page.as_bytes()[..cut]);
            out.extend(stream.push(&page.as_bytes()[cut..]));
            out.extend(stream.finish());
            assert_eq!(out, whole, "cut at {cut}");
        }
        for size in [1, 2, 3, 7, 50] {
            let mut stream = swapper.stream();
            let mut out: Vec<u8> =
                page.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
            out.extend(stream.finish());
            assert_eq!(out, whole, "pieces of {size}");
        }
    }
}

#[test]
fn a_stream_holds_back_only_what_could_be_the_beginning_of_a_secret() {
    let (secret, placeholder) = pair("Xq7Zk9Lm2XwTb4uV");
    let swapper = Arc::new(Swapper::sealing([(&secret, &placeholder)]));
    let mut stream = swapper.stream();
    for event in ["data: tick 1\n\n", "data: {\"n\": 2}\n\n", ": ping\n\n", "event: x\ndata: Xq7Zk\n\n"] {
        assert_eq!(stream.push(event.as_bytes()), event.as_bytes());
    }
    assert_eq!(stream.push(b"data: Xq7Zk9"), b"data: ");
    assert_eq!(stream.push(b"!"), b"Xq7Zk9!");
    // A whole secret goes out at once.
    assert_eq!(stream.push(b"\"Xq7Zk9Lm2XwTb4uV\""), format!("\"{}\"", placeholder.as_str()).as_bytes());
    // Its last character may be the first of the next one in base64, which it shares with what stands before.
    let out = stream.push(b"Xq7Zk9Lm2XwTb4uV");
    assert!(out.len() >= 15 && placeholder.as_str().as_bytes().starts_with(&out));
    assert_eq!(out.len() + stream.finish().len(), 16);
}

#[test]
fn parts_and_short_values_are_never_swapped() {
    let (long, long_placeholder) = pair("0123456789abcdefghijklmnopqrstuv");
    let short: Vec<(Secret, Placeholder)> =
        ["dark", "1234567", "a-b-c-d-e", "!!!!!!!!!!", ""].map(pair).into();
    let swapper =
        Swapper::sealing([(&long, &long_placeholder)].into_iter().chain(short.iter().map(|(s, p)| (s, p))));
    for text in [
        "0123456789abcdefghijklmnopqrstu",
        "123456789abcdefghijklmnopqrstuv",
        "dark 1234567 a-b-c-d-e !!!!!!!!!!",
    ] {
        assert!(matches!(swapper.swap(text.as_bytes()), Cow::Borrowed(_)), "{text}");
    }
    // In base64 too: one character less on either side, or another one there.
    for part in [
        "0123456789abcdefghijklmnopqrstuw",
        "1123456789abcdefghijklmnopqrstuv",
        "p123456789abcdefghijklmnopqrstuv",
    ] {
        for before in ["", "x", "xy"] {
            let encoded = BASE64_STANDARD.encode(format!("{before}{part}"));
            assert!(!swapper.finds_any(encoded.as_bytes()), "{part}");
        }
    }
    assert!(Swapper::sealing(short.iter().map(|(s, p)| (s, p))).is_empty());
}

#[test]
fn of_two_secrets_that_begin_alike_the_longer_wins() {
    let (one, one_placeholder) = pair("abcdefgh1234");
    let (two, two_placeholder) = pair("abcdefgh1234.QRSTUVWX");
    let swapper = Swapper::sealing([(&two, &two_placeholder), (&one, &one_placeholder)]);
    let text = format!("{} {}", two.expose_secret(), one.expose_secret());
    let expected = format!("{} {}", two_placeholder.as_str(), one_placeholder.as_str());
    assert_eq!(swapper.swap(text.as_bytes()), expected.as_bytes());
    for before in ["", "a", "ab"] {
        let open = BASE64_STANDARD.encode(format!("{before}{}!", two.expose_secret()));
        let sealed = BASE64_STANDARD.encode(format!("{before}{}!", two_placeholder.as_str()));
        assert_eq!(swapper.swap(open.as_bytes()), sealed.as_bytes());
    }
}

#[test]
fn the_token_within_a_stored_document_is_swapped_where_it_stands_alone() {
    let token = "pat_0123456789abcdefABCDEF";
    let (secret, placeholder) = pair(&format!(r#"{{"access":"{token}","exp":1}}"#));
    let held: serde_json::Value = serde_json::from_str(placeholder.as_str()).unwrap();
    let held = held["access"].as_str().unwrap();
    let unsealing = Swapper::unsealing([(&secret, &placeholder)]);
    assert_eq!(unsealing.swap(format!("Bearer {held}").as_bytes()), format!("Bearer {token}").as_bytes());
    let sealing = Swapper::sealing([(&secret, &placeholder)]);
    assert_eq!(sealing.swap(token.as_bytes()), held.as_bytes());
}

#[test]
fn long_values_and_many_of_them_are_swapped_in_time_that_grows_with_the_text() {
    let mut noise = Noise(17);
    let mut pairs: Vec<(Secret, Placeholder)> = (0..1000).map(|_| pair(&noise.text(ALNUM, 32))).collect();
    pairs.push(pair(&noise.text(ALNUM, 64 << 10)));
    pairs.push(pair(&format!("{}b0123456789", "a".repeat(4000))));
    let swapper = Arc::new(Swapper::sealing(pairs.iter().map(|(s, p)| (s, p))));
    let long = &pairs[1000];
    let page = format!("{}{}{}", "lorem ipsum ".repeat(1000), long.0.expose_secret(), "a".repeat(100_000));
    let begun = std::time::Instant::now();
    let mut stream = swapper.stream();
    let mut out: Vec<u8> = page.as_bytes().chunks(1000).flat_map(|piece| stream.push(piece)).collect();
    out.extend(stream.finish());
    assert_eq!(out, page.replace(long.0.expose_secret(), long.1.as_str()).as_bytes());
    // Unoptimised, on a busy machine.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

/// Text with decimal references, which start like this.
fn read_references(text: &str, start: &str) -> String {
    let mut read = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match rest.strip_prefix(start).and_then(|rest| rest.split_once(';')) {
            Some((number, after)) => {
                read.push(char::from(number.parse::<u8>().unwrap()));
                rest = after;
            }
            None => {
                read.push(c);
                rest = &rest[1..];
            }
        }
    }
    read
}
