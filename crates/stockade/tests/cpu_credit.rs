//! CPU credit on real cgroups: a page that burns ends at its share, and one that rests gets whole processors again.
//!
//! Compares the CPU time that the kernel counted with the time that passed: a busy machine gives less, never more.

use crate::common;

use common::machine::{cpu_seconds, until};
use common::site::Site;
use common::{Home, Server, http};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Computes in workers for as long as it is open.
const BURNS: &str = "<!doctype html><title>burns</title><h1>Burns</h1><script>
  const code = 'for (;;) {}';
  for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob([code])));
</script>";

const SHARE: f64 = 0.25;
const CREDIT: f64 = 1.0;
/// By how much a jail may exceed its credit if readings come late.
const SLACK: f64 = 1.0;
const PATIENCE: Duration = Duration::from_secs(60);

struct BurningSession {
    _home: Home,
    server: Server,
    session: Value,
    jail: String,
}

impl BurningSession {
    fn start(site: &Site) -> BurningSession {
        let settings = format!(
            "    container:\n      cpu_shares: {SHARE}\n      cpu_credit: {CREDIT}\n{}",
            site.setting(&["burns.test"])
        );
        let home = Home::new(&settings);
        let server = home.serve(&[]);
        let opened = post(&server, json!({"action": "session.start"}));
        let session = opened["session_id"].clone();
        let listed = post(&server, json!({"action": "session.list"}));
        let jail = listed["data"]["sessions"][0]["jail_id"].as_str().unwrap_or_else(|| panic!("{listed}"));
        BurningSession { _home: home, server, session, jail: jail.to_owned() }
    }

    fn goto(&self, path: &str) {
        let url = format!("http://burns.test{path}");
        post(&self.server, json!({"action": "page.goto", "session": self.session, "url": url}));
    }

    fn credit(&self) -> Value {
        let listed = post(&self.server, json!({"action": "session.list"}));
        listed["data"]["sessions"][0]["cpu"].clone()
    }

    /// CPU seconds that the jail has used.
    fn usage(&self) -> f64 {
        cpu_seconds(&self.jail)
    }
}

fn post(server: &Server, request: Value) -> Value {
    let (status, result) = http::post(&server.address(), server.key(), "/v1/actions", &request.to_string());
    assert_eq!(result["success"], true, "{status} {result}");
    result
}

#[test]
fn a_page_that_burns_uses_its_credit_then_its_share_and_recovers() {
    let site = Site::serve(&[("/", BURNS), ("/rest", "<!doctype html><title>rest</title><h1>Rest</h1>")]);
    let session = BurningSession::start(&site);
    let full = session.credit();
    assert_eq!((full["share"].as_f64(), full["limited"].as_bool()), (Some(SHARE), Some(false)), "{full}");
    assert!(full["credit_seconds"].as_f64().unwrap() <= CREDIT, "{full}");

    let (began, before) = (Instant::now(), session.usage());
    session.goto("/");
    let limited = until("the credit is used up", PATIENCE, || {
        (session.credit()["limited"] == true).then(|| session.credit())
    });
    assert!(limited["credit_seconds"].as_f64().unwrap() < CREDIT, "{limited}");

    let (window, counted) = (Instant::now(), session.usage());
    std::thread::sleep(Duration::from_secs(6));
    let sustained = (session.usage() - counted) / window.elapsed().as_secs_f64();
    // The kernel carries a quarter of a second over.
    assert!(sustained <= SHARE + 0.05, "uses {sustained} processors, its share is {SHARE}");
    let (total, elapsed) = (session.usage() - before, began.elapsed().as_secs_f64());
    let most = CREDIT + SHARE * elapsed + SLACK;
    assert!(total <= most, "used {total} s in {elapsed} s, at most {most}");
    assert!(total >= CREDIT / 2.0, "used {total} s: it did not burn");

    session.goto("/rest");
    until("the session has rested", PATIENCE, || (session.credit()["limited"] == false).then_some(()));
}
