//! Feeds broken versions of good files to the readers of foreign formats. Two seconds each in a test run; ten minutes
//! with `make fuzz`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::sops::Sops;
use common::{TestGrants, full_document, host, id};
use jiff::Timestamp;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use vault::{Credential, Issuer, SopsBackend, SopsKeys, Vault, import};

const STORAGE_STATE: &str = r#"{"cookies":[{"name":"sid","value":"v","domain":".a.test","path":"/","expires":-1,
"httpOnly":true,"secure":true,"sameSite":"Strict"}],"origins":[{"origin":"https://a.test:8443",
"localStorage":[{"name":"k","value":"\u0000\ud83d\ude00"}],"indexedDB":[]}]}"#;
const COOKIES_TXT: &str = "# Netscape HTTP Cookie File\n#HttpOnly_.a.test\tTRUE\t/\tTRUE\t1900000000\tn\tv\r\n\
a.test\tFALSE\t/x\tFALSE\t0\tm\t\n";
const EXTENSION: &str = r#"[{"domain":".a.test","expirationDate":1900000000.25,"hostOnly":false,"httpOnly":false,
"name":"n","path":"/","sameSite":"no_restriction","secure":true,"session":false,"value":"v"}]"#;

/// Fragments that readers often handle wrongly.
const PIECES: &[&str] = &[
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e999",
    "9223372036854775808",
    "\t",
    "\n",
    "\r\n",
    "\0",
    "\u{feff}",
    "é",
    "\u{202e}",
    "#HttpOnly_",
    "domain",
    "cookies",
    "origins",
    "secret",
    "totp",
    "otpauth://totp/x?secret=",
    "ENC[AES256_GCM,data:,iv:,tag:,type:str]",
    "sops",
    "age",
    "mac",
    "lastmodified",
    "&a ",
    "*a",
    "!!binary ",
    "---\n",
    "- ",
    "? ",
    "|\n",
    ">\n",
    "<<: ",
    ".",
    "..",
    "[::1]",
    "xn--",
    "https://a.test",
    "//",
    "=",
];

/// A small generator: runs of the same length have the same inputs.
struct SeededRandom(u64);

impl SeededRandom {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

fn broken(seeds: &[Vec<u8>], dice: &mut SeededRandom) -> Vec<u8> {
    let mut text = seeds[dice.roll(seeds.len())].clone();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(text.len() + 1);
        let end = (at + dice.roll(40)).min(text.len());
        match dice.roll(7) {
            0 if !text.is_empty() => {
                let at = at.min(text.len() - 1);
                text[at] ^= 1 << dice.roll(8);
            }
            1 => drop(text.drain(at..end)),
            2 => drop(text.splice(at..at, PIECES[dice.roll(PIECES.len())].bytes())),
            3 => drop(text.splice(at..end, PIECES[dice.roll(PIECES.len())].bytes())),
            4 => {
                let part = text[at..end].to_vec();
                let many = part.repeat(1 + dice.roll(64));
                drop(text.splice(at..at, many));
            }
            5 => {
                let other = &seeds[dice.roll(seeds.len())];
                let from = dice.roll(other.len() + 1);
                drop(text.splice(at..end, other[from..].iter().copied()));
            }
            _ => text.truncate(at),
        }
        text.truncate(200_000);
    }
    text
}

fn feed(what: &str, seeds: Vec<Vec<u8>>, mut read: impl FnMut(&[u8]) -> bool) {
    let seconds = std::env::var("STOCKADE_FUZZ_SECONDS").map_or(2, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut dice = SeededRandom(0x5eed_0f57_0c4a_de01);
    for seed in &seeds {
        assert!(read(seed), "{what}: a seed is not read: {}", String::from_utf8_lossy(seed));
    }
    let (mut runs, mut good) = (0u64, 0u64);
    while Instant::now() < end {
        let text = broken(&seeds, &mut dice);
        match catch_unwind(AssertUnwindSafe(|| read(&text))) {
            Ok(read) => good += u64::from(read),
            Err(_) => panic!("{what}: a panic over {:?}", String::from_utf8_lossy(&text)),
        }
        runs += 1;
    }
    println!("{what}: {runs} runs, {good} of them read as good");
    assert!(runs > 50 && good < runs, "{what}: {runs} runs, {good} good");
}

#[test]
fn no_credential_makes_its_reader_panic() {
    let second = r#"{"domain":"a.test","basic":{"username":"u","password":"p"},"totp":"otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ"}"#;
    feed("credentials", vec![full_document("a.test").into(), second.into()], |text| {
        let Ok(credential) = Credential::from_json(text) else { return false };
        // Whatever was read can be written, read again and used.
        let written = credential.to_json();
        assert!(Credential::from_json(written.as_bytes()).is_ok_and(|again| *again.to_json() == *written));
        if let Some(totp) = &credential.totp {
            assert!((6..=8).contains(&totp.code_at(Timestamp::now()).expose_secret().len()));
        }
        true
    });
}

#[test]
fn no_file_makes_an_importer_panic() {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    for (what, seed) in
        [("storage states", STORAGE_STATE), ("cookies.txt", COOKIES_TXT), ("extensions", EXTENSION)]
    {
        feed(what, vec![seed.into()], |text| {
            let Ok(imported) = import(text, &host("a.test"), now) else { return false };
            let written = imported.credential.to_json();
            let again = Credential::from_json(written.as_bytes());
            assert!(again.is_ok(), "an import that the store would refuse: {:?}", again.err());
            true
        });
    }
}

#[test]
fn no_sops_file_makes_its_reader_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (sops, folder) = (Sops::new(), tempfile::tempdir().unwrap());
    let consumed = runtime
        .block_on(async { TestGrants::new().consume_new("default", &["a.test"], Issuer::Operator).await });
    let keys = SopsKeys::File(sops.folder.path().join("keys.txt"));
    let vault = Vault::Sops(SopsBackend::new(&folder.path().to_string_lossy(), keys));
    for extension in ["yaml", "json"] {
        let file = folder.path().join(format!("c.{extension}"));
        sops.encrypt(&file, &full_document("a.test"), &[]);
        let first = std::fs::read(&file).unwrap();
        sops.encrypt(&file, r#"{"domain": "a.test", "headers": {"X-Key": "value"}, "cookies": []}"#, &[]);
        let seeds = vec![first, std::fs::read(&file).unwrap()];
        feed(&format!("sops {extension}"), seeds, |text| {
            std::fs::write(&file, text).unwrap();
            runtime.block_on(vault.open_for_grant(&consumed, &id("c"))).is_ok()
        });
        std::fs::remove_file(file).unwrap();
    }
}
