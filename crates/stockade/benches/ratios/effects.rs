//! Effects: what decoding, classifying and deciding adds to a request that is allowed, and how many pass in a second.

use crate::proxying::{Proxies, RecordPlace, Way};
use crate::records::{Record, about};
use crate::{median, print_line};
use axum::body::Bytes;
use engine::approvals::SessionAllowances;
use engine::logins::SessionSecrets;
use engine::record::TypedTextRedactor;
use engine::session::{EffectSettings, EffectSubject, SessionEffects};
use futures_util::future::join_all;
use policy::{Access, Effect, EffectContext, EffectDecision, EffectRequest, EffectTransport, Policy};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What deciding may add to an allowed request at the median.
const MOST_ADDED: Duration = Duration::from_millis(1);
const ROUNDS: usize = 400;
const SAVES: usize = 400;
const SETTLING: Duration = Duration::from_millis(3);
const PASSING: Duration = Duration::from_secs(2);
const CONNECTIONS: usize = 8;

/// The gate of a session with `write` access, with its record.
pub fn gate(record: &Record) -> SessionEffects {
    let secrets = Arc::new(SessionSecrets::default());
    let settings = EffectSettings { policy: Policy::default(), log: record.log.clone() };
    let subject = EffectSubject {
        access: Access::Write,
        event_subject: about(),
        typed_text: Arc::new(TypedTextRedactor::new(Arc::clone(&secrets))),
        secrets,
        allowances: Arc::new(SessionAllowances::default()),
    };
    // Nothing here is asked about, so nobody takes from the queue.
    SessionEffects::new(settings, subject).0
}

/// Ordinary saves, as applications send them. None of them asks.
fn saves() -> Vec<(&'static str, EffectRequest)> {
    let request = |path: &str, content_type: &str, body: String| EffectRequest {
        transport: EffectTransport::Http,
        method: "POST".into(),
        url: format!("https://sealed.test/{path}"),
        content_type: content_type.into(),
        destination: "empty".into(),
        body: Bytes::from(body),
    };
    let form = "csrfmiddlewaretoken=Xb3kP0aQ&title=Sketch+of+the+Engine&author=4&genre=essay&published=1843-09-01\
                &in_print=on&notes=With+notes%0D%0Aby+the+translator&_save=Save";
    let items: Vec<Value> = (0..20)
        .map(|n| json!({"id": n, "label": format!("Line {n}"), "quantity": n % 5, "comment": "as last time"}))
        .collect();
    let graphql = json!({
        "operationName": "UpdateNote",
        "query": "mutation UpdateNote($id: ID!, $text: String!) { updateNote(id: $id, text: $text) { id text } }",
        "variables": {"id": "n-17", "text": "Call the printer about the proofs."},
    });
    let part = |name: &str, value: &str| {
        format!("--b0unda7y\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let multipart =
        ["title", "summary", "category", "language"].map(|name| part(name, "The Analytical Engine"));
    vec![
        ("form, 8 fields", request("admin/book/7/change/", "application/x-www-form-urlencoded", form.into())),
        ("JSON, 80 fields", request("api/lists/9", "application/json", json!({"items": items}).to_string())),
        ("GraphQL mutation", request("graphql", "application/json", graphql.to_string())),
        (
            "multipart, 4 fields",
            request(
                "papers/3/edit",
                "multipart/form-data; boundary=b0unda7y",
                format!("{}--b0unda7y--\r\n", multipart.concat()),
            ),
        ),
    ]
}

fn decide(policy: &Policy, request: EffectRequest) -> EffectDecision {
    policy.decide_effect(Effect::decode(request), &EffectContext { access: Access::Write, cause: None })
}

pub async fn report() {
    deciding();
    through_the_proxy().await;
}

/// The decision alone, on one processor.
fn deciding() {
    let (policy, saves) = (Policy::default(), saves());
    let mut all = Duration::ZERO;
    for (what, save) in &saves {
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let save = save.clone();
                let begun = Instant::now();
                let decision = black_box(decide(&policy, save));
                let took = begun.elapsed();
                assert!(matches!(decision, EffectDecision::Allow(_)), "{what}: {decision:?}");
                took
            })
            .collect();
        all += times.iter().sum::<Duration>();
        limited(&format!("effect decided, {what}"), median(&mut times));
    }
    let rate = (saves.len() * ROUNDS) as f64 / all.as_secs_f64();
    print_line(&format!("effects, decided                     {rate:>8.0} a second on one processor"));
}

/// Whole requests, intercepted: without a gate, and with one.
async fn through_the_proxy() {
    let proxies = Proxies::start().await;
    let saves = saves();
    let ways = [Way::Intercepted, Way::Decided(RecordPlace::Memory), Way::Decided(RecordPlace::Disk)];
    let mut connections = Vec::new();
    for way in ways {
        connections.push(proxies.connect(way).await);
    }
    let mut times: [Vec<Duration>; 3] = Default::default();
    for (_, save) in saves.iter().cycle().take(SAVES) {
        for ((way, connection), times) in ways.into_iter().zip(&mut connections).zip(&mut times) {
            times.push(proxies.save(way, connection, save).await);
            // The outcome is recorded after the reply; it would count for the next way.
            tokio::time::sleep(SETTLING).await;
        }
    }
    let [plain, decided, recorded] = times.map(|mut times| median(&mut times[SAVES / 10..]));
    print_line(&format!("request, not decided on              {:>8.3} ms", plain.as_secs_f64() * 1e3));
    limited("deciding adds, record in memory", decided.saturating_sub(plain));
    let added = recorded.saturating_sub(plain).as_secs_f64() * 1e3;
    print_line(&format!("deciding adds, record on disk        {added:>8.3} ms"));
    for (what, way) in [("in memory", ways[1]), ("on disk", ways[2])] {
        let begun = Instant::now();
        let passed = join_all((0..CONNECTIONS).map(|_| async {
            let mut connection = proxies.connect(way).await;
            let mut passed = 0u32;
            while begun.elapsed() < PASSING {
                proxies.save(way, &mut connection, &saves[0].1).await;
                passed += 1;
            }
            passed
        }));
        let rate = f64::from(passed.await.iter().sum::<u32>()) / begun.elapsed().as_secs_f64();
        let what = format!("effects, record {what}");
        print_line(&format!("{what:<36} {rate:>8.0} a second over {CONNECTIONS} connections"));
    }
}

fn limited(what: &str, took: Duration) {
    let verdict = if took <= MOST_ADDED { "ok" } else { "OVER" };
    let (took, most) = (took.as_secs_f64() * 1e3, MOST_ADDED.as_secs_f64() * 1e3);
    print_line(&format!("{what:<36} {took:>8.3} ms   (at most {most} ms) {verdict}"));
}
