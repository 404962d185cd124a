//! Reading pages: time against Chromium's own accessibility tree, size against the budget, growth with the page.

use crate::bare::Shell;
use crate::common::{Home, site::Site};
use crate::records::Record;
use browser::cdp::{Command, Connection, EventKind, SessionId, protocol as p};
use browser::{
    Browser, BrowserOptions, CallerId, Content, Outcome, ReplyOptions, ScreenshotMask, Snapshot, TimeLimit,
};
use policy::{Action, ImageFormat, LoadState, Navigate, Read, Screenshot, TokenBudget, WebUrl};
use serde_json::json;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Of both in turns; as many as it takes for the page's script to be compiled, so the first is reported separately.
const READINGS: usize = 15;
const ROUNDS: usize = 7;
const MANUAL: &str = "../../target/pgdoc/usr/share/doc";
/// As large as a message can be: the tree of a long page takes tens of megabytes.
const LARGEST_TREE: usize = 64 << 20;

#[derive(serde::Serialize)]
pub struct GetFullAxTree {}

impl Command for GetFullAxTree {
    const METHOD: &'static str = "Accessibility.getFullAXTree";
    type Response = serde::de::IgnoredAny;

    fn max_reply(&self) -> usize {
        LARGEST_TREE
    }
}

/// Documents that are opened anew for a reading, and as many for a tree.
const OPENED: usize = 3;
const CHANGES: usize = 7;
const CHANGE: &str =
    "document.documentElement.setAttribute('data-changed', Math.random()); document.body.offsetWidth";

/// Visits every node and reads what any reading of the structure needs: name, role, label, and the length of a text.
const BARE_WALK: &str = "(() => { let size = 0; const walker = document.createTreeWalker(document.documentElement, 5);
    for (let node = walker.currentNode; node; node = walker.nextNode()) {
        size += node.nodeType === 1 ? node.localName.length + (node.getAttribute('role') ?? node.getAttribute('aria-label') ?? '').length : node.data.length;
    } return size })()";

#[derive(serde::Serialize)]
struct Evaluate {
    expression: &'static str,
}

impl Command for Evaluate {
    const METHOD: &'static str = "Runtime.evaluate";
    type Response = serde::de::IgnoredAny;
}

/// The largest pages of the PostgreSQL manual, and what they need.
pub struct Manual {
    /// Path and page, the largest first.
    pub pages: Vec<(String, String)>,
    pub style: String,
}

impl Manual {
    pub fn largest(count: usize) -> Manual {
        Manual::of(|files| files.len() - count..files.len())
    }

    /// As long as a page of it mostly is.
    pub fn usual() -> Manual {
        Manual::of(|files| files.len() / 2..files.len() / 2 + 1)
    }

    /// Longer than nine in ten.
    pub fn long() -> Manual {
        Manual::of(|files| files.len() * 9 / 10..files.len() * 9 / 10 + 1)
    }

    /// Some of its files, of all from the smallest to the largest.
    fn of(some: impl Fn(&[(u64, String)]) -> Range<usize>) -> Manual {
        let unpacked = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(MANUAL));
        let mut packages = unpacked.expect("the manual is unpacked (script/setup bench does it)");
        let folder = packages.next().unwrap().unwrap().path().join("html");
        let mut files: Vec<(u64, String)> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.metadata().unwrap().len(), entry.file_name().into_string().unwrap()))
            .filter(|(_, name)| name.ends_with(".html"))
            .collect();
        files.sort();
        let range = some(&files);
        let pages = files[range]
            .iter()
            .rev()
            .map(|(_, name)| (format!("/{name}"), fs::read_to_string(folder.join(name)).unwrap()))
            .collect();
        Manual { pages, style: fs::read_to_string(folder.join("stylesheet.css")).unwrap() }
    }

    pub fn serve(&self) -> Site {
        let pages = self.pages.iter().map(|(path, page)| (path.as_str(), page.as_str()));
        Site::serve(&pages.chain([("/stylesheet.css", self.style.as_str())]).collect::<Vec<_>>())
    }
}

/// A driver on a bare shell, and its connection for calls beside it.
pub struct Reader {
    browser: Browser,
    record: Record,
    connection: Connection,
    tab: SessionId,
    _shell: Shell,
}

/// Medians of one page, from one run of rounds.
pub struct Times {
    /// The very first, not a median.
    pub first: Duration,
    pub accessibility_tree: Duration,
    pub default_budget: Duration,
    pub largest_budget: Duration,
}

/// Medians of one page: as the first thing that is done in a new document, and later, with and without a change before.
pub struct ChangeTimes {
    /// A document that nothing has read or asked before, and the tree of such a one.
    pub opened: Duration,
    pub opened_tree: Duration,
    /// What no reading through this connection can be faster than: a call that does nothing, and one that visits every node.
    pub empty_call: Duration,
    pub bare_walk: Duration,
    pub accessibility_tree: Duration,
    pub changed: Duration,
    pub unchanged: Duration,
}

/// Medians of one page.
pub struct PictureTimes {
    pub taken: Duration,
    pub kept: Vec<(&'static str, Duration)>,
}

impl Reader {
    pub async fn start() -> Reader {
        let shell = Shell::start();
        let connection = shell.browser_connection().await;
        let mut events = connection.subscribe();
        let browser = Browser::attach(connection.clone(), BrowserOptions::default())
            .await
            .unwrap()
            .without_credentials();
        let tab = loop {
            if let EventKind::Attached(tab) = &events.recv().await.unwrap().kind {
                break tab.session_id.clone();
            }
        };
        Reader { browser, record: Record::in_memory(), connection, tab, _shell: shell }
    }

    pub async fn goto(&self, url: &str) {
        let wait_for = LoadState::Load;
        self.act(Action::Navigate(Navigate { url: WebUrl::parse(url).unwrap(), wait_for })).await;
    }

    /// Each reading in turns. The tree leaves work behind that whatever is next has to do; that is a reading which is not
    /// counted.
    pub async fn times(&self) -> Times {
        let (mut tree, mut small, mut large) = (Vec::new(), Vec::new(), Vec::new());
        let first = self.time_of(TokenBudget::default()).await.0;
        for _ in 0..=READINGS {
            tree.push(self.time_of_tree().await);
            self.time_of(TokenBudget::default()).await;
            small.push(self.time_of(TokenBudget::default()).await.0);
            large.push(self.time_of(TokenBudget::new(TokenBudget::MAX).unwrap()).await.0);
        }
        let [tree, small, large] = [tree, small, large].map(|mut times| crate::median(&mut times[1..]));
        Times { first, accessibility_tree: tree, default_budget: small, largest_budget: large }
    }

    /// In turns: a reading of a new document and its tree; then a reading after a change, one without a change, the tree, and
    /// the floor.
    pub async fn times_after_changes(&self, url: &str) -> ChangeTimes {
        let (mut opened, mut opened_tree) = (Vec::new(), Vec::new());
        for _ in 0..OPENED {
            self.open(url).await;
            opened.push(self.time_of(TokenBudget::default()).await.0);
            self.open(url).await;
            opened_tree.push(self.time_of_tree().await);
        }
        self.goto(url).await;
        let (mut tree, mut changed, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
        let (mut empty, mut walks) = (Vec::new(), Vec::new());
        for _ in 0..=CHANGES {
            self.evaluate(CHANGE).await;
            changed.push(self.time_of(TokenBudget::default()).await.0);
            unchanged.push(self.time_of(TokenBudget::default()).await.0);
            tree.push(self.time_of_tree().await);
            self.evaluate("0").await;
            empty.push(self.evaluate("0").await);
            walks.push(self.evaluate(BARE_WALK).await);
        }
        let [accessibility_tree, changed, unchanged, empty_call, bare_walk] =
            [tree, changed, unchanged, empty, walks].map(|mut times| crate::median(&mut times[1..]));
        let [opened, opened_tree] = [opened, opened_tree].map(|mut times| crate::median(&mut times));
        ChangeTimes { opened, opened_tree, empty_call, bare_walk, accessibility_tree, changed, unchanged }
    }

    /// Opens a page by a call to Chromium, so that the driver has not read it.
    async fn open(&self, url: &str) {
        let mut events = self.connection.subscribe();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        let navigated = self.connection.call(Some(&self.tab), &p::Navigate { url }, deadline).await.unwrap();
        let loader = navigated.loader_id.unwrap();
        loop {
            match &events.recv().await.unwrap().kind {
                EventKind::Lifecycle(it) if it.name == "load" && it.loader_id == loader => break,
                _ => {}
            }
        }
        // Its first layout is Chromium's own.
        self.evaluate("document.documentElement.getBoundingClientRect().height").await;
    }

    async fn evaluate(&self, expression: &'static str) -> Duration {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        let begun = Instant::now();
        self.connection.call(Some(&self.tab), &Evaluate { expression }, deadline).await.unwrap();
        begun.elapsed()
    }

    async fn time_of_tree(&self) -> Duration {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        let begun = Instant::now();
        self.connection.call(Some(&self.tab), &GetFullAxTree {}, deadline).await.unwrap();
        begun.elapsed()
    }

    async fn time_of(&self, tokens: TokenBudget) -> (Duration, Snapshot) {
        let begun = Instant::now();
        let outcome = self.act(Action::Read(Read { tokens, ..Read::default() })).await;
        match outcome {
            Outcome::Read(snapshot) => (begun.elapsed(), snapshot),
            other => panic!("{other:?}"),
        }
    }

    /// The time of one snapshot, divided by the elements of the page.
    pub async fn time_per_element(&self, elements: usize) -> Duration {
        let mut times = Vec::new();
        for round in 0..=ROUNDS {
            self.evaluate(CHANGE).await;
            let (time, snapshot) = self.time_of(TokenBudget::default()).await;
            times.push(time);
            let Content::Outline(text) = snapshot.content else { panic!("no outline") };
            // The first is there to warm up.
            let last = text.lines().last().unwrap();
            assert!(round == 0 || !last.starts_with("… "), "{elements} elements: {last}");
        }
        crate::median(&mut times[1..]) / u32::try_from(elements).unwrap()
    }

    /// Pictures of what is in view, in turns.
    pub async fn picture_times(&self, rounds: usize) -> PictureTimes {
        let covers = [
            ("nothing typed", ScreenshotMask::default()),
            ("typed elsewhere", ScreenshotMask::typed_text(["nowhere on this page"])),
            ("typed and covered", ScreenshotMask::typed_text(["a link to 3,", "first of 1", "Choose 2"])),
        ];
        let (mut taken, mut kept) = (Vec::new(), covers.each_ref().map(|_| Vec::new()));
        for _ in 0..=rounds {
            let begun = Instant::now();
            self.act(Action::Screenshot(Screenshot { format: ImageFormat::Webp, ..Screenshot::default() }))
                .await;
            taken.push(begun.elapsed());
            for ((_, cover), times) in covers.iter().zip(&mut kept) {
                let begun = Instant::now();
                let limit = TimeLimit::new(Duration::from_secs(30));
                self.browser.recording_screenshot(None, ImageFormat::Webp, cover, limit).await.unwrap();
                times.push(begun.elapsed());
            }
        }
        let named = covers.iter().map(|(what, _)| *what);
        let kept = named.zip(kept.map(|mut times| crate::median(&mut times[1..]))).collect();
        PictureTimes { taken: crate::median(&mut taken[1..]), kept }
    }

    async fn act(&self, action: Action) -> Outcome {
        let facts = self.browser.resolve(&action).await.unwrap();
        let reply = ReplyOptions { caller: CallerId::new("bench"), full: true };
        let permitted = self.record.permit(action, facts).await;
        self.browser.perform(permitted, &reply).await.unwrap()
    }
}

/// A page of about this many elements, of the kinds that pages are made of.
pub fn page_of(elements: usize) -> String {
    let part = |n: usize| {
        format!(
            "<section><h2>Part {n}</h2><p>Some words and <a href=/{n}>a link to {n}</a>, then <em>more</em>.</p>
             <ul><li>first of {n}</li><li><button>Choose {n}</button></li></ul></section>"
        )
    };
    (0..elements / 9).map(part).collect()
}

/// What the whole text of each page's reply costs, as an MCP client gets it from a jail.
pub fn reply_sizes(manual: &Manual) -> Vec<(String, usize)> {
    let site = manual.serve();
    let home = Home::new(&site.setting(&["manual.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let sizes = manual.pages.iter().map(|(path, _)| {
        let arguments = json!({"session_id": session, "url": format!("http://manual.test{path}")});
        let answer = mcp.request("tools/call", json!({"name": "browser_navigate", "arguments": arguments}));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        let parts = answer["result"]["content"].as_array().unwrap().iter();
        let text: String = parts.map(|part| part["text"].as_str().unwrap()).collect();
        (path.clone(), TokenBudget::count(&text))
    });
    sizes.collect()
}
