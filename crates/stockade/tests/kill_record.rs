//! A busy server that is killed at a random moment leaves a log with the intent of everything it did. The next start
//! continues that log, and nothing of the jails is left.

use crate::common;

use common::jails::Jails;
use common::machine::{self, PATIENCE, until};
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Homes times kills is two hundred. More homes at once would overload the machine for other tests.
const HOMES: u64 = 2;
const RUNS: u64 = 100;

/// A page whose button reports every click to the site, and a site that counts them.
struct Counter {
    address: SocketAddr,
    hits: Arc<Mutex<HashMap<String, u64>>>,
}

const PAGE: &str = "<title>Press</title><button style='width:200px;height:80px'>Press</button><script>\
    let n = 0; document.querySelector('button').onclick = () => navigator.sendBeacon('/hit' + location.search);\
    </script>";

impl Counter {
    fn serve() -> Counter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let counter = Counter { address: listener.local_addr().unwrap(), hits: Arc::default() };
        let hits = counter.hits.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let hits = hits.clone();
                std::thread::spawn(move || answer(stream, &hits));
            }
        });
        counter
    }

    fn hits(&self, run: &str) -> u64 {
        self.hits.lock().unwrap().get(run).copied().unwrap_or(0)
    }
}

fn answer(mut stream: TcpStream, hits: &Mutex<HashMap<String, u64>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            line.clear();
        }
        let path = first.split_whitespace().nth(1).unwrap_or("/");
        if let Some(run) = path.strip_prefix("/hit?") {
            *hits.lock().unwrap().entry(run.to_owned()).or_default() += 1;
        }
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n", PAGE.len());
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(PAGE.as_bytes())).is_err() {
            return;
        }
    }
}

/// The moment of a kill, from a seeded generator.
fn dice(state: &mut u64, end: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % end
}

/// Starts a server, keeps it busy, kills it, and counts the intents in its log.
fn run(home: &Home, site: &Counter, name: &str, busy: bool, delay: Duration) -> u64 {
    let mut mcp: Mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, &format!("http://a.test/?{name}"));
    let click = json!({"name": "browser_click", "arguments": {"session_id": session, "selector": "button"}});
    // More clicks than fit into the time, sent without waiting for replies.
    for _ in 0..12 {
        mcp.begin("tools/call", click.clone());
    }
    let jails = Jails::of(home, &mcp);
    // Half of the kills wait for work in progress, however slow the machine is.
    if busy {
        until("a press to arrive", PATIENCE, || (site.hits(name) > 0).then_some(()));
    }
    // The random moment of the kill; nothing is waited for.
    std::thread::sleep(delay);
    machine::signal(mcp.child.id(), "KILL");
    mcp.child.wait().unwrap();
    jails.until_gone();
    let of_run = |line: &Value| line["action"] == "click" && line["session_id"] == session.as_str();
    let log = home.audit_log();
    let whole = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    whole.filter(|line| line["event_type"] == "intent" && of_run(line)).count() as u64
}

#[test]
fn two_hundred_kills_leave_no_effect_without_its_intent_a_log_that_verifies_and_no_jail() {
    let site = Arc::new(Counter::serve());
    common::templates();
    let homes: Vec<_> = (0..HOMES)
        .map(|number| {
            let site = site.clone();
            std::thread::spawn(move || {
                let settings = format!("    egress:\n      hosts:\n        a.test: {}\n", site.address);
                let home = Home::new(&settings);
                let mut seed = 0x5eed + number;
                let mut runs = Vec::new();
                for run_number in 0..RUNS {
                    let delay = Duration::from_micros(dice(&mut seed, 250_000));
                    let name = format!("r{number}x{run_number}");
                    runs.push((run(&home, &site, &name, run_number % 2 == 0, delay), name));
                }
                // The next start repairs the log, records that, and continues.
                let mut mcp = home.mcp();
                mcp.open();
                until("the chain to be whole", PATIENCE, || {
                    (home.json(&["audit", "verify"]).0 == 0).then_some(())
                });
                drop(mcp);
                let log = home.audit_log();
                let starts =
                    log.lines().filter(|line| line.contains("\"event_type\":\"log_opened\"")).count();
                assert_eq!(starts as u64, RUNS, "every start went on with the same chain");
                // Checked last: a click may have been on its way to the site when its server died.
                let mut seen = 0;
                for (intents, name) in runs {
                    let hits = site.hits(&name);
                    assert!(
                        intents >= hits,
                        "{name}: the site saw {hits} presses, the log has {intents} intents"
                    );
                    seen += hits;
                }
                seen
            })
        })
        .collect();
    let seen: u64 = homes.into_iter().map(|home| home.join().unwrap()).sum();
    assert!(seen >= HOMES * RUNS / 2, "the servers were not busy: {seen} presses");
}
