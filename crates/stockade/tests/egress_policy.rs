//! Egress of a jail: listed sites only, forbidden addresses by no means, and everything in the log.

use crate::common;

use common::grant_issuer::GrantIssuer;
use common::machine::{PATIENCE, family, until};
use common::operator::Operator;
use common::recorder::{RecordedRequest, Recorder, html, redirect};
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const NOBODY: &str = "    hitl:\n      enabled: false\n      low: allow\n      medium: allow\n";

/// The hosts of the page, each with the expected result in allowlist mode.
const HOSTS: [(&str, bool); 6] = [
    ("page.test", true),
    ("a.cdn.test", true),
    ("b.cdn.test", true),
    ("img.test", true),
    ("tracker.test", false),
    ("ads.test", false),
];

/// Forty resources on six hosts, of every kind that a page loads, some on another port of a listed host.
fn parts() -> Vec<(String, bool)> {
    let on_hosts = (0..36).map(|number| {
        let (host, is_listed) = HOSTS[number % HOSTS.len()];
        (format!("http://{host}/part-{number}"), is_listed)
    });
    let other_port = (36..40).map(|number| (format!("http://img.test:8081/part-{number}"), false));
    on_hosts.chain(other_port).collect()
}

fn page_of_parts() -> String {
    let mut body = String::from("<title>parts</title><h1>parts</h1>");
    for (number, (url, _)) in parts().into_iter().enumerate() {
        body.push_str(&match number % 5 {
            0 => format!("<img src='{url}'>"),
            1 => format!("<script src='{url}'></script>"),
            2 => format!("<link rel=stylesheet href='{url}'>"),
            3 => format!("<iframe src='{url}'></iframe>"),
            _ => format!("<script>fetch('{url}', {{mode: 'no-cors'}}).catch(() => {{}})</script>"),
        });
    }
    body.push_str("<script>addEventListener('load', () => document.body.append('all loaded'))</script>");
    body
}

fn parts_site(asked: &RecordedRequest) -> String {
    match (asked.host.as_str(), asked.path.as_str()) {
        ("page.test", "/") => html(&page_of_parts(), ""),
        (_, "/to-ads") => redirect("http://ads.test/redirected"),
        _ => html("", ""),
    }
}

fn setting(recorder: &Recorder, more: &str) -> String {
    let hosts: String =
        HOSTS.iter().map(|(host, _)| format!("        {host}: {}\n", recorder.address)).collect();
    format!("    egress:\n{more}      hosts:\n{hosts}{NOBODY}")
}

fn asked_parts(recorder: &Recorder) -> BTreeSet<String> {
    let asked = recorder.asked().into_iter().filter(|asked| asked.path.starts_with("/part-"));
    asked.map(|asked| format!("http://{}{}", asked.host, asked.path)).collect()
}

fn listed_parts() -> BTreeSet<String> {
    parts().into_iter().filter(|(_, is_listed)| *is_listed).map(|(url, _)| url).collect()
}

/// The recorded egress of a session, once all of these entries are present.
fn on_record(home: &Home, session: &str, is_complete: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    until("the ledger is on record", PATIENCE, || {
        let (code, report) = home.json(&["session", "egress", session]);
        assert_eq!(code, 0, "{report}");
        let entries = report["entries"].as_array().unwrap().clone();
        is_complete(&entries).then_some(entries)
    })
}

#[test]
fn of_forty_parts_on_six_hosts_exactly_the_listed_load_and_all_are_on_record() {
    let recorder = Recorder::serve(parts_site);
    let lists = "      mode: allowlist\n      allow: [page.test]\n      allow_resources: ['*.cdn.test', 'http://img.test']\n";
    let home = Home::new(&setting(&recorder, lists));
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://page.test/");
    mcp.ok("browser_wait_for", json!({"session_id": session, "text": "all loaded"}));
    until("all listed parts are asked for", PATIENCE, || {
        (asked_parts(&recorder) == listed_parts()).then_some(())
    });

    // A host that pages may load from cannot be navigated to, and neither can its links.
    for url in ["http://img.test/", "http://ads.test/", "http://page.test:8081/"] {
        assert_eq!(
            mcp.code("browser_navigate", json!({"session_id": session, "url": url})),
            "blocked_domain"
        );
    }
    let led = mcp.call("browser_navigate", json!({"session_id": session, "url": "http://page.test/to-ads"}));
    assert_eq!(led.unwrap_err()["code"], "egress_not_listed");

    let refused = |entries: &[Value]| -> BTreeSet<String> {
        let refused = entries.iter().filter(|entry| entry["code"] == "egress_not_listed");
        let written = |entry: &Value| {
            let port = entry["port"].as_u64().filter(|port| *port != 80).map(|port| format!(":{port}"));
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            format!("http://{}{}{}", text("host"), port.unwrap_or_default(), text("path"))
        };
        refused.map(written).filter(|url| url.contains("/part-")).collect()
    };
    let unlisted: BTreeSet<String> =
        parts().into_iter().filter(|(_, is_listed)| !is_listed).map(|(url, _)| url).collect();
    let part_1 = |entries: &[Value]| {
        let loaded = |entry: &&Value| entry["path"] == "/part-1" && entry["duration_ms"].is_u64();
        entries.iter().find(loaded).cloned()
    };
    let is_complete = |entries: &[Value]| refused(entries) == unlisted && part_1(entries).is_some();
    let loaded = part_1(&on_record(&home, &session, is_complete)).unwrap();
    assert_eq!(
        (&loaded["status"], &loaded["action"], &loaded["result"]),
        (&json!(200), &json!(1), &json!("allowed"))
    );
    assert!(loaded["bytes_down"].as_u64().unwrap() > 0, "{loaded}");
    assert_eq!(asked_parts(&recorder), listed_parts());
    assert!(!recorder.asked().iter().any(|asked| asked.host == "ads.test"));

    drop(mcp);
    assert_eq!(home.json(&["audit", "verify"]).0, 0);
    let path = home.folder.path().join("session.har");
    let (code, said) = home.json(&["session", "egress", &session, "--har", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{said}");
    let archive: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(archive["log"]["version"], "1.2");
    assert!(archive["log"]["entries"].as_array().unwrap().len() >= 40, "{archive}");
}

#[test]
fn a_clean_session_may_ask_to_be_kept_to_some_sites() {
    let recorder = Recorder::serve(parts_site);
    let home = Home::new(&setting(&recorder, "      allow_resources: ['*.cdn.test']\n"));
    let mut mcp = home.mcp();
    let opened = mcp.ok("browser_open_session", json!({"domains": ["page.test"]}));
    let session = opened["session_id"].as_str().unwrap().to_owned();
    mcp.goto(&session, "http://page.test/");
    mcp.ok("browser_wait_for", json!({"session_id": session, "text": "all loaded"}));
    let hosts: BTreeSet<String> = recorder.asked().into_iter().map(|asked| asked.host).collect();
    let expected = ["page.test", "a.cdn.test", "b.cdn.test"].map(str::to_owned);
    assert_eq!(hosts, BTreeSet::from(expected));
    let go = json!({"session_id": session, "url": "http://img.test/"});
    assert_eq!(mcp.code("browser_navigate", go), "blocked_domain");
    assert_eq!(mcp.code("browser_open_session", json!({"domains": ["no site"]})), "bad_arguments");
    let open = mcp.open();
    mcp.goto(&open, "http://img.test/");
}

/// A server on every address of this machine that counts connections.
fn canary() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = visits.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    (port, visits)
}

/// Hosts that all resolve to this machine or to forbidden addresses.
fn forbidden_hosts() -> Vec<String> {
    let written = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0x0.0x0.0x1",
        "0177.0.0.1",
        "0177.1",
        "017700000001",
        "0.0.0.0",
        "0",
        "0x0",
        "0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.1",
        "167772161",
        "0xa.1",
        "012.0.0.1",
        "172.16.0.1",
        "172.31.255.254",
        "2886729729",
        "192.168.0.1",
        "192.168.1",
        "3232235521",
        "0xc0a80001",
        "0300.0250.0.1",
        "100.64.0.1",
        "100.127.255.254",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.43518",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "192.0.0.1",
        "192.88.99.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.175.48.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "4294967295",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[fe80::1]",
        "[febf::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[100::1]",
        "[5f00::1]",
        "[2001:2::1]",
        "[2001:10::1]",
        "[2001:20::1]",
        "[2620:4f:8000::1]",
        "[3ffe::1]",
        "[4000::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:192.168.1.1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:0.0.0.0]",
        "[::127.0.0.1]",
        "[::10.0.0.1]",
        "[::169.254.169.254]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::127.0.0.1]",
        "[64:ff9b:1::8.8.8.8]",
        "[2002:7f00:1::]",
        "[2002:a00:1::1]",
        "[2002:a9fe:a9fe::1]",
        "[2001:0:7f00:1::]",
        "[2001::a9fe:a9fe]",
        "[fe80::5efe:127.0.0.1]",
        "[2606:4700::5efe:10.0.0.1]",
        "[2606:4700::200:5efe:169.254.169.254]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "foo.localhost",
        "a.b.localhost",
        "metadata.google.internal",
        "metadata",
        "metadata.goog",
        "instance-data",
        "instance-data.ec2.internal",
    ];
    let own = egress_addresses().into_iter().map(|address| match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    });
    written.into_iter().map(str::to_owned).chain(own).collect::<BTreeSet<_>>().into_iter().collect()
}

/// This machine's own addresses, as another program reports them.
fn egress_addresses() -> Vec<IpAddr> {
    let text = String::from_utf8(Command::new("hostname").arg("-I").output().unwrap().stdout).unwrap();
    text.split_whitespace().filter_map(|address| address.parse().ok()).collect()
}

/// Tries every host in every way that a page has, then reports the end.
fn page_that_tries(hosts: &[String], port: u16) -> String {
    format!(
        r#"<title>tries</title><h1>tries</h1><script>
const hosts = {hosts}, port = {port}, sent = [];
const quietly = promise => sent.push(promise.catch(() => {{}}));
const image = url => new Promise(done => {{ const i = new Image(); i.onload = i.onerror = done; i.src = url }});
const socket = url => new Promise(done => {{ const s = new WebSocket(url); s.onopen = s.onerror = s.onclose = done }});
(async () => {{
  for (const [number, host] of hosts.entries()) {{
    const url = `http://${{host}}:${{port}}/`;
    try {{
      await fetch(url, {{mode: 'no-cors'}}).catch(() => {{}});
      await image(url + 'image');
      if (number % 4 == 0) await socket(`ws://${{host}}:${{port}}/socket`);
      if (number % 4 == 1) await fetch(`https://${{host}}:${{port}}/tls`, {{mode: 'no-cors'}}).catch(() => {{}});
      if (number % 4 == 2) await fetch('/leads-to?' + url, {{mode: 'no-cors'}}).catch(() => {{}});
      if (number % 4 == 3) navigator.sendBeacon(url + 'beacon', 'x');
    }} catch (error) {{ }}
  }}
  document.body.append('all tried');
}})();
</script>"#,
        hosts = serde_json::to_string(hosts).unwrap()
    )
}

#[test]
fn no_page_no_agent_and_no_program_in_the_jail_reaches_a_forbidden_address() {
    let (port, visits) = canary();
    let hosts = forbidden_hosts();
    assert!(hosts.len() >= 110, "{}", hosts.len());
    let page = page_that_tries(&hosts, port);
    let recorder = Recorder::serve(move |asked| match asked.path.split_once('?') {
        Some(("/leads-to", to)) => redirect(to),
        _ => html(&page, ""),
    });
    let settings = format!(
        "    max_actions_per_session: 1000\n    egress:\n      hosts:\n        page.test: {}\n{NOBODY}",
        recorder.address
    );
    let home = Home::new(&settings);
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://page.test/");
    mcp.ok("browser_wait_for", json!({"session_id": session, "text": "all tried", "timeout_seconds": 110}));
    assert_eq!(visits.load(Ordering::SeqCst), 0, "a page reached this machine");

    for host in hosts.iter().step_by(5) {
        let url = format!("http://{host}:{port}/");
        let error = mcp.call("browser_navigate", json!({"session_id": session, "url": url})).unwrap_err();
        assert_eq!(error["code"], "egress_refused", "{url}: {error}");
        let error = mcp
            .call(
                "browser_navigate",
                json!({"session_id": session, "url": format!("http://page.test/leads-to?{url}")}),
            )
            .unwrap_err();
        assert_eq!(error["code"], "egress_refused", "redirected to {url}: {error}");
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0, "an agent reached this machine");

    let bridge = bridge_of(&mcp);
    for host in &hosts {
        for request in [
            format!("CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n"),
            format!("GET http://{host}:{port}/ HTTP/1.1\\r\\nHost: page.test\\r\\n\\r\\n"),
        ] {
            let answer = from_inside(bridge, &request);
            let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 403 ");
            assert!(is_refused, "{request}: {answer}");
        }
    }
    assert_eq!(visits.load(Ordering::SeqCst), 0, "a program in the jail reached this machine");
    let allowed = from_inside(bridge, "GET http://page.test/ HTTP/1.1\\r\\nHost: page.test\\r\\n\\r\\n");
    assert!(allowed.starts_with("HTTP/1.1 200 "), "what is allowed arrives: {allowed}");
}

/// The process that accepts proxy traffic in the jail.
fn bridge_of(mcp: &Mcp) -> u32 {
    let all = family(mcp.child.id());
    let is_bridge = |program: &String| program.ends_with("/stockade/bridge");
    let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
    let found = all.iter().find(|process| {
        process.arguments.first().is_some_and(is_bridge)
            && process.namespace("net").is_some_and(|theirs| theirs != ours)
    });
    found.expect("a bridge").pid
}

/// Sends bytes to the proxy port from the jail's network namespace; returns the response.
fn from_inside(bridge: u32, request: &str) -> String {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf '{request}' >&3 && timeout 20 head -n 1 <&3 | tr -d '\\0'"
    );
    let mut inside = Command::new("nsenter");
    inside.args(["--target", &bridge.to_string(), "--net", "--", "bash", "-c", &script]);
    let done = inside.output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A session that is signed in to `own.test` over plain HTTP.
fn signed_in(home: &Home) -> (Mcp, String) {
    home.store_credential(&json!({
        "domain": "own.test",
        "origin": "http://own.test",
        "cookies": [{"name": "sid", "value": "cookie-4f81c27a90b3"}],
    }));
    let token = GrantIssuer::of(home).token(&["own.test"]);
    let mut mcp = home.mcp();
    let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": token}));
    let session = opened["session_id"].as_str().unwrap().to_owned();
    (mcp, session)
}

const OTHER_PORT: &str = "<title>own</title><h1>own</h1><script>\
    Promise.allSettled([\
      fetch('http://own.test:8081/other-port', {mode: 'no-cors', credentials: 'include'}),\
      fetch('https://own.test/other-scheme', {mode: 'no-cors', credentials: 'include'}),\
      fetch('/same-origin')\
    ]).then(() => document.body.append('all sent'))</script>";

#[test]
fn another_port_or_scheme_of_a_granted_host_is_not_home() {
    let recorder = Recorder::serve(|_| html(OTHER_PORT, ""));
    let home =
        Home::new(&format!("    egress:\n      hosts:\n        own.test: {}\n{NOBODY}", recorder.address));
    let (mut mcp, session) = signed_in(&home);
    mcp.goto(&session, "http://own.test/");
    mcp.ok("browser_wait_for", json!({"session_id": session, "text": "all sent"}));
    let go = json!({"session_id": session, "url": "http://own.test:8081/opened"});
    assert_eq!(mcp.code("browser_navigate", go), "blocked_domain");
    let asked: Vec<String> = recorder.asked().into_iter().map(|asked| asked.path).collect();
    assert!(asked.contains(&"/same-origin".to_owned()), "{asked:?}");
    for path in ["/other-port", "/other-scheme", "/opened"] {
        assert!(!asked.iter().any(|asked| asked == path), "{asked:?}");
    }
    assert!(recorder.asked().iter().all(|asked| asked.host == "own.test"), "a tunnel reached the site");
    let refused = |entry: &Value, port: u16| entry["port"] == port && entry["code"] == "egress_not_home";
    on_record(&home, &session, |entries| {
        [8081, 443].into_iter().all(|port| entries.iter().any(|entry| refused(entry, port)))
    });
}

#[test]
fn nobody_is_asked_about_an_address_that_is_refused_anyway() {
    let recorder = Recorder::serve(|_| html("<title>own</title><h1>own</h1>", ""));
    let home = Home::asking(&format!("    egress:\n      hosts:\n        own.test: {}\n", recorder.address));
    let (mut mcp, session) = signed_in(&home);
    let operator = Operator::of(&home);
    let port = recorder.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://localhost:{port}/"),
        "http://10.0.0.1/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        "https://other.test:25/".to_owned(),
    ] {
        let go = json!({"session_id": session, "url": url});
        assert_eq!(mcp.code("browser_navigate", go), "egress_refused", "{url}");
        assert_eq!(operator.waiting(), 0, "{url}");
    }
    let call = mcp.begin(
        "tools/call",
        json!({"name": "browser_navigate", "arguments": {
        "session_id": session, "url": "http://other.test/"}}),
    );
    let asked = operator.next();
    operator.denies(&asked.id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "blocked_domain");
}

/// Request heads that an upstream proxy received.
type Heads = Arc<Mutex<Vec<String>>>;

/// An HTTP proxy that requires a login and connects every request to one site.
fn upstream_proxy(site: SocketAddr) -> (SocketAddr, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Heads::default();
    let seen = heads.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            std::thread::spawn(move || relay(stream, site, &seen));
        }
    });
    (address, heads)
}

fn relay(mut browser: TcpStream, site: SocketAddr, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if browser.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    // `me:upstream-password`
    let is_known = head.contains("Proxy-Authorization: Basic bWU6dXBzdHJlYW0tcGFzc3dvcmQ=");
    seen.lock().unwrap().push(head);
    if !is_known {
        drop(browser.write_all(b"HTTP/1.1 407 Who are you\r\n\r\n"));
        return;
    }
    let mut site = TcpStream::connect(site).unwrap();
    browser.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").unwrap();
    let (mut from_browser, mut to_site) = (browser.try_clone().unwrap(), site.try_clone().unwrap());
    std::thread::spawn(move || drop(std::io::copy(&mut from_browser, &mut to_site)));
    drop(std::io::copy(&mut site, &mut browser));
}

#[test]
fn an_upstream_proxy_is_logged_in_to_from_a_file_or_the_vault_and_asked_for_addresses() {
    let recorder = Recorder::serve(|_| html("<title>far</title><h1>far away</h1>", ""));
    let (upstream, heads) = upstream_proxy(recorder.address);
    let folder = tempfile::tempdir().unwrap();
    let (login, shared) = (folder.path().join("login"), folder.path().join("shared"));
    for (path, mode) in [(&login, 0o600), (&shared, 0o644)] {
        std::fs::write(path, "me:upstream-password\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let from_file = format!("upstream_login_file: {}", login.display());
    for (how, code) in [
        (from_file.as_str(), None),
        ("upstream_credential: proxy.test", None),
        ("mode: open", Some("egress_upstream_failed")),
    ] {
        let home = Home::new(&format!("    egress:\n      upstream: http://{upstream}\n      {how}\n"));
        home.store_credential(&json!({
            "domain": "proxy.test",
            "basic": {"username": "me", "password": "upstream-password"},
        }));
        let mut mcp = home.mcp();
        let session = mcp.open();
        // A public address: nothing is resolved, and only the upstream proxy could reach it.
        let go = json!({"session_id": session, "url": "http://93.184.216.34/"});
        match code {
            None => assert_eq!(mcp.ok("browser_navigate", go)["title"], "far"),
            Some(code) => assert_eq!(mcp.code("browser_navigate", go), code),
        }
        let heads = std::mem::take(&mut *heads.lock().unwrap());
        assert!(
            !heads.is_empty() && heads.iter().all(|head| head.starts_with("CONNECT 93.184.216.34:80 ")),
            "{heads:?}"
        );
        let (_, shown) = home.json(&["config", "show"]);
        assert!(!shown.to_string().contains("upstream-password"), "{shown}");
        assert!(!home.audit_log().contains("upstream-password"));
    }
    let home = Home::new(&format!(
        "    egress:\n      upstream: http://{upstream}\n      upstream_login_file: {}\n",
        shared.display()
    ));
    let refused = home.command(&["smoke", "--demo", "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&refused.stdout).unwrap_or_else(|_| panic!("{refused:?}"));
    assert_eq!(common::known(said["error"].clone())["code"], "credential_settings", "{said}");
}

#[test]
fn the_caps_in_the_settings_hold() {
    let large = format!("<title>large</title><h1>large</h1><!--{}-->", "a".repeat(200_000));
    let recorder = Recorder::serve(move |asked| match asked.path.as_str() {
        "/large" => html(&large, ""),
        _ => html("<title>small</title><h1>small</h1>", ""),
    });
    let start = |cap: &str| {
        let hosts = format!("        page.test: {}\n", recorder.address);
        let home = Home::new(&format!("    egress:\n      {cap}\n      hosts:\n{hosts}"));
        let mut mcp = home.mcp();
        let session = mcp.open();
        (home, mcp, session)
    };
    let (_home, mut mcp, session) = start("max_bytes_down: 100k");
    mcp.goto(&session, "http://page.test/");
    // How much the browser shows of a truncated page is up to the browser.
    drop(mcp.call("browser_navigate", json!({"session_id": session, "url": "http://page.test/large"})));
    let go = json!({"session_id": session, "url": "http://page.test/"});
    assert_eq!(mcp.code("browser_navigate", go), "egress_byte_limit");

    let (_home, mut mcp, session) = start("requests_per_second: 1");
    let go = json!({"session_id": session, "url": "http://page.test/"});
    let refused = (0..60).find_map(|_| mcp.call("browser_navigate", go.clone()).err());
    assert_eq!(refused.unwrap()["code"], "egress_rate_limited");
}

/// A name server that answers with a public address once, then with loopback. Returns the number of queries.
fn rebinding_name_server(address: Ipv4Addr) -> Arc<AtomicUsize> {
    let socket = UdpSocket::bind((address, 53)).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            let query = &buffer[..length];
            let name_end = 12 + query[12..].iter().position(|byte| *byte == 0).unwrap() + 1;
            let question = &query[12..name_end + 4];
            let is_a = question.ends_with(&[0, 1, 0, 1]);
            let mut answer = query[..2].to_vec();
            answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_a), 0, 0, 0, 0]);
            answer.extend(question);
            if is_a {
                let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
                let ip = if first { [93, 184, 216, 34] } else { [127, 0, 0, 1] };
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                answer.extend(ip);
            }
            socket.send_to(&answer, client).unwrap();
        }
    });
    asked
}

#[test]
fn a_name_that_is_bound_again_to_this_machine_is_refused_the_second_time() {
    let server = Ipv4Addr::new(127, 0, 0, 9);
    let asked = rebinding_name_server(server);
    let (port, visits) = canary();
    let page = "<title>bound</title><h1>bound</h1><script>\
        Promise.allSettled(Array.from({length: 10}, (_, n) => fetch('/again-' + n)))\
          .then(all => document.body.append(`refused ${all.filter(one => one.status == 'rejected').length} times`))\
        </script>";
    let recorder = Recorder::serve(move |_| html(page, ""));
    let (upstream, heads) = upstream_proxy(recorder.address);
    let folder = tempfile::tempdir().unwrap();
    let (login, resolver) = (folder.path().join("login"), folder.path().join("resolv.conf"));
    std::fs::write(&login, "me:upstream-password").unwrap();
    std::fs::set_permissions(&login, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&resolver, format!("nameserver {server}\n")).unwrap();
    let home = Home::new(&format!(
        "    egress:\n      upstream: http://{upstream}\n      upstream_login_file: {}\n",
        login.display()
    ));
    let inner = home.command(&["mcp", "--demo"]);
    let mut outer = Command::new("unshare");
    let script = format!("mount --bind {} /etc/resolv.conf && exec \"$@\"", resolver.display());
    outer.args(["--mount", "sh", "-c", &script, "sh"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        outer.env(name, value.unwrap());
    }
    let mut mcp = Mcp::start(outer);
    let session = mcp.open();
    mcp.goto(&session, &format!("http://rebinding.test:{port}/"));
    mcp.ok("browser_wait_for", json!({"session_id": session, "text": "refused 10 times"}));
    let heads = heads.lock().unwrap().clone();
    assert!(heads.len() == 1 && heads[0].starts_with(&format!("CONNECT 93.184.216.34:{port} ")), "{heads:?}");
    assert!(asked.load(Ordering::SeqCst) > 1);
    assert_eq!(visits.load(Ordering::SeqCst), 0, "the second address was connected to");
}
