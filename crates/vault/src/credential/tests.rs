//! Reading and writing credentials: what is refused, and which field is named.

use crate::credential::{Credential, Host, Probe, SignInState, Totp, TotpAlgorithm};
use crate::secret_tree::SecretNode;
use jiff::Timestamp;

const SECRET: &str = "S3CR3T-do-not-print";

/// The field and the reason, as a person reads them.
fn refusal(document: &str) -> String {
    match Credential::from_json(document.as_bytes()) {
        Ok(_) => panic!("accepted: {document}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_refusal_names_the_field_and_never_the_value() {
    let with = |fields: &str| format!(r#"{{"domain":"a.test",{fields}}}"#);
    let cookie = |fields: &str| with(&format!(r#""cookies":[{{"name":"n","value":"{SECRET}"{fields}}}]"#));
    let long = "x".repeat(4097);
    for (document, field) in [
        ("".to_owned(), "it is not JSON"),
        (format!("\"{SECRET}"), "it is not JSON"),
        ("[]".to_owned(), "this must be a map"),
        ("{}".to_owned(), "domain: this is missing"),
        (r#"{"domain":5}"#.to_owned(), "domain: this must be a text"),
        (r#"{"domain":"https://a.test"}"#.to_owned(), "domain: "),
        (r#"{"domain":"*.a.test"}"#.to_owned(), "domain: "),
        (r#"{"domain":"a.test","domain":"b.test"}"#.to_owned(), "it is not JSON: a field occurs twice"),
        (r#"{"domain":"a.test"}"#.to_owned(), "domain: nothing in this document signs in"),
        (with(r#""cookeis":[]"#), "cookeis: there is no such field"),
        (with(r#""cookies":{}"#), "cookies: this must be a list"),
        (with(r#""cookies":[5]"#), "cookies[0]: this must be a map"),
        (with(r#""cookies":[{"value":"x"}]"#), "cookies[0].name: this is missing"),
        (with(r#""cookies":[{"name":"a;b","value":"x"}]"#), "cookies[0].name: "),
        (with(r#""cookies":[{"name":"a","value":"x;y"}]"#), "cookies[0].value: "),
        (with(r#""cookies":[{"name":"a","value":"x\ny"}]"#), "cookies[0].value: "),
        (with(&format!(r#""cookies":[{{"name":"a","value":"{long}"}}]"#)), "cookies[0].value: "),
        (cookie(r#","secrte":false"#), "cookies[0].secrte: there is no such field"),
        (cookie(r#","secret":"no""#), "cookies[0].secret: this must be true or false"),
        (cookie(r#","domain":"b.test""#), "cookies[0].domain: "),
        (cookie(r#","domain":".b.test""#), "cookies[0].domain: "),
        (cookie(r#","domain":".test""#), "cookies[0].domain: "),
        (cookie(r#","domain":"sub.a.test""#), "cookies[0].domain: "),
        (cookie(r#","path":"x""#), "cookies[0].path: "),
        (cookie(r#","expires":"soon""#), "cookies[0].expires: this must be a number"),
        (cookie(r#","expires":1e300"#), "cookies[0].expires: this must be a number"),
        (cookie(r#","sameSite":"Sometimes""#), "cookies[0].sameSite: 'Sometimes' is not one of"),
        (cookie(r#","sameSite":"None""#), "cookies[0].sameSite: "),
        (cookie(r#","priority":"Top""#), "cookies[0].priority: "),
        (cookie(r#","partitionKey":"https://top.test""#), "cookies[0].partitionKey: "),
        (with(r#""cookies":[{"name":"__Host-x","value":"v"}]"#), "cookies[0].name: "),
        (with(r#""cookies":[{"name":"__Secure-x","value":"v"}]"#), "cookies[0].secure: "),
        (with(r#""localStorage":[]"#), "localStorage: this must be a map"),
        (with(r#""localStorage":{"k":5}"#), "localStorage.k: this must be a map"),
        (with(r#""localStorage":{"k":{"value":"v","scret":false}}"#), "localStorage.k.scret: "),
        (with(r#""sessionStorage":{"k":{"secret":false}}"#), "sessionStorage.k.value: this is missing"),
        (with(&format!(r#""headers":{{"Bad Name":"{SECRET}"}}"#)), "headers.Bad Name: "),
        (with(&format!(r#""headers":{{"Cookie":"{SECRET}"}}"#)), "headers.Cookie: a credential may not"),
        (with(r#""headers":{"Sec-Fetch-Site":"x"}"#), "headers.Sec-Fetch-Site: "),
        (with(&format!(r#""headers":{{"X":"{SECRET}\r\nY: z"}}"#)), "headers.X: "),
        (with(r#""headers":{"X":"1","x":"2"}"#), "headers.x: this header occurs twice"),
        (with(r#""basic":{"username":"a:b","password":"p"}"#), "basic.username: "),
        (with(r#""basic":{"username":"a"}"#), "basic.password: this is missing"),
        (
            with(r#""basic":{"username":"a","password":"p"},"headers":{"authorization":"x"}"#),
            "basic: it and headers.Authorization",
        ),
        (with(r#""totp":"not base32!""#), "totp: a seed is base32"),
        (with(r#""totp":{"seed":"GEZDGNBVGY3TQOJQ","digits":12}"#), "totp.digits: "),
        (with(r#""totp":"otpauth://hotp/x?secret=GEZDGNBVGY3TQOJQ""#), "totp: only codes by time"),
        (with(r#""origin":"https://b.test""#), "origin: its host must be a.test"),
        (with(r#""origin":"https://a.test/path""#), "origin: scheme, host and port"),
        (with(r#""probe":{"path":"//evil.test/"}"#), "probe.path: "),
        (with(r#""probe":{"path":"/\\evil.test/"}"#), "probe.path: "),
        (with(r#""probe":{"path":"/a"}"#), "probe: it needs signed_in or signed_out"),
        (with(r#""probe":{"path":"/a","signed_in":{}}"#), "probe.signed_in: "),
        (with(r#""grant_scope":"anybody""#), "grant_scope: operator or standing"),
        (with(r#""last_refreshed_at":"yesterday""#), "last_refreshed_at: a time such as"),
    ] {
        let words = refusal(&document);
        assert!(words.starts_with(field), "{document}\n  wanted: {field}\n  was:    {words}");
        assert!(!words.contains(SECRET), "{words}");
    }
    assert!(refusal(&" ".repeat(1024 * 1024 + 1)).contains("more than 1048576 bytes"));
    assert!(refusal(&"[".repeat(100_000)).contains("it is not JSON"));
}

#[test]
fn what_is_written_reads_as_the_same() {
    let document = r#"{"domain":"A.Test","origin":"http://a.test:8080","cookies":[
        {"name":"a","value":"v\"\\é\u2603","domain":".a.test","path":"/x","expires":1935689600.7,"httpOnly":true,
         "secure":true,"sameSite":"none","priority":"low","partitionKey":"https://top.test","secret":false},
        {"name":"b","value":"w","expires":-1,"domain":"a.test"}],
        "localStorage":{"k\n":"v\u0001","theme":{"value":"dark","secret":false}},"sessionStorage":{"s":""},
        "headers":{"X-Key":"k"},"basic":{"username":"u","password":"pä"},
        "totp":"otpauth://totp/A:me?secret=gezd%20&secret=x"}"#
        .replace("gezd%20&secret=x", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8&period=60&algorithm=SHA256");
    let first = Credential::from_json(document.as_bytes()).unwrap();
    let text = first.to_json();
    let second = Credential::from_json(text.as_bytes()).unwrap();
    assert_eq!(*second.to_json(), *text);
    assert_eq!((first.domain.as_str(), first.origin.as_str()), ("a.test", "http://a.test:8080"));
    assert!(first.allows_plain_http());
    assert_eq!((first.cookies[0].expires, first.cookies[1].expires), (Some(1_935_689_600), None));
    assert_eq!(second.local_storage[0].value.text.expose_secret(), "v\u{1}");
    let totp = second.totp.as_ref().unwrap();
    assert_eq!((totp.digits, totp.period, totp.algorithm), (8, 60, TotpAlgorithm::Sha256));
    let fields: Vec<String> = second.secrets().into_iter().map(|(field, _)| field).collect();
    let wanted =
        ["cookies.b", "localStorage.k\n", "sessionStorage.s", "headers.X-Key", "basic.password", "totp.seed"];
    assert_eq!(fields, wanted);
    assert_eq!(second.cautions().len(), 4, "{:?}", second.cautions());
    // Room was reserved for all of it: growing would have left a copy behind.
    assert!(text.len() <= text.capacity() && text.capacity() >= 16 * 1024);
}

#[test]
fn one_time_codes_are_those_of_the_standard() {
    // RFC 6238, appendix B: the seeds are "1234567890" repeated to the length of the hash.
    let seed = |length: usize| -> String {
        let bytes: Vec<u8> = (0..length).map(|i| b'0' + ((i + 1) % 10) as u8).collect();
        let bits: Vec<u8> =
            bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
        let letter = |five: &[u8]| {
            let value = five.iter().fold(0, |value, bit| value << 1 | bit) << (5 - five.len());
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(value)])
        };
        bits.chunks(5).map(letter).collect()
    };
    for (seconds, length, algorithm, code) in [
        (59, 20, "SHA1", "94287082"),
        (59, 32, "SHA256", "46119246"),
        (59, 64, "SHA512", "90693936"),
        (1_111_111_109, 20, "SHA1", "07081804"),
        (20_000_000_000, 20, "SHA1", "65353130"),
        (20_000_000_000, 32, "SHA256", "77737706"),
        (20_000_000_000, 64, "SHA512", "47863826"),
    ] {
        let text = format!(r#"{{"seed":"{}","digits":8,"algorithm":"{algorithm}"}}"#, seed(length));
        let totp = Totp::read(SecretNode::from_json(text.as_bytes()).unwrap(), "totp").unwrap();
        let now = Timestamp::from_second(seconds).unwrap();
        assert_eq!(totp.code_at(now).expose_secret(), code, "{algorithm} {seconds}");
    }
}

#[test]
fn a_probe_tells_signed_in_from_signed_out() {
    let probe = |text: &str| Probe::read(SecretNode::from_json(text.as_bytes()).unwrap(), "probe").unwrap();
    let both = r#"{"path":"/me","signed_in":{"text":"Sign out"},"signed_out":{"path":"/login"}}"#;
    let only_in = r#"{"path":"/me","signed_in":{"text":"Sign out","path":"/me"}}"#;
    let only_out = r#"{"path":"/me","signed_out":{"text":"Sign in"}}"#;
    for (text, path, words, verdict) in [
        (both, "/me", "Hello. Sign out", SignInState::SignedIn),
        (both, "/login?next=/me", "Sign out", SignInState::SignedOut),
        (both, "/me", "Internal error", SignInState::Unclear),
        (only_in, "/me", "Sign out", SignInState::SignedIn),
        (only_in, "/elsewhere", "Sign out", SignInState::SignedOut),
        (only_out, "/me", "Sign in", SignInState::SignedOut),
        (only_out, "/me", "Hello", SignInState::SignedIn),
    ] {
        assert_eq!(probe(text).evaluate(path, words), verdict, "{text} {path} {words}");
    }
}

#[test]
fn a_host_is_a_name_and_nothing_else() {
    for (text, wanted) in [
        ("github.com", "github.com"),
        ("GitHub.COM", "github.com"),
        ("bücher.test", "xn--bcher-kva.test"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ] {
        assert_eq!(Host::parse(text).unwrap().as_str(), wanted);
    }
    for bad in [
        "",
        ".",
        "a.test.",
        "a.test:80",
        "a.test/x",
        "u@a.test",
        "a b",
        "*.a.test",
        "http://a.test",
        "::1",
        "a.test?",
        "a..test#",
    ] {
        assert!(Host::parse(bad).is_err(), "{bad}");
    }
    assert!(Host::parse(&"a".repeat(254)).is_err());
}

#[test]
fn a_credential_is_sealed_unless_it_says_otherwise_and_keeps_its_places() {
    let document =
        |rest: &str| format!(r#"{{"domain": "a.test", "localStorage": {{"token": "abcdefgh12"}}{rest}}}"#);
    let read = |rest: &str| Credential::from_json(document(rest).as_bytes());
    assert!(read("").unwrap().is_sealed);
    let open = read(r#", "sealed": false"#).unwrap();
    assert!(!open.is_sealed);
    assert!(!Credential::from_json(open.to_json().as_bytes()).unwrap().is_sealed);

    assert!(open.is_intercepted);
    let passed_through = read(r#", "sealed": false, "intercept": false"#).unwrap();
    assert!(!passed_through.is_intercepted);
    let again = Credential::from_json(passed_through.to_json().as_bytes()).unwrap();
    assert!(!again.is_intercepted && !again.outline().is_intercepted);
    for sealed in [r#", "intercept": false"#, r#", "sealed": true, "intercept": false"#] {
        let error = read(sealed).err().expect(sealed).to_string();
        assert!(error.contains("intercept") && error.contains("\"sealed\": false"), "{error}");
    }

    let placed = read(
        r#", "send_in": {"body": "/oauth/token", "websocket": ["/live", "/live"], "header": "X-Api-Key"}"#,
    );
    let again = Credential::from_json(placed.unwrap().to_json().as_bytes()).unwrap();
    let places: Vec<String> = again.send_in.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["body /oauth/token", "websocket /live", "header x-api-key"]);

    for bad in [r#"{"cookie": "/"}"#, r#"{"body": "oauth"}"#, r#"{"body": {"path": "/"}}"#, r#""/""#] {
        let error = read(&format!(r#", "send_in": {bad}"#)).err().expect(bad).to_string();
        assert!(error.contains("send_in"), "{bad}: {error}");
    }
}
