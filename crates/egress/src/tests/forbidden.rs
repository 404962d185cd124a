//! Ways to reach a forbidden address, from the proxy's point of view: each is refused, and nothing is connected to.
//!
//! An upstream proxy that connects to anything stands behind the proxy, so that an address that passes the check shows.

use super::upstream::{behind, http_proxy};
use super::*;
use crate::resolve::Addresses;
use crate::{Reason, UpstreamProxy};
use std::collections::BTreeSet;
use std::time::Duration;

/// Hosts as a URL may write them.
const WRITTEN: &[&str] = &[
    // loopback in all its spellings
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127.255.255.254",
    "127.0.0.0",
    "127.8.8.8",
    "2130706433",
    "2130706434",
    "0x7f000001",
    "0X7F000001",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7f.0x0.0x0.0x1",
    "0x7f.0x1",
    "0177.0.0.1",
    "0177.1",
    "0177.0x0.0.1",
    "017700000001",
    "0177.00.00.01",
    "00000177.1",
    "127.0x1",
    "127.0.0x0.1",
    "2147483647",
    // this network
    "0.0.0.0",
    "0",
    "0x0",
    "00",
    "0.0",
    "0.0.0.1",
    "0.1.2.3",
    "0x00000000",
    // private
    "10.0.0.1",
    "10.1",
    "10.255.255.255",
    "167772161",
    "0xa.1",
    "0xa000001",
    "012.0.0.1",
    "012.1",
    "172.16.0.1",
    "172.16.1",
    "172.31.255.254",
    "2886729729",
    "0xac100001",
    "0254.020.0.1",
    "192.168.0.1",
    "192.168.1",
    "192.168.255.254",
    "3232235521",
    "0xc0a80001",
    "0300.0250.0.1",
    "0xc0.0xa8.1",
    // shared, link-local, metadata
    "100.64.0.1",
    "100.127.255.254",
    "1681915905",
    "0x64400001",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "0xa9.0xfe.0xa9.0xfe",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.169.253",
    "100.100.100.200",
    "1684301000",
    "192.0.0.192",
    "168.63.129.16",
    "2822734096",
    // documentation, benchmarks, reserved, multicast, anycast services
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "198.18.0.1",
    "198.19.255.254",
    "192.0.0.1",
    "192.88.99.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    "224.0.0.1",
    "239.255.255.250",
    "3758096385",
    "240.0.0.1",
    "250.1.2.3",
    "255.255.255.255",
    "4294967295",
    "0xffffffff",
    // IPv6
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::0001]",
    "[::]",
    "[0:0:0:0:0:0:0:0]",
    "[fe80::1]",
    "[febf::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fd00:ec2::254]",
    "[fd20:ce::254]",
    "[ff02::1]",
    "[ff05::2]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[100::1]",
    "[100:0:0:1::1]",
    "[5f00::1]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[2001:1::1]",
    "[2620:4f:8000::1]",
    "[3ffe::1]",
    "[4000::1]",
    "[8000::1]",
    // IPv4 in IPv6
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::FFFF:7F00:0001]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a00:1]",
    "[::ffff:192.168.1.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0.0.0.0]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::10.0.0.1]",
    "[::169.254.169.254]",
    "[::8.8.8.8]",
    "[::ffff:0:127.0.0.1]",
    "[::ffff:0:169.254.169.254]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1::8.8.8.8]",
    "[64:ff9b:1:ffff::1]",
    "[2002:7f00:1::]",
    "[2002:7f00:1::1]",
    "[2002:a00:1::1]",
    "[2002:a9fe:a9fe::1]",
    "[2002:c0a8:101::1]",
    "[2001:0:7f00:1::]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001::a9fe:a9fe]",
    "[fe80::5efe:127.0.0.1]",
    "[fe80::200:5efe:10.0.0.1]",
    "[2606:4700::5efe:10.0.0.1]",
    "[2606:4700::200:5efe:169.254.169.254]",
    // names
    "localhost",
    "LOCALHOST",
    "LocalHost.",
    "foo.localhost",
    "a.b.c.localhost",
    "127.0.0.1.localhost",
    "metadata.google.internal",
    "METADATA.google.internal.",
    "metadata",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Addresses that a name server of the attacker answers with.
const ANSWERED: &[&str] = &[
    "127.0.0.1",
    "127.0.0.53",
    "0.0.0.0",
    "10.0.0.5",
    "172.16.3.4",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.1.1",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "224.0.0.251",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.2.1",
    "::1",
    "::",
    "fe80::1",
    "fd00:ec2::254",
    "fc00::1",
    "ff02::fb",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "2002:7f00:1::1",
    "2001:0:7f00:1::1",
    "2606:4700::5efe:a00:1",
    "2001:db8::1",
    "93.184.216.99",
];

/// This machine's own public address, for the test.
const OWN: &str = "93.184.216.99";

/// Ports that are not for browsing, on a host that is.
const PORTS: &[u16] = &[22, 23, 25, 135, 137, 138, 139, 445, 465, 587, 3389, 6667];

/// `N.attacker.test` leads to the address of that number; the answer's order is as it is.
fn attacker(name: String) -> Addresses {
    let number = name.strip_suffix(".attacker.test").and_then(|number| number.parse::<usize>().ok());
    let answer = match (name.as_str(), number) {
        ("public.test", _) => Ok(vec!["93.184.216.34".parse().unwrap()]),
        (_, Some(number)) => Ok(vec![ANSWERED[number].parse().unwrap()]),
        _ => Err(std::io::Error::other("no such name")),
    };
    Box::pin(std::future::ready(answer))
}

#[tokio::test]
async fn no_way_of_writing_resolving_or_connecting_reaches_a_forbidden_address() {
    let site = Site::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (upstream, asked) = http_proxy(site.address, None).await;
    let through = UpstreamProxy::parse(&format!("http://{}", upstream.address)).unwrap();
    let rules = Rules::default().refusing([OWN.parse().unwrap()]).through(through);
    let options = Options { requests_per_second: None, ..Options::default() };
    let proxy = Proxy::ruled(rules, Resolver::with(attacker, Duration::from_secs(30)), options);

    let names = (0..ANSWERED.len()).map(|number| format!("{number}.attacker.test:80"));
    let written = WRITTEN.iter().map(|host| format!("{host}:80"));
    let ports = PORTS.iter().map(|port| format!("public.test:{port}"));
    let all: Vec<String> = written.chain(names).chain(ports).chain([format!("{OWN}:80")]).collect();
    assert!(all.len() >= 150 && all.iter().collect::<BTreeSet<_>>().len() == all.len(), "{}", all.len());
    for target in &all {
        for request in [
            format!("GET http://{target}/ HTTP/1.1\r\nHost: public.test\r\n\r\n"),
            format!("CONNECT {target} HTTP/1.1\r\nHost: public.test\r\n\r\n"),
        ] {
            let before = proxy.entries().len();
            let answer = proxy.say(&request).await;
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 403 "), "{request}: {answer}");
            let entries = proxy.entries();
            assert_eq!(entries.len(), before + 1, "{request}");
            let verdict = entries.last().unwrap().verdict;
            let expected = matches!(
                verdict,
                EgressOutcome::Refused(Reason::Address(_) | Reason::Name(_) | Reason::Port)
            );
            assert!(expected, "{request}: {verdict:?}");
        }
    }
    assert_eq!((asked.lock().unwrap().len(), site.visits()), (0, 0));
    let answer = proxy.say("GET http://public.test/ HTTP/1.1\r\nHost: public.test\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "what is allowed arrives: {answer}");
}

/// Answers with a public address first, and with loopback ever after.
fn rebinding(name: String) -> Addresses {
    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
    let first = name == "rebinding.test" && LOOKUPS.fetch_add(1, Ordering::SeqCst) == 0;
    let answer = if first { "93.184.216.34" } else { "127.0.0.1" };
    Box::pin(std::future::ready(Ok(vec![answer.parse().unwrap()])))
}

#[tokio::test]
async fn a_name_that_changes_its_answer_is_connected_to_at_the_address_that_was_checked() {
    let site = Site::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let (upstream, asked) = http_proxy(site.address, None).await;
    let through = UpstreamProxy::parse(&format!("http://{}", upstream.address)).unwrap();
    let resolver = Resolver::with(rebinding, Duration::from_secs(30));
    let proxy = Proxy::ruled(Rules::default().through(through), resolver, Options::default());
    let get = "GET http://rebinding.test/ HTTP/1.1\r\nHost: rebinding.test\r\n\r\n";
    assert!(proxy.say(get).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(proxy.say(get).await, "", "the second answer is a loopback address");
    let targets: Vec<String> = asked.lock().unwrap().iter().map(|(target, _)| target.clone()).collect();
    assert_eq!(targets, ["93.184.216.34:80"]);
}

#[tokio::test]
async fn the_target_of_a_redirect_is_checked_like_any_other() {
    let site =
        Site::answering("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n")
            .await;
    let (upstream, _) = http_proxy(site.address, None).await;
    let proxy = behind("http", upstream.address, None, site.address);
    let answer = proxy.say("GET http://public.test/ HTTP/1.1\r\nHost: public.test\r\n\r\n").await;
    let location = answer.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    assert_eq!(proxy.say(format!("GET {location} HTTP/1.1\r\nHost: public.test\r\n\r\n")).await, "");
    assert_eq!(site.visits(), 1);
}
