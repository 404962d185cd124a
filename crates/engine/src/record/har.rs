//! The egress ledger as an HTTP Archive 1.2, for the viewers of browsers and proxies.

use super::egress_log::{EgressReport, RecordedEgress};
use serde_json::{Value, json};

/// The archive. An entry without a host is left out: it has no address that a viewer could show.
pub fn har(session: &str, report: &EgressReport) -> Value {
    let entries: Vec<Value> =
        report.entries.iter().filter(|entry| !entry.host.is_empty()).map(entry).collect();
    let mut comment = format!("What left session {session} through the egress proxy.");
    if report.lost > 0 {
        comment.push_str(&format!(" {} more are counted and not listed.", report.lost));
    }
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "stockade", "version": env!("CARGO_PKG_VERSION")},
        "pages": [],
        "entries": entries,
        "comment": comment,
    }})
}

fn entry(entry: &RecordedEgress) -> Value {
    let time = entry.duration_ms.unwrap_or_default();
    let sent = i64::try_from(entry.bytes_up).unwrap_or(i64::MAX);
    let received = i64::try_from(entry.bytes_down).unwrap_or(i64::MAX);
    let protocol = "HTTP/1.1";
    let mut found = json!({
        "startedDateTime": entry.at,
        "time": time,
        "request": {
            "method": entry.method,
            "url": url(entry),
            "httpVersion": protocol,
            "cookies": [],
            "headers": [],
            "queryString": [],
            "headersSize": -1,
            "bodySize": sent,
        },
        "response": {
            "status": entry.status.unwrap_or_default(),
            "statusText": "",
            "httpVersion": protocol,
            "cookies": [],
            "headers": [],
            "content": {"size": received, "mimeType": "x-unknown"},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": received,
        },
        "cache": {},
        "timings": {"send": 0, "wait": time, "receive": 0},
        "connection": entry.id.to_string(),
        "comment": comment(entry),
        "_action": entry.action,
    });
    if let Some(ip) =
        entry.address.as_deref().and_then(|address| address.parse::<std::net::SocketAddr>().ok())
    {
        found["serverIPAddress"] = json!(ip.ip().to_string());
    }
    found
}

/// The address that was asked for. Of a tunnel only host and port are known.
fn url(entry: &RecordedEgress) -> String {
    // A plain request has the address that it was connected to; an intercepted one has not, and is on TLS but for port 80.
    let is_plain = entry.path.is_some() && (entry.address.is_some() || entry.port == 80);
    let (scheme, default) = if is_plain { ("http", 80) } else { ("https", 443) };
    let port = if entry.port == default { String::new() } else { format!(":{}", entry.port) };
    let path = entry.path.as_deref().filter(|path| path.starts_with('/')).unwrap_or("/");
    let written = format!("{scheme}://{}{port}{path}", entry.host);
    // A redacted host can have characters that no address has.
    url::Url::parse(&written).map_or_else(|_| format!("{scheme}://unreadable.invalid/"), String::from)
}

fn comment(entry: &RecordedEgress) -> String {
    let what = match entry.method.as_str() {
        "CONNECT" => "a tunnel: bytes are those on the wire",
        _ if entry.address.is_some() => "a plain request: bytes are those on the wire",
        _ => "a request",
    };
    match &entry.code {
        Some(code) => format!("{}: {code}; {what}", entry.result),
        None if entry.duration_ms.is_none() => format!("still open; {what}"),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(method: &str, path: Option<&str>, address: Option<&str>) -> RecordedEgress {
        RecordedEgress {
            id: 7,
            at: "2026-01-01T00:00:00.123Z".to_owned(),
            method: method.to_owned(),
            host: "shop.test".to_owned(),
            port: 443,
            address: address.map(str::to_owned),
            path: path.map(str::to_owned),
            status: path.map(|_| 200),
            result: "allowed".to_owned(),
            code: None,
            bytes_up: 10,
            bytes_down: 20,
            duration_ms: Some(30),
            action: 2,
        }
    }

    /// The members that HAR 1.2 requires, with their types: `s`tring, `n`umber, `a`rray, `o`bject.
    fn check(value: &Value, members: &[(&str, char)]) {
        for (name, kind) in members {
            let found = match &value[name] {
                Value::String(_) => 's',
                Value::Number(_) => 'n',
                Value::Array(_) => 'a',
                Value::Object(_) => 'o',
                _ => '-',
            };
            assert_eq!(found, *kind, "{name} in {value}");
        }
    }

    #[test]
    fn an_archive_has_what_version_1_2_requires() {
        let mut refused = recorded("GET", Some("/a"), None);
        (refused.result, refused.code, refused.status) =
            ("refused".into(), Some("egress_relay".into()), None);
        let mut nameless = recorded("", None, None);
        nameless.host.clear();
        let tunnel = recorded("CONNECT", None, Some("[2001:db8::1]:443"));
        let plain = RecordedEgress { port: 8080, ..recorded("GET", Some("/b c?"), Some("192.0.2.1:8080")) };
        let request = recorded("POST", Some("/api/items"), None);
        let odd = RecordedEgress { host: "[redacted].test".into(), ..recorded("GET", Some("/"), None) };
        let report = EgressReport { entries: vec![refused, nameless, tunnel, plain, request, odd], lost: 3 };
        let archive = har("s-abcdefghijkl", &report);
        let log = &archive["log"];
        check(log, &[("version", 's'), ("creator", 'o'), ("entries", 'a'), ("pages", 'a'), ("comment", 's')]);
        check(&log["creator"], &[("name", 's'), ("version", 's')]);
        assert_eq!(log["version"], "1.2");
        let entries = log["entries"].as_array().unwrap();
        for entry in entries {
            check(entry, &[("startedDateTime", 's'), ("time", 'n'), ("request", 'o'), ("response", 'o')]);
            check(entry, &[("cache", 'o'), ("timings", 'o'), ("connection", 's'), ("comment", 's')]);
            let text = [("method", 's'), ("url", 's'), ("httpVersion", 's')];
            check(&entry["request"], &text);
            let common = [("cookies", 'a'), ("headers", 'a'), ("headersSize", 'n'), ("bodySize", 'n')];
            check(&entry["request"], &common);
            check(&entry["request"], &[("queryString", 'a')]);
            check(&entry["response"], &common);
            check(&entry["response"], &[("status", 'n'), ("statusText", 's'), ("httpVersion", 's')]);
            check(&entry["response"], &[("content", 'o'), ("redirectURL", 's')]);
            check(&entry["response"]["content"], &[("size", 'n'), ("mimeType", 's')]);
            check(&entry["timings"], &[("send", 'n'), ("wait", 'n'), ("receive", 'n')]);
            assert!(url::Url::parse(entry["request"]["url"].as_str().unwrap()).is_ok());
            let at = entry["startedDateTime"].as_str().unwrap();
            assert!(at.parse::<jiff::Timestamp>().is_ok());
        }
        let urls: Vec<&str> = entries.iter().map(|entry| entry["request"]["url"].as_str().unwrap()).collect();
        assert_eq!(
            urls,
            [
                "https://shop.test/a",
                "https://shop.test/",
                "http://shop.test:8080/b%20c?",
                "https://shop.test/api/items",
                "https://unreadable.invalid/"
            ]
        );
        assert_eq!(entries[1]["serverIPAddress"], "2001:db8::1");
        assert!(entries[0]["comment"].as_str().unwrap().starts_with("refused: egress_relay"));
    }
}
