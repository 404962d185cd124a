//! Placeholders keep length, alphabet and structure, and nothing else.

use super::*;
use crate::value_structure::leaves_of;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

fn placeholder(secret: &str) -> String {
    Placeholder::for_secret(&Secret::new(secret.to_owned())).as_str().to_owned()
}

const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

#[test]
fn every_character_stays_in_its_class() {
    for secret in [
        "aZ0-bY1_cX2.dW3:eV4",
        "s:q7Zk9.Lm2Xw",
        "user name+x=1&y",
        "12345678",
        "abcdefgh",
        "ABCDEFGH",
        "a",
        "7",
    ] {
        for _ in 0..50 {
            let made = placeholder(secret);
            assert_ne!(made, secret);
            assert_eq!(made.len(), secret.len());
            for (old, new) in secret.chars().zip(made.chars()) {
                let class = |c: char| (c.is_ascii_digit(), c.is_ascii_lowercase(), c.is_ascii_uppercase());
                assert!(
                    class(old) == class(new) && (old.is_ascii_alphanumeric() || old == new),
                    "{secret} {made}"
                );
            }
        }
    }
}

#[test]
fn hexadecimal_stays_hexadecimal_and_a_uuid_stays_one() {
    for secret in
        ["d41d8cd98f00b204e9800998ecf8427e", "DEADBEEF00112233", "abcdefabcdef", "de:ad:be:ef:00:11"]
    {
        let made = placeholder(secret);
        for (old, new) in secret.chars().zip(made.chars()) {
            assert!(if old == ':' { new == ':' } else { new.is_ascii_hexdigit() }, "{made}");
            assert_eq!(made.to_uppercase() == made, secret.to_uppercase() == secret);
        }
    }
    let made = placeholder("0b9f6e3c-5a7d-4c21-9e8f-aa10bb20cc30");
    assert!(made.as_bytes()[14] == b'4' && matches!(made.as_bytes()[19], b'8' | b'9'), "{made}");
    let numbers = placeholder("20260101123456789012");
    assert!(numbers.bytes().all(|byte| byte.is_ascii_digit()), "{numbers}");
}

#[test]
fn a_signed_token_keeps_its_claims_and_an_encrypted_one_its_header() {
    let payload = BASE64_URL_SAFE_NO_PAD.encode(r#"{"sub":"alice","exp":1999999999}"#);
    let secret = format!("{HEADER}.{payload}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c");
    let made = placeholder(&secret);
    let kept = HEADER.len() + payload.len() + 2;
    assert_eq!(made[..kept], secret[..kept]);
    assert!(made.len() == secret.len() && made[kept..] != secret[kept..]);
    let encrypted = format!("{HEADER}.AAAAbbbb1111.CCCCdddd2222.EEEEffff3333.GGGGhhhh4444");
    let made = placeholder(&encrypted);
    assert!(made.starts_with(HEADER) && !made.contains("AAAAbbbb1111"), "{made}");
    let bearer = placeholder(&format!("Bearer {secret}"));
    assert_eq!(bearer[..7 + kept], format!("Bearer {secret}")[..7 + kept]);
}

#[test]
fn json_stays_json_with_its_keys_numbers_and_dates() {
    let token = "pat_0123456789abcdefABCDEF";
    let value = format!(
        r#"{{"token":"{token}","exp":1999999999,"ok":true,"none":null,"since":"2026-01-01T00:00:00Z","mail":"alice@example.org","name":"Alice Liddell","type":"Bearer","list":["{token}x", 5]}}"#
    );
    let check = |made: &str| {
        let read: serde_json::Value = serde_json::from_str(made).unwrap();
        assert_eq!(read["exp"], 1_999_999_999);
        assert_eq!((&read["ok"], &read["none"]), (&true.into(), &serde_json::Value::Null));
        assert_eq!(read["since"], "2026-01-01T00:00:00Z");
        assert_eq!((&read["mail"], &read["name"]), (&"alice@example.org".into(), &"Alice Liddell".into()));
        assert_eq!(read["type"], "Bearer");
        assert!(
            read["token"] != token && read["token"].as_str().unwrap().starts_with(|c: char| c.is_lowercase())
        );
        assert!(!made.contains(token) && read["list"][1] == 5);
    };
    let made = placeholder(&value);
    check(&made);
    assert_eq!(made.len(), value.len());
    // As strings of JSON in JSON, in base64, and percent-encoded in a cookie.
    let nested = serde_json::json!({ "auth": value, "version": -1 }).to_string();
    let made = placeholder(&nested);
    assert_eq!(made.len(), nested.len());
    check(serde_json::from_str::<serde_json::Value>(&made).unwrap()["auth"].as_str().unwrap());
    let made = placeholder(&format!("base64-{}", BASE64_STANDARD.encode(&value)));
    let inner = BASE64_STANDARD.decode(made.strip_prefix("base64-").unwrap()).unwrap();
    check(std::str::from_utf8(&inner).unwrap());
    let escaped: String =
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20");
    let made = placeholder(&escaped);
    assert_eq!(made.len(), escaped.len());
    let query = format!("x={made}");
    let (_, inner) = url::form_urlencoded::parse(query.as_bytes()).next().unwrap();
    check(&inner);
    let quoted = placeholder(&format!("\"{token}\""));
    assert!(quoted.starts_with('"') && quoted.ends_with('"') && !quoted.contains(token));
}

#[test]
fn what_stands_under_the_name_of_a_credential_is_replaced_whatever_it_looks_like() {
    for (value, pointer) in [
        (r#"{"pin":4821}"#, "/pin"),
        (r#"{"pin": "4821", "n": 1}"#, "/pin"),
        (r#"{"password":"correct horse"}"#, "/password"),
        (r#"{"api_key":"me@work"}"#, "/api_key"),
        (r#"{"accessToken":"2026-01-01-x"}"#, "/accessToken"),
        (r#"{"auth":{"token":12345678901}}"#, "/auth/token"),
        (r#"{"otp":[111222,333444],"count":3}"#, "/otp/1"),
        (r#"{"value":"ftp://user:Xk29fjq8@host"}"#, "/value"),
        (r#"{"value":"https://me:Xk29fjq8@host/"}"#, "/value"),
        (r#"{"value":"Xk29@fjq8slw01"}"#, "/value"),
    ] {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let made = placeholder(value);
        assert_eq!(made.len(), value.len(), "{made}");
        assert_ne!(read(&made).pointer(pointer), read(value).pointer(pointer), "{made}");
        let lengths = |text: &str| leaves_of(text).iter().map(|leaf| leaf.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&made), lengths(value), "{made}");
    }
    // What a page computes with, and what is no credential.
    for value in [
        r#"{"token_type":"Bearer","expires_in":3600,"token_expires":1999999999,"x":"0123456789abcdef"}"#,
        r#"{"token":"ada@example.org","feed":"https://example.org/feed/1","x":"0123456789abcdef"}"#,
        r#"{"pin":0.5e3,"list":[{"n":12}],"x":"0123456789abcdef"}"#,
    ] {
        let mut made: serde_json::Value = serde_json::from_str(&placeholder(value)).unwrap();
        made["x"] = "0123456789abcdef".into();
        assert_eq!(made, serde_json::from_str::<serde_json::Value>(value).unwrap());
    }
}

#[test]
fn escapes_in_a_cookie_stay_escapes() {
    let made = placeholder("s%3Aabc123DEF456.QRST%2Bxyz%3d%41");
    let shape = |text: &str| text.match_indices('%').map(|(at, _)| at).collect::<Vec<_>>();
    assert_eq!(shape(&made), shape("s%3Aabc123DEF456.QRST%2Bxyz%3d%41"));
    assert!(made[1..4] == *"%3A" && made.contains("%2B") && made.contains("%3d"), "{made}");
    let letters = placeholder("%C3%A9%C3%A9%C3%A9%C3%A9%ce%bbabcdefgh");
    assert!(escaped_byte(&letters).is_some() && letters.len() == 38, "{letters}");
    // Bytes that are no UTF-8.
    let bytes = placeholder("%ff%fe%00%01%E9%E8abcdefgh");
    assert!(bytes.len() == 26 && bytes.contains("%00%01") && bytes.starts_with('%'), "{bytes}");
}

#[test]
fn other_scripts_keep_the_length_of_every_escaped_form() {
    for secret in [
        "пароль-секретный",
        "grüße-und-straße",
        "日本語のパスワード",
        "😀😁😂😃😄😅",
        "कखगघङचछज",
        "ăâîșț-2026",
    ] {
        let made = placeholder(secret);
        assert_ne!(made, secret);
        for (old, new) in secret.chars().zip(made.chars()).filter(|(old, _)| !old.is_ascii()) {
            let lengths = |c: char| {
                let code = u32::from(c);
                (c.len_utf8(), c.len_utf16(), format!("{code}").len(), format!("{code:x}").len())
            };
            assert_eq!(lengths(old), lengths(new), "{old} {new}");
        }
    }
}

#[test]
fn values_without_a_letter_differ_too_and_none_is_shown_by_debug() {
    for secret in ["!", "!!!!!!", "{}", "[]", "\"\"", "%20", r#"{"pin":"1234"}"#, r#"{"a":1}"#] {
        let made = placeholder(secret);
        assert!(made != secret && made.len() == secret.len(), "{secret} {made}");
    }
    let pin: serde_json::Value = serde_json::from_str(&placeholder(r#"{"pin":"1234"}"#)).unwrap();
    assert!(pin["pin"].as_str().unwrap().parse::<u16>().is_ok());
    assert_eq!(placeholder(""), "");
    let shown = format!("{:?}", Placeholder::for_secret(&Secret::new("hunter2hunter2".to_owned())));
    assert_eq!(shown, "Placeholder(..)");
}

#[test]
fn a_secret_and_its_placeholder_have_the_same_leaves() {
    for secret in [
        r#"{"a":{"b":["0123456789abcdef","x"]},"c":"{\"d\":\"AAAABBBBCCCC1111\"}"}"#,
        "s%3Aabc123DEF456.QRST%2Bxyz",
        "Bearer abcdefgh12345678",
        "plain-value-0123456789",
    ] {
        let lengths = |text: &str| leaves_of(text).iter().map(|leaf| leaf.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&placeholder(secret)), lengths(secret));
        assert!(!lengths(secret).is_empty());
    }
}
