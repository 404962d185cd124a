//! `make bench`: what Stockade costs, as ratios to bare Chromium measured in the same run.
//!
//! Each pair is measured in turns, so that a slow moment of the machine affects both, and reported by its median.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement that cannot be made stops the run"
)]

mod actions;
mod applications;
mod bare;
#[path = "../../tests/common/mod.rs"]
mod common;
mod corpus;
mod decisions;
mod effects;
mod gating;
mod jailed;
mod limits;
mod link;
mod proxying;
mod records;
mod snapshots;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

const PARTS: [&str; 14] = [
    "open", "crowd", "go", "limits", "act", "gate", "proxy", "effects", "pictures", "read", "corpus", "grow",
    "decide", "size",
];
const OPENINGS: usize = 21;
/// Sessions that are open at once, and how many of the first and the last are compared.
const CROWD: usize = 100;
const CROWD_EDGE: usize = 10;
const CALLS: usize = 2_000;
/// Pages of the manual whose snapshots are timed, and whose replies are measured.
const PAGES_TIMED: usize = 5;
const PAGES_MEASURED: usize = 20;
const SMALL_PAGE: usize = 1_000;
/// A snapshot against the accessibility tree: of a page that has changed, and of one that has not.
const CHANGED_RATIO: f64 = 0.06;
const UNCHANGED_RATIO: f64 = 0.02;
const PICTURES: usize = 15;
const ACTIONS: usize = 101;
const TYPINGS: usize = 7;
const JOURNEYS: usize = 41;
/// Transfers through each proxy, the bytes of one alone and of each of a hundred, and small requests.
const TRANSFERS: usize = 7;
const ONE_STREAM: usize = 128 << 20;
const OF_A_HUNDRED: usize = 1 << 20;
const REQUESTS: usize = 1_000;
/// Actions of each of ten sessions.
const RECORDED: usize = 30;
/// Between two actions, as an agent would.
const THINKING: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    // The control plane starts its own program again as its keeper, and here that program is this one.
    if std::env::args().nth(1).is_some_and(|argument| argument == "jail-keeper") {
        return jail::keeper::main();
    }
    // `cargo bench --bench ratios -- proxy effects` measures these alone. Cargo adds `--bench`.
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let Some(unknown) = only.iter().find(|part| !PARTS.contains(&part.as_str())) {
        print_line(&format!("there is no part {unknown:?}; there are: {}", PARTS.join(" ")));
        return ExitCode::FAILURE;
    }
    let wanted = |part: &str| only.is_empty() || only.iter().any(|only| only == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    print_line("\nStockade against bare Chromium, medians of one run\n");
    runtime.block_on(async {
        if wanted("open") {
            openings().await;
            calls().await;
        }
        if wanted("crowd") {
            crowd().await;
        }
        if wanted("go") {
            going().await;
        }
        if wanted("limits") {
            limits::new_sessions();
            limits::burning();
            limits::beside_two_that_burn();
        }
        if wanted("act") {
            let clicked = action_times().await;
            recording(clicked).await;
        }
        if wanted("gate") {
            gate().await;
        }
        if wanted("proxy") {
            proxying().await;
        }
        if wanted("effects") {
            effects::report().await;
        }
        if wanted("pictures") {
            pictures().await;
        }
        if wanted("read") {
            snapshot_times().await;
        }
        if wanted("corpus") {
            corpus_times().await;
        }
        if wanted("grow") {
            snapshot_growth().await;
        }
    });
    if wanted("decide") {
        deciding();
    }
    if wanted("size") {
        memory();
        reply_sizes();
    }
    ExitCode::SUCCESS
}

/// A cold session (jail, readiness, page attached) against the time the bare shell takes to be ready.
async fn openings() {
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    let stockade = jailed::Stockade::start(&[]).await;
    // The first of each warms the page cache, and is not counted.
    for _ in 0..=OPENINGS {
        bare.push(bare::time_to_ready());
        ours.push(stockade.time_to_open().await);
    }
    let (ours, bare) = (median(&mut ours[1..]), median(&mut bare[1..]));
    line("cold session open", ours, "bare shell ready", bare, 2.5);
    stockade.store_login().await;
    let (mut clean, mut signed_in) = (Vec::new(), Vec::new());
    for _ in 0..=OPENINGS {
        clean.push(stockade.time_to_open().await);
        signed_in.push(stockade.time_to_open_signed_in().await);
    }
    let (clean, signed_in) = (median(&mut clean[1..]), median(&mut signed_in[1..]));
    line("cold open, sealed login", signed_in, "cold open, clean", clean, 1.3);
    stockade.stop().await;
}

/// Opening a session while many are open, against the first.
async fn crowd() {
    let most = CROWD.to_string();
    let stockade = jailed::Stockade::start(&[("max_concurrent_sessions", most.as_str())]).await;
    // Warms the page cache, and is not counted.
    stockade.time_to_open().await;
    let mut times = stockade.times_to_open_all(CROWD).await;
    let (first, last) = (times[0], times[CROWD - 1]);
    line("100th session open", last, "1st session open", first, 1.2);
    let middle = median(&mut times.clone());
    let edge = median(&mut times[CROWD - CROWD_EDGE..]);
    let start = median(&mut times[..CROWD_EDGE]);
    line("sessions 91 to 100", edge, "sessions 1 to 10", start, 1.2);
    print_line(&format!("  median of all {CROWD}: {:.3} ms", middle.as_secs_f64() * 1e3));
    stockade.stop().await;
}

/// One small CDP call through socket and bridge, against the same on a direct WebSocket.
async fn calls() {
    let (_jail, connection) = jailed::Jail::start(&[]).await;
    let jailed = link::Link::over(connection).await;
    let shell = bare::Shell::start();
    let direct = shell.connection().await;
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..CALLS {
        bare.push(direct.round_trip().await);
        ours.push(jailed.round_trip().await);
    }
    let (ours, bare) = (median(&mut ours[CALLS / 10..]), median(&mut bare[CALLS / 10..]));
    line("CDP call through the bridge", ours, "on a direct WebSocket", bare, 1.5);
}

/// Going to a page, with a reply that holds a snapshot, against Chromium alone: until it has loaded, until it has
/// answered a question about the page, and until it has returned its tree.
async fn going() {
    let (site, pages) = actions::static_pages();
    let mut ours = actions::Ours::start(&site);
    let mut bare = actions::Bare::start(&site).await;
    // A tab that was asked is slower from then on.
    let mut asked = actions::Bare::start(&site).await;
    let mut reader = actions::Bare::start(&site).await;
    for (what, path) in pages {
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..=JOURNEYS {
            times[0].push(ours.navigate(&path));
            times[1].push(bare.navigate(&path).await);
            times[2].push(asked.navigate_and_ask(&path).await);
            times[3].push(reader.navigate_and_read(&path).await);
            tokio::time::sleep(THINKING).await;
        }
        let [ours, loaded, answered, read] = times.map(|mut times| median(&mut times[1..]));
        line(what, ours, "bare, until load", loaded, 1.2);
        let least = answered.as_secs_f64() / loaded.as_secs_f64();
        print_line(&format!(
            "  the same of bare Chromium that answers one question about the page: ratio {least:.3}"
        ));
        line(what, ours, "bare, and its tree", read, 1.2);
    }
}

/// What an agent waits for, from its request to the page afterwards, against the bare calls to Chromium.
async fn action_times() -> Duration {
    let site = actions::site();
    let mut ours = actions::Ours::start(&site);
    let mut bare = actions::Bare::start(&site).await;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    ours.navigate("/");
    bare.navigate("/").await;
    for _ in 0..=ACTIONS {
        there.push(bare.click().await);
        here.push(ours.click());
        tokio::time::sleep(THINKING).await;
    }
    let (clicked, pressed) = (median(&mut here[1..]), median(&mut there[1..]));
    line("click, from request to delta", clicked, "bare press and release", pressed, 3.0);
    let text = "a".repeat(actions::TYPED);
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..=TYPINGS {
        there.push(bare.type_text(&text).await);
        here.push(ours.type_text(&text));
        tokio::time::sleep(THINKING).await;
    }
    let (typed, struck) = (median(&mut here[1..]), median(&mut there[1..]));
    line("typing 1,000 characters", typed, "bare keys down and up", struck, 3.0);
    clicked
}

/// How fast the policy is, clicks, typing and navigations in turn.
fn deciding() {
    const LEAST: f64 = 100_000.0;
    let rate = decisions::a_second();
    let verdict = if rate >= LEAST { "ok" } else { "UNDER" };
    print_line(&format!(
        "policy, default rules        {rate:>7.0} decisions a second (at least {LEAST:.0}) {verdict}"
    ));
}

/// The whole gate, record included, as a share of an allowed click: the click through it, less the driver's part alone.
async fn gate() {
    let site = actions::site();
    let gated = gating::Gated::start(&site.address.to_string()).await;
    let driven = gating::Driven::start(&site.address.to_string()).await;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..=ACTIONS {
        bare.push(driven.click().await);
        ours.push(gated.click().await);
        tokio::time::sleep(THINKING).await;
    }
    let (ours, bare) = (median(&mut ours[1..]), median(&mut bare[1..]));
    line("the gate, of an allowed click", ours.saturating_sub(bare), "that click, whole", ours, 0.15);
    gated.stop().await;
}

/// Bytes a second through the egress proxy, and what an intercepted request waits longer, against tinyproxy.
async fn proxying() {
    use proxying::Way;
    let proxies = proxying::Proxies::start().await;
    let ways = [Way::Tinyproxy, Way::Tunnel, Way::Intercepted];
    for (streams, count) in [(1, ONE_STREAM), (100, OF_A_HUNDRED)] {
        let mut times: [Vec<Duration>; 3] = Default::default();
        for _ in 0..=TRANSFERS {
            for (way, times) in ways.into_iter().zip(&mut times) {
                times.push(proxies.fetch(way, streams, count).await);
            }
        }
        let rate = |time: Duration| (streams * count) as f64 / 1e6 / time.as_secs_f64();
        let [peer, tunnel, intercepted] = times.map(|mut times| rate(median(&mut times[1..])));
        for (what, ours) in [("tunnel", tunnel), ("intercepted", intercepted)] {
            let (what, ratio) = (format!("proxy, {what}, streams: {streams}"), ours / peer);
            print_line(&format!(
                "{what:<36} {ours:>7.0} MB/s   tinyproxy              {peer:>7.0} MB/s   ratio {ratio:.3}"
            ));
        }
    }
    let mut connections = Vec::new();
    for way in ways {
        connections.push(proxies.connect(way).await);
    }
    let mut times: [Vec<Duration>; 3] = Default::default();
    let before = proxies.on_ledger();
    for _ in 0..REQUESTS {
        for ((way, connection), times) in ways.into_iter().zip(&mut connections).zip(&mut times) {
            times.push(proxies.small_request(way, connection).await);
        }
    }
    let read = proxies.on_ledger() - before;
    // The last may not be on it yet.
    assert!(read + 1 >= REQUESTS as u64, "the proxy read {read} of {REQUESTS} requests");
    let [peer, tunnel, intercepted] = times.map(|mut times| median(&mut times[REQUESTS / 10..]));
    let pairs = [
        ("tunnel", tunnel, "tinyproxy", peer),
        ("intercepted", intercepted, "tinyproxy", peer),
        ("intercepted", intercepted, "our own tunnel", tunnel),
    ];
    for (what, time, other, base) in pairs {
        let added = (time.as_secs_f64() - base.as_secs_f64()) * 1e3;
        print_line(&format!(
            "request, {what:<27} {:>8.3} ms   {other:<22} {:>8.3} ms   added {added:.3} ms",
            time.as_secs_f64() * 1e3,
            base.as_secs_f64() * 1e3,
        ));
    }
}

/// How fast events become durable, and what the two of an allowed click add to it.
async fn recording(clicked: Duration) {
    let record = records::Record::open();
    for sessions in [1, 10, 100] {
        let rate = record.events_a_second(sessions).await;
        let what = format!("audit, {sessions} sessions writing");
        print_line(&format!("{what:<28} {rate:>7.0} events a second, each on disk before the next"));
    }
    let mut costs = record.cost(10, RECORDED, clicked, THINKING).await;
    line("recording a click, of ten", median(&mut costs), "that click, whole", clicked, 0.1);
}

/// A picture that is kept against one that is only taken, of a page of ten thousand elements.
async fn pictures() {
    let reader = snapshots::Reader::start().await;
    let site = common::site::Site::serve(&[("/", &snapshots::page_of(SMALL_PAGE * 10))]);
    reader.goto(&format!("http://{}/", site.address)).await;
    let times = reader.picture_times(PICTURES).await;
    for (what, time) in times.kept {
        line(&format!("picture kept, {what}"), time, "taken", times.taken, 2.0);
    }
}

/// The control plane's own memory, without its keeper and jails.
fn memory() {
    let (none, five) = jailed::memory_with_none_and_five();
    print_line(&format!("control plane's own memory   {none:>7.1} MB with 0 sessions, {five:.1} MB with 5"));
}

/// A snapshot against `Accessibility.getFullAXTree` on the same page and connection, in turns.
async fn snapshot_times() {
    let manual = snapshots::Manual::largest(PAGES_TIMED);
    let site = manual.serve();
    let reader = snapshots::Reader::start().await;
    for (path, _) in &manual.pages {
        reader.goto(&format!("http://{}{path}", site.address)).await;
        let times = reader.times().await;
        let name = path.trim_matches('/').trim_end_matches(".html");
        let first = times.first.as_secs_f64() / times.accessibility_tree.as_secs_f64();
        print_line(&format!("snapshot, first of all, {name:<17} ratio {first:.3}"));
        for (budget, ours) in [("6k", times.default_budget), ("50k", times.largest_budget)] {
            let what = format!("snapshot, {budget}, {name}");
            line(&what, ours, "getFullAXTree", times.accessibility_tree, 0.1);
        }
    }
}

/// Documentation by many generators, and applications, with their styles: the first snapshot of a new document, one after a
/// change, and a second one of the same page, against `Accessibility.getFullAXTree`, in turns.
async fn corpus_times() {
    let reader = snapshots::Reader::start().await;
    let mut ratios: [Vec<(f64, String)>; 3] = Default::default();
    for package in corpus::packages() {
        let site = common::site::Site::serve(&package.files());
        for path in &package.pages {
            let name = format!("{}, {}", package.name, path.rsplit('/').next().unwrap_or_default());
            time_page(&reader, &format!("http://{}{path}", site.address), &name, &mut ratios).await;
        }
    }
    for (path, page) in applications::pages() {
        let site = common::site::Site::serve(&[(path, page.as_str())]);
        time_page(&reader, &format!("http://{}{path}", site.address), path, &mut ratios).await;
    }
    for ((some, what), most) in
        ratios.iter_mut().zip(SNAPSHOT_KINDS).zip([CHANGED_RATIO, CHANGED_RATIO, UNCHANGED_RATIO])
    {
        some.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (worst, name) = some.last().unwrap();
        let (median, over) = (some[some.len() / 2].0, some.iter().filter(|(ratio, _)| *ratio > most).count());
        print_line(&format!(
            "{} pages, {what:<9}  median ratio {median:.3}, worst {worst:.3} ({name}), over {most}: {over}",
            some.len()
        ));
    }
}

const SNAPSHOT_KINDS: [&str; 3] = ["first", "changed", "unchanged"];

async fn time_page(reader: &snapshots::Reader, url: &str, name: &str, ratios: &mut [Vec<(f64, String)>; 3]) {
    let times = reader.times_after_changes(url).await;
    let tree = times.accessibility_tree;
    let kinds = [
        (times.opened, times.opened_tree, CHANGED_RATIO),
        (times.changed, tree, CHANGED_RATIO),
        (times.unchanged, tree, UNCHANGED_RATIO),
    ];
    for (((ours, tree, most), what), ratios) in kinds.into_iter().zip(SNAPSHOT_KINDS).zip(ratios) {
        line(&format!("{what}: {name}"), ours, "getFullAXTree", tree, most);
        let share = |time: Duration| time.as_secs_f64() / tree.as_secs_f64();
        if share(ours) > most {
            print_line(&format!(
                "  the floor: a call that does nothing {:.3} ms (ratio {:.3}), a walk of all nodes {:.3} ms (ratio {:.3})",
                times.empty_call.as_secs_f64() * 1e3,
                share(times.empty_call),
                times.bare_walk.as_secs_f64() * 1e3,
                share(times.bare_walk),
            ));
        }
        ratios.push((share(ours), name.to_owned()));
    }
}

/// What an element costs on a large page, against what it costs on a small one: plain pages, and pages with styles.
async fn snapshot_growth() {
    let reader = snapshots::Reader::start().await;
    type MakePage = fn(usize) -> String;
    let kinds: [(&str, MakePage); 2] = [("plain", snapshots::page_of), ("styled", corpus::styled_page_of)];
    for (kind, page_of) in kinds {
        let mut small = None;
        for elements in [SMALL_PAGE, SMALL_PAGE * 10, SMALL_PAGE * 100] {
            let site = common::site::Site::serve(&[("/", &page_of(elements))]);
            reader.goto(&format!("http://{}/", site.address)).await;
            let each = reader.time_per_element(elements).await;
            let small = *small.get_or_insert(each);
            let what = format!("a {kind} element of {elements}");
            line(&what, each, &format!("one of {SMALL_PAGE}"), small, 1.2);
        }
    }
}

/// The default reply, whole and through a jail.
fn reply_sizes() {
    let sizes = snapshots::reply_sizes(&snapshots::Manual::largest(PAGES_MEASURED));
    let (path, tokens) = sizes.iter().max_by_key(|(_, tokens)| *tokens).unwrap();
    let most = policy::TokenBudget::default().bytes() / 4;
    let verdict = if *tokens <= most { "ok" } else { "OVER" };
    print_line(&format!(
        "largest reply of {} pages    {tokens} tokens, {path} (at most {most}) {verdict}",
        sizes.len()
    ));
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// At once: the whole takes minutes.
fn print_line(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn line(what: &str, ours: Duration, peer: &str, bare: Duration, most: f64) {
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= most { "ok" } else { "OVER" };
    print_line(&format!(
        "{what:<36} {:>8.3} ms   {peer:<22} {:>8.3} ms   ratio {ratio:.3} (at most {most}) {verdict}",
        ours.as_secs_f64() * 1e3,
        bare.as_secs_f64() * 1e3,
    ));
}

/// The program that the shared helpers run: the product.
fn session_program() -> std::path::PathBuf {
    common::PROGRAM.into()
}
