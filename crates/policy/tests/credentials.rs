//! The credential scanner, counted: what looks like a credential is found, and ordinary text is let through.
//!
//! No value is printed by a failing test: a made one is named by its form, a line of text by its file and number.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use policy::credential::{CredentialKind, detect, find_all};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const CREDENTIALS: usize = 1_000;
const LINES: usize = 10_000;

/// A fixed sequence that looks like chance; the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn of(&mut self, letters: &str, count: usize) -> String {
        (0..count).map(|_| char::from(letters.as_bytes()[self.roll(letters.len())])).collect()
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A form: `{M36}` is 36 of the letters that `M` stands for. Marks are written in two parts, so that no file of ours
/// looks as if it held a key.
const FORMS: [&str; 64] = [
    "AK|IA{U16}",
    "AS|IA{U16}",
    "AI|za{W35}",
    "ya|29.{W60}",
    "GOC|SPX-{W28}",
    "1/|/0{W43}",
    "do|p_v1_{H64}",
    "doo|_v1_{H64}",
    "gh|p_{M36}",
    "gh|o_{M36}",
    "gh|s_{M36}",
    "github|_pat_{M22}_{M59}",
    "gl|pat-{M20}",
    "gl|rt-{M20}",
    "ATA|TT3{M60}",
    "np|m_{M36}",
    "py|pi-AgE{W60}",
    "ruby|gems_{H48}",
    "ci|o{M32}",
    "dckr|_pat_{W27}",
    "s|k-proj-{M48}",
    "s|k-{M48}",
    "s|k-ant-api03-{W60}",
    "h|f_{M34}",
    "r8|_{M37}",
    "gs|k_{M52}",
    "xo|xb-{D12}-{D12}-{M24}",
    "xo|xp-{D12}-{D12}-{H32}",
    "hooks.sl|ack.com/services/T{U9}/B{U9}/{M24}",
    "{D10}:A|A{W33}",
    "N{M23}.{W6}.{W27}",
    "S|G.{W22}.{W43}",
    "ke|y-{H32}",
    "{H32}-u|s{D1}",
    "S|K{H32}",
    "A|C{H32}",
    "s|k_live_{M24}",
    "r|k_live_{M24}",
    "s|k_test_{M24}",
    "wh|sec_{B32}",
    "shp|at_{H32}",
    "sq0|atp-{W22}",
    "EA|A{M120}",
    "li|n_api_{M40}",
    "nt|n_{M46}",
    "fi|gd_{W40}",
    "pa|t{M14}.{H64}",
    "da|pi{H32}",
    "hv|s.{W90}",
    "dp|.pt.{M43}",
    "{M14}.atlas|v1.{W67}",
    "pu|l-{H40}",
    "gl|sa_{M32}_{H8}",
    "NR|AK-{U27}",
    "sntr|ys_{B60}",
    "ts|key-auth-{M17}-{M32}",
    "ey|J{W30}.ey|J{W80}.{W43}",
    "ey|J{W20}.ey|J{W200}.{W86}",
    "Authorization: Bearer {M40}",
    "api_key={M32}",
    "postgres://app:{M16}@db.internal/app",
    "{B40}",
    "{W43}",
    "{M32}",
];

fn made(form: &str, dice: &mut Dice) -> String {
    let mut made = String::new();
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('{') {
        made.push_str(before);
        let (kind, after) = after.split_once('}').unwrap();
        let letters = match &kind[..1] {
            "D" => DIGITS,
            "H" => HEX,
            "U" => UPPER,
            "L" => LOWER,
            "M" => MIXED,
            "B" => BASE64,
            "W" => URL64,
            other => panic!("{other}"),
        };
        made.push_str(&dice.of(letters, kind[1..].parse().unwrap()));
        rest = after;
    }
    format!("{made}{rest}").replace('|', "")
}

fn card(dice: &mut Dice) -> String {
    let (first, length) =
        [("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("37", 15), ("6011", 16), ("3530", 16), ("36", 14)]
            [dice.roll(8)];
    let mut digits = format!("{first}{}", dice.of(DIGITS, length - 1 - first.len()));
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let value = u32::from(digit - b'0') * if place % 2 == 0 { 2 } else { 1 };
            if value > 9 { value - 9 } else { value }
        })
        .sum();
    digits.push(char::from(b'0' + ((10 - sum % 10) % 10) as u8));
    let gap = dice.pick(&["", " ", "-"]);
    digits.as_bytes().chunks(4).map(|four| str::from_utf8(four).unwrap()).collect::<Vec<_>>().join(gap)
}

fn private_key(dice: &mut Dice) -> String {
    let kind = dice.pick(&["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]);
    format!("-----BEGIN {kind}PRIV{}-----\n{}\n", "ATE KEY", dice.of(BASE64, 64))
}

#[test]
fn at_least_99_percent_of_a_thousand_credentials_are_found() {
    let mut dice = Dice(7);
    let mut missed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found_as: BTreeMap<&str, usize> = BTreeMap::new();
    for number in 0..CREDENTIALS {
        let (form, text) = match number % (FORMS.len() + 4) {
            0 | 1 => ("a card number", card(&mut dice)),
            2 => ("a private key", private_key(&mut dice)),
            3 => ("a hexadecimal key", dice.of(HEX, 32)),
            other => (FORMS[other - 4], made(FORMS[other - 4], &mut dice)),
        };
        let text = match dice.roll(4) {
            0 => format!("here it is: {text}"),
            1 => format!("{text}\n"),
            2 => format!("\"{text}\""),
            _ => text,
        };
        match detect(&text) {
            Some(kind) => *found_as.entry(kind.as_str()).or_default() += 1,
            None => *missed.entry(form).or_default() += 1,
        }
    }
    let total: usize = missed.values().sum();
    assert!(total * 100 <= CREDENTIALS, "{total} of {CREDENTIALS} missed: {missed:?}");
    for kind in [
        CredentialKind::PrivateKey,
        CredentialKind::WebToken,
        CredentialKind::Vendor,
        CredentialKind::Named,
        CredentialKind::Card,
        CredentialKind::Random,
    ] {
        assert!(found_as.contains_key(kind.as_str()), "none was {}", kind.as_str());
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, extension, into);
        } else if path.extension().is_some_and(|e| e == extension) {
            into.push(path);
        }
    }
}

/// Up to so many lines with words in them, spread over the files.
fn lines_of(paths: &[PathBuf], most: usize, clean: fn(&str) -> String) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for path in paths {
        let text = clean(&fs::read_to_string(path).unwrap());
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let lines = text.lines().enumerate().filter(|(_, line)| line.trim().len() > 3);
        all.extend(lines.map(|(number, line)| (format!("{name}:{}", number + 1), line.to_owned())));
    }
    let step = (all.len() / most).max(1);
    all.into_iter().step_by(step).take(most).collect()
}

/// What stands between the tags, as a person would copy it.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&quot;", "\"")
}

/// What people type into shops and forms: products, addresses, dates, numbers.
fn product(number: usize, dice: &mut Dice) -> (String, String) {
    let maker = dice
        .pick(&["Logitech", "Bosch", "IKEA", "Sony", "Dell", "Canon", "LEGO", "Makita", "Garmin", "Anker"]);
    let thing = dice.pick(&[
        "MX Keys S",
        "WH-1000XM5",
        "PowerBank",
        "GSR 18V-55",
        "EOS R6",
        "KALLAX",
        "XPS 13 9340",
        "fēnix",
    ]);
    let model = format!("{}{}-{}", dice.of("ABCDEFGHKLMNPRST", 3), dice.of(DIGITS, 4), dice.of("ABCX", 1));
    let line = match number % 12 {
        0 => format!("{maker} {thing} {model}"),
        1 => format!("SKU {}-{}-{}", dice.of(UPPER, 4), dice.of(UPPER, 4), dice.of(UPPER, 4)),
        2 => format!("order number {}-{}-{}", dice.of(DIGITS, 3), dice.of(DIGITS, 7), dice.of(DIGITS, 7)),
        3 => format!(
            "https://shop.test/p/{}-{}?ref=list_{}",
            maker.to_lowercase(),
            dice.of(DIGITS, 6),
            dice.of(DIGITS, 2)
        ),
        4 => format!("tracking 1Z{}", dice.of(UPPER, 16)),
        5 => format!("EAN {}", dice.of(DIGITS, 13)),
        6 => format!("commit {}", dice.of(HEX, 40)),
        7 => format!(
            "id {}-{}-4{}-a{}-{}",
            dice.of(HEX, 8),
            dice.of(HEX, 4),
            dice.of(HEX, 3),
            dice.of(HEX, 3),
            dice.of(HEX, 12)
        ),
        8 => format!(
            "2026-{:02}-{:02}T{:02}:15:00Z +49 30 {}",
            1 + dice.roll(12),
            1 + dice.roll(28),
            dice.roll(24),
            dice.of(DIGITS, 8)
        ),
        9 => format!("sha256:{}", dice.of(HEX, 64)),
        10 => format!(
            "ISBN 978-{}-{}-{}-{}",
            dice.of(DIGITS, 1),
            dice.of(DIGITS, 4),
            dice.of(DIGITS, 4),
            dice.of(DIGITS, 1)
        ),
        _ => format!(
            "get{maker}By{}Id{}(user_{}, page_{})",
            dice.pick(&["Order", "Item"]),
            dice.of(DIGITS, 2),
            dice.of(DIGITS, 5),
            dice.of(DIGITS, 1)
        ),
    };
    (format!("product {number}"), line)
}

#[test]
fn at_most_one_in_a_thousand_ordinary_lines_is_a_false_positive() {
    let manual = root().join("target/pgdoc/usr/share/doc");
    assert!(manual.is_dir(), "the PostgreSQL manual is missing: run script/setup bench");
    let mut code = Vec::new();
    files(&root().join("crates"), "rs", &mut code);
    files(&root().join("crates"), "js", &mut code);
    let mut prose = Vec::new();
    files(&root().join("docs"), "md", &mut prose);
    prose.push(root().join("ARCHITECTURE.md"));
    prose.push(root().join("README.md"));
    let mut pages = Vec::new();
    files(&manual, "html", &mut pages);
    let mut dice = Dice(11);
    let mut lines = lines_of(&code, 3_000, str::to_owned);
    lines.extend(lines_of(&prose, 1_000, str::to_owned));
    lines.extend(lines_of(&pages, 4_000, without_tags));
    lines.extend((0..LINES - lines.len()).map(|number| product(number, &mut dice)));
    assert_eq!(lines.len(), LINES);
    let alarms: Vec<String> = lines
        .iter()
        .filter_map(|(place, line)| detect(line).map(|kind| format!("{place}: {}", kind.as_str())))
        .collect();
    assert!(alarms.len() * 1_000 <= LINES, "{} false alarms:\n{}", alarms.len(), alarms.join("\n"));
}

#[test]
fn credentials_are_found_at_their_position() {
    let mut dice = Dice(23);
    for form in FORMS {
        let secret = made(form, &mut dice);
        if matches!(detect(&secret), None | Some(CredentialKind::Card)) {
            continue;
        }
        let text = format!("Grüße ∂ {secret} — und weiter");
        let marked = find_all(&text);
        let (start, end) = (text.find(&secret).unwrap(), text.find(&secret).unwrap() + secret.len());
        let found: usize = marked.iter().map(|at| at.end.min(end).saturating_sub(at.start.max(start))).sum();
        // A word before the value itself, such as `token=`, may stand.
        assert!(found * 2 >= secret.len(), "{form}: {found} of {}", secret.len());
        assert!(marked.iter().all(|at| at.start >= start && at.end <= end), "{form}: more than the secret");
    }
    assert!(find_all("The quick brown fox, order 4711, https://shop.test/p/bosch-123456").is_empty());
}

#[test]
fn a_very_long_text_is_searched_in_little_time() {
    let text = "aB3 ".repeat(1_000_000);
    assert_eq!(detect(&text), None);
    let digits = "4".repeat(200_000);
    assert_eq!(detect(&digits), None);
}
