//! Acting on pages: clicks, typing and navigations over MCP stdio, against the same by bare CDP calls.

use crate::bare::Shell;
use crate::common::site::Site;
use crate::common::{Home, Mcp, machine};
use crate::snapshots::{GetFullAxTree, Manual};
use browser::cdp::{Command, Connection, Event, EventKind, SessionId, protocol as p};
use futures_util::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::broadcast::Receiver;

const HOST: &str = "bench.test";
pub const TYPED: usize = 1_000;
/// A page that computes for ever, on every processor.
pub const BURNS: &str = "/burns";
const BURNING_PAGE: &str = "<!doctype html><title>Burns</title><h1>Burns</h1><script>
  for (let n = 0; n < 8; n++) new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])));
</script>";

const PAGE: &str = "<!doctype html><title>Counter</title><h1>Counter</h1><p id=n>0</p>
<button id=b style='position:absolute;left:40px;top:140px;width:120px;height:40px'
  onclick='n.textContent = +n.textContent + 1'>Add one</button>
<textarea id=t aria-label=Notes style='position:absolute;left:40px;top:220px;width:400px;height:120px'></textarea>";

/// A small page as the web has them: some text, a list, a style, no script.
fn article() -> String {
    let items: String =
        (0..60).map(|n| format!("<li><a href='/{n}'>Item {n}</a> and a few words about it</li>")).collect();
    format!(
        "<!doctype html><title>Article</title><style>li {{ margin: 4px }}</style><h1>Article</h1><ul>{items}</ul>"
    )
}

#[derive(serde::Serialize)]
struct EvaluateNothing {
    expression: &'static str,
}

impl Command for EvaluateNothing {
    const METHOD: &'static str = "Runtime.evaluate";
    type Response = serde::de::IgnoredAny;
}

pub struct Ours {
    mcp: Mcp,
    session: String,
    home: Home,
}

pub struct Bare {
    connection: Connection,
    events: Receiver<Arc<Event>>,
    tab: SessionId,
    address: String,
    _shell: Shell,
}

pub fn site() -> Site {
    Site::serve(&[("/", PAGE)])
}

/// Pages to go to, each with what it is, and the site that has them.
pub fn static_pages() -> (Site, Vec<(&'static str, String)>) {
    let (article, usual, long) = (article(), Manual::usual(), Manual::long());
    let ([usual_page], [long_page]) = (&usual.pages[..], &long.pages[..]) else { panic!("one page of each") };
    let pages = vec![
        ("going to a small page", "/article".to_owned()),
        ("going to a usual page of the manual", usual_page.0.clone()),
        ("going to a long page of the manual", long_page.0.clone()),
    ];
    let served = [
        ("/article", article.as_str()),
        (BURNS, BURNING_PAGE),
        (&usual_page.0, &usual_page.1),
        (&long_page.0, &long_page.1),
        ("/stylesheet.css", &usual.style),
    ];
    (Site::serve(&served), pages)
}

impl Ours {
    pub fn start(site: &Site) -> Ours {
        Ours::start_with(site, "")
    }

    /// With further settings, as lines of YAML.
    pub fn start_with(site: &Site, more: &str) -> Ours {
        let settings = format!(
            "    max_actions_per_session: 1000000\n    session_timeout: 3600\n{more}{}",
            site.setting(&[HOST])
        );
        let home = Home::new(&settings);
        let mut mcp = home.mcp();
        let session = mcp.open();
        Ours { mcp, session, home }
    }

    fn timed(&mut self, tool: &str, mut arguments: serde_json::Value) -> Duration {
        arguments["session_id"] = json!(self.session);
        let begun = Instant::now();
        self.mcp.ok(tool, arguments);
        begun.elapsed()
    }

    pub fn navigate(&mut self, path: &str) -> Duration {
        self.timed("browser_navigate", json!({"url": format!("http://{HOST}{path}")}))
    }

    /// A second session of the same agent, on this page; its id.
    pub fn open_another(&mut self, path: &str) -> String {
        let session = self.mcp.open();
        self.mcp
            .ok("browser_navigate", json!({"session_id": session, "url": format!("http://{HOST}{path}")}));
        session
    }

    pub fn close_another(&mut self, session: &str) {
        self.mcp.ok("browser_close_session", json!({"session_id": session}));
    }

    /// Whether the credit of CPU time is used up.
    pub fn is_limited(&self) -> bool {
        self.shown()["cpu"]["limited"] == true
    }

    /// What `session list` shows of it.
    fn shown(&self) -> serde_json::Value {
        let (_, listed) = self.home.json(&["session", "list"]);
        let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
        sessions.into_iter().find(|shown| shown["session_id"] == self.session.as_str()).unwrap()
    }

    /// CPU time that the session's jail has used, as the kernel counts it.
    pub fn cpu_seconds(&self) -> f64 {
        let shown = self.shown();
        machine::cpu_seconds(shown["jail_id"].as_str().unwrap())
    }

    pub fn click(&mut self) -> Duration {
        self.timed("browser_click", json!({"role": "button", "name": "Add one"}))
    }

    pub fn type_text(&mut self, text: &str) -> Duration {
        self.timed(
            "browser_type",
            json!({"role": "textbox", "name": "Notes", "text": text, "clear_first": true}),
        )
    }
}

impl Bare {
    pub async fn start(site: &Site) -> Bare {
        let shell = Shell::start();
        let connection = shell.browser_connection().await;
        let mut events = connection.subscribe();
        let filter = vec![p::TargetFilter { r#type: "page", exclude: false }];
        let attach =
            p::SetAutoAttach { auto_attach: true, wait_for_debugger_on_start: false, flatten: true, filter };
        let bare = |tab| Bare {
            connection: connection.clone(),
            events: connection.subscribe(),
            tab,
            address: site.address.to_string(),
            _shell: shell,
        };
        call(&connection, None, &attach).await;
        call(&connection, None, &p::CreateTarget { url: "about:blank" }).await;
        let tab = loop {
            if let EventKind::Attached(tab) = &events.recv().await.unwrap().kind {
                break tab.session_id.clone();
            }
        };
        call(&connection, Some(&tab), &p::EnablePage {}).await;
        call(&connection, Some(&tab), &p::SetLifecycleEvents { enabled: true }).await;
        bare(tab)
    }

    /// Until the page says that it has loaded.
    pub async fn navigate(&mut self, path: &str) -> Duration {
        let url = format!("http://{}{path}", self.address);
        self.events = self.connection.subscribe();
        let begun = Instant::now();
        let navigated = call(&self.connection, Some(&self.tab), &p::Navigate { url: &url }).await;
        let loader = navigated.loader_id.unwrap();
        loop {
            match &self.events.recv().await.unwrap().kind {
                EventKind::Lifecycle(it) if it.name == "load" && it.loader_id == loader => {
                    return begun.elapsed();
                }
                _ => {}
            }
        }
    }

    /// Until it has answered a question as well, the shortest there is: what any reply takes that tells of the page.
    pub async fn navigate_and_ask(&mut self, path: &str) -> Duration {
        let begun = Instant::now();
        self.navigate(path).await;
        call(&self.connection, Some(&self.tab), &EvaluateNothing { expression: "0" }).await;
        begun.elapsed()
    }

    /// Until it has returned its accessibility tree, its only snapshot.
    pub async fn navigate_and_read(&mut self, path: &str) -> Duration {
        let begun = Instant::now();
        self.navigate(path).await;
        call(&self.connection, Some(&self.tab), &GetFullAxTree {}).await;
        begun.elapsed()
    }

    pub async fn click(&self) -> Duration {
        self.press(100.0, 160.0).await
    }

    async fn press(&self, x: f64, y: f64) -> Duration {
        let mouse = |r#type, buttons| p::DispatchMouse {
            r#type,
            x,
            y,
            button: "left",
            buttons,
            click_count: 1,
            modifiers: 0,
        };
        let begun = Instant::now();
        call(&self.connection, Some(&self.tab), &mouse("mousePressed", 1)).await;
        call(&self.connection, Some(&self.tab), &mouse("mouseReleased", 0)).await;
        begun.elapsed()
    }

    /// All keys at once, each down and up.
    pub async fn type_text(&self, text: &str) -> Duration {
        self.press(100.0, 250.0).await;
        let key = |r#type, text| p::DispatchKey {
            r#type,
            key: "a",
            code: "KeyA",
            windows_virtual_key_code: 65,
            modifiers: 0,
            text,
        };
        let events: Vec<_> =
            text.chars().flat_map(|_| [key("keyDown", Some("a")), key("keyUp", None)]).collect();
        let begun = Instant::now();
        join_all(events.iter().map(|event| call(&self.connection, Some(&self.tab), event))).await;
        begun.elapsed()
    }
}

async fn call<C: Command>(connection: &Connection, session: Option<&SessionId>, command: &C) -> C::Response {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    connection.call(session, command, deadline).await.unwrap()
}
