//! Bodies of every kind, and random bytes.

use super::*;

fn decode(content_type: &str, body: &[u8]) -> Effect {
    Effect::decode(EffectRequest {
        transport: EffectTransport::Http,
        method: "POST".into(),
        url: "https://app.test/x".into(),
        content_type: content_type.into(),
        destination: String::new(),
        body: body.to_vec().into(),
    })
}

fn check(content_type: &str, body: &str, kind: BodyKind, fields: &[(&str, &str)], operations: &[&str]) {
    let effect = decode(content_type, body.as_bytes());
    let found: Vec<(&str, &str)> =
        effect.fields.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
    assert_eq!((effect.body, &found[..]), (kind, fields), "{body}");
    assert_eq!(effect.operations, operations, "{body}");
}

#[test]
fn forms_and_multipart_have_their_fields() {
    let form = "application/x-www-form-urlencoded";
    check(
        form,
        "a=1&b=x+y%20z&a=2&c",
        BodyKind::Form,
        &[("a", "1"), ("b", "x y z"), ("a", "2"), ("c", "")],
        &[],
    );
    check(form, "a=%ff%zz", BodyKind::Form, &[("a", "\u{fffd}%zz")], &[]);
    let body = "--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nhi\r\n--b\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\u{1}\u{2}\r\n--b--\r\n";
    check(
        "multipart/form-data; boundary=b",
        body,
        BodyKind::Multipart,
        &[("t", "hi"), ("f", "file a.png")],
        &[],
    );
    check("text/plain", body, BodyKind::Multipart, &[("t", "hi"), ("f", "file a.png")], &[]);
    let effect = decode("multipart/form-data; boundary=b", body.as_bytes());
    assert_eq!(effect.fields[1].length, 2);
}

#[test]
fn json_is_flattened_with_duplicates_and_in_any_content_type() {
    let body = r#"{"a":{"b":[1,{"c":"x\u00e9\ud83d\ude00"}]},"d":null,"d":true}"#;
    let fields = [("a.b[0]", "1"), ("a.b[1].c", "xé😀"), ("d", "null"), ("d", "true")];
    for content_type in ["application/json", "text/plain;charset=UTF-8", "", "application/vnd.api+json"] {
        check(content_type, body, BodyKind::Json, &fields, &[]);
    }
    check(
        "application/x-ndjson",
        "{\"a\":1}\n{\"a\":2}\n",
        BodyKind::Json,
        &[("a", "1"), ("[1].a", "2")],
        &[],
    );
    let utf16: Vec<u8> = r#"{"a":"ü"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let effect = decode("application/json; charset=utf-16le", &utf16);
    assert_eq!(effect.fields[0].value, "ü");
}

#[test]
fn arguments_of_a_mutation_are_fields() {
    let fields = |body: &str| -> Vec<(String, String)> {
        let fields = decode("application/json", body.as_bytes()).fields;
        fields.into_iter().filter(|it| it.name != "query").map(|it| (it.name, it.value)).collect()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        fields(
            r#"{"query":"mutation M($v: ID! = 3) { a: put(id: $v, at: {state: GONE, tags: [\"x\"], n: 4}) { id } }"}"#
        ),
        [pair("at.state", "GONE"), pair("at.n", "4")]
    );
    assert_eq!(fields(r#"{"query":"{ item(id: 4) { id } }"}"#), []);
}

#[test]
fn forms_of_a_live_view_have_their_fields() {
    let request = EffectRequest {
        transport: EffectTransport::WebSocket,
        method: "MESSAGE".into(),
        url: "wss://app.test/live/websocket".into(),
        content_type: String::new(),
        destination: String::new(),
        body: br#"["4","9","lv:phx-F","event",{"type":"form","event":"save","value":"_method=delete&id=3"}]"#
            .to_vec()
            .into(),
    };
    let effect = Effect::decode(request);
    assert_eq!(effect.operations, ["save"]);
    assert!(effect.fields.iter().any(|field| field.name == "_method" && field.value == "delete"));
}

#[test]
fn operations_are_named() {
    let json = "application/json";
    let names = |body: &str| decode(json, body.as_bytes()).operations;
    assert_eq!(
        names(
            r##"{"query":"# c\nmutation Del($id: ID! = \"}\") @x { a: deleteUser(id: {a: $id}) { ok { deep } } ...F ... on Mutation { other } } fragment F on Mutation { sendIt }"}"##
        ),
        ["mutation Del", "mutation deleteUser", "mutation other", "mutation sendIt"]
    );
    assert_eq!(names(r#"{"query":"{ me { id } }"}"#), ["query me"]);
    assert_eq!(names(r#"[{"query":"{ a }"},{"query":"mutation { b }"}]"#), ["query a", "mutation b"]);
    assert_eq!(names(r#"{"operationName":"Drop","extensions":{"persistedQuery":{"version":1}}}"#), ["Drop"]);
    assert_eq!(names(r#"{"jsonrpc":"2.0","method":"a.b","id":1}"#), ["a.b"]);
    assert_eq!(names(r#"{"query":"delete my account"}"#), [""; 0]);
    let xml = |body: &str| decode("text/xml", body.as_bytes()).operations;
    assert_eq!(xml("<s:Envelope><s:Body><m:Drop/></s:Body></s:Envelope>"), ["Drop"]);
    assert_eq!(decode("application/graphql", b"mutation { x }").operations, ["mutation x"]);
}

#[test]
fn what_cannot_be_read_is_text_or_binary() {
    check("application/json", "{\"a\":", BodyKind::Text, &[], &[]);
    check("text/plain", "hello there", BodyKind::Text, &[], &[]);
    check("application/grpc-web+proto", "\0\0\0", BodyKind::Binary, &[], &[]);
    assert_eq!(decode("application/json", &[0x80; 50]).body, BodyKind::Binary);
    assert_eq!(decode("multipart/form-data; boundary=zz", b"nothing").body, BodyKind::Binary);
}

#[test]
fn bounds_hold_and_the_operation_at_the_end_of_a_batch_is_kept() {
    let mut items: Vec<String> = (0..5_000).map(|n| format!(r#"{{"value":{n}}}"#)).collect();
    items.push(r#"{"action":"delete"}"#.to_owned());
    let effect = decode("application/json", format!("[{}]", items.join(",")).as_bytes());
    assert!(effect.fields.len() <= 801 && effect.omitted_fields >= 4_000);
    assert_eq!(effect.fields.last().unwrap().value, "delete");
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(decode("application/json", deep.as_bytes()).fields.len(), 1);
    let long = format!(r#"{{"a":"{}"}}"#, "é".repeat(100_000));
    let effect = decode("application/json", long.as_bytes());
    assert_eq!((effect.fields[0].length, effect.fields[0].value.len()), (200_000, 2_000));
}

/// Bytes from a small generator, mixed from pieces that parsers look for.
#[test]
fn random_bytes_do_not_panic() {
    const PIECES: [&[u8]; 22] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\u",
        b"\\",
        b":",
        b",",
        b"--b",
        b"\r\n\r\n",
        b"mutation {",
        b"...",
        b"query",
        b"%",
        b"=",
        b"&",
        b"\xff\xfe",
        b"\xd8",
        b"42[",
        b"SEND\n",
        b"<methodName>",
    ];
    let types = [
        "application/json",
        "multipart/form-data; boundary=b",
        "application/x-www-form-urlencoded",
        "text/xml",
        "application/graphql",
        "",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..4_000 {
        let mut body = Vec::new();
        for _ in 0..next() % 60 {
            match next() % 3 {
                0 => body.push((next() % 256) as u8),
                1 => body.extend_from_slice(PIECES[(next() % 22) as usize]),
                _ => body.extend_from_slice(b"delete"),
            }
        }
        let transport = if round % 4 == 0 { EffectTransport::WebSocket } else { EffectTransport::Http };
        let url = format!("https://app.test/{}", String::from_utf8_lossy(&body[..body.len().min(40)]));
        let effect = Effect::decode(EffectRequest {
            transport,
            method: if round % 3 == 0 { "GET" } else { "POST" }.into(),
            url,
            content_type: types[round % types.len()].into(),
            destination: String::new(),
            body: body.into(),
        });
        let (class, _) = crate::effect::classify::classify(&effect, None);
        let is_consequential = class.risk() >= crate::Risk::High;
        let concerns = crate::effect::classify::concerns(&effect.request.head(), None);
        assert!(
            !is_consequential || concerns || transport == EffectTransport::WebSocket,
            "{:?}",
            effect.request
        );
    }
}
