//! A real Chromium with its sandbox on, and a small web server on loopback for it to visit.

#[path = "../../../stockade/tests/common/seen.rs"]
mod seen;

use self::seen::seen;
use audit::{ActionContext, EventSubject, Key, LogOptions, Permitted};
use browser::{
    Browser, BrowserError, BrowserOptions, CallerId, Content, Injection, LaunchOptions, Outcome,
    PageAfterAction, ReplyOptions, Resumed, Snapshot, TabInfo, TimeLimit, UninitializedBrowser, cdp,
    launch_flags,
};
use policy::{
    Action, Click, Condition, Decision, Facts, LoadState, Navigate, Policy, Read, ReadFormat, RiskResponse,
    RiskResponses, SessionContext, Settings, Tabs, Target, TypeText, WaitFor, WebUrl,
};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The unprivileged user that Chromium runs as when the tests run as root.
const NOBODY: u32 = 65534;

/// Time limit for events that are certain, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Script that blocks its page for ever. The page is blocked once `/frozen` of its host is requested.
pub const FREEZE: &str =
    "const last = new XMLHttpRequest(); last.open('GET', '/frozen', false); last.send(); for (;;) {}";

/// A browser with a server for a set of pages. Keys are `host/path`; values are HTML, a whole
/// response if they start with `HTTP/`, or one of the keywords of [`answer`].
pub struct Driver {
    pub browser: Browser,
    pub connection: cdp::Connection,
    pub first_tab: cdp::SessionId,
    requests: Requests,
    chromium: Chromium,
    endpoint: String,
    socket: std::net::TcpStream,
    log: audit::Log,
    _log_folder: tempfile::TempDir,
}

/// Every request that reached the server, in order.
type Requests = Arc<Mutex<Vec<RecordedRequest>>>;

#[derive(Clone)]
pub struct RecordedRequest {
    /// `host/path`.
    pub at: String,
    /// The request without its body.
    head: String,
}

impl std::fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let header = |name| self.header(name).map(|value| format!(" {name}: {value}")).unwrap_or_default();
        write!(f, "{}{}{}", self.at, header("X-Key"), header("Cookie"))
    }
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn cookies(&self) -> Vec<&str> {
        let line = self.header("Cookie").unwrap_or_default();
        line.split("; ")
            .filter_map(|cookie| cookie.split('=').next())
            .filter(|name| !name.is_empty())
            .collect()
    }
}

struct Chromium {
    process: Child,
    /// Removed after the process has ended.
    profile: tempfile::TempDir,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let killed = self.process.kill().and_then(|()| self.process.wait());
        assert!(killed.is_ok() && self.profile.path().exists(), "{killed:?}");
    }
}

impl Driver {
    pub async fn with(pages: &[(&str, &str)]) -> Driver {
        Driver::with_options(pages, BrowserOptions::default()).await
    }

    pub async fn with_options(pages: &[(&str, &str)], options: BrowserOptions) -> Driver {
        Driver::start(pages, options, async |blank, _| Ok(blank.without_credentials())).await.unwrap()
    }

    /// A browser with injected credentials.
    pub async fn injected(pages: &[(&str, &str)], injection: Injection) -> Result<Driver, BrowserError> {
        let limit = TimeLimit::new(Duration::from_secs(30));
        let inject = async |blank: UninitializedBrowser, _| blank.inject(injection, limit).await;
        Driver::start(pages, BrowserOptions::default(), inject).await
    }

    pub async fn start(
        pages: &[(&str, &str)],
        options: BrowserOptions,
        become_browser: impl AsyncFnOnce(UninitializedBrowser, cdp::Connection) -> Result<Browser, BrowserError>,
    ) -> Result<Driver, BrowserError> {
        let requests = Requests::default();
        let port = serve(pages, Arc::clone(&requests)).await;
        let (chromium, endpoint) = start_chromium(port);
        let (connection, socket) = connect(&endpoint).await;
        let mut events = connection.subscribe();
        let blank = Browser::attach(connection.clone(), options).await.unwrap();
        let browser = become_browser(blank, connection.clone()).await.inspect_err(note)?;
        let first_tab = loop {
            if let cdp::EventKind::Attached(tab) = &events.recv().await.unwrap().kind {
                break tab.session_id.clone();
            }
        };
        let (log, _log_folder) = open_log();
        Ok(Driver { browser, connection, first_tab, requests, chromium, endpoint, socket, log, _log_folder })
    }

    /// Cuts the connection while Chromium lives on.
    pub async fn cut(&self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
        self.connection.closed().wait_for(Option::is_some).await.unwrap();
    }

    /// Resumes over a new connection; returns whether the tab was found as it was left.
    pub async fn resume(&mut self) -> bool {
        let (connection, socket) = connect(&self.endpoint).await;
        let (browser, found) = match self.browser.resume(connection.clone()).await.unwrap() {
            Resumed::SameTab(browser) => (browser, true),
            Resumed::NewTab(browser) => (browser, false),
            Resumed::NewChromium(_) => panic!("it is the same Chromium"),
        };
        (self.browser, self.connection, self.socket) = (browser, connection, socket);
        found
    }

    /// Runs a script in the page's main world, as the page could.
    pub async fn run_in_page(&self, expression: &str) -> serde_json::Value {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Evaluate<'a> {
            expression: &'a str,
            return_by_value: bool,
            await_promise: bool,
        }
        #[derive(serde::Deserialize)]
        struct Evaluated {
            result: serde_json::Value,
        }
        impl cdp::Command for Evaluate<'_> {
            const METHOD: &'static str = "Runtime.evaluate";
            type Response = Evaluated;
        }
        let evaluate = Evaluate { expression, return_by_value: true, await_promise: true };
        let evaluated = self.connection.call(Some(&self.first_tab), &evaluate, soon()).await.unwrap();
        evaluated.result["value"].clone()
    }

    /// Resolves and performs one action, as the gate does.
    pub async fn act(&self, action: Action) -> Result<Outcome, BrowserError> {
        let facts = self.browser.resolve(&action).await.inspect_err(note)?;
        self.act_on(action, facts).await
    }

    /// With this many seconds to resolve and as many to perform. Only the call that is to time out has a short limit, so
    /// that the rest of its test has all the time that a busy machine needs.
    pub async fn act_within(&self, seconds: u64, action: Action) -> Result<Outcome, BrowserError> {
        let limit = || TimeLimit::new(Duration::from_secs(seconds));
        let facts = self.browser.resolve_within(&action, limit()).await.inspect_err(note)?;
        let reply = ReplyOptions { caller: CallerId::new("test"), full: true };
        let permitted = permitted(&self.log, action, facts).await;
        self.browser.perform_within(permitted, &reply, limit()).await.inspect_err(note)
    }

    /// Replies have the whole page, no delta.
    pub async fn act_on(&self, action: Action, facts: Facts) -> Result<Outcome, BrowserError> {
        self.act_for("test", true, action, facts).await
    }

    pub async fn act_for(
        &self,
        caller: &str,
        full: bool,
        action: Action,
        facts: Facts,
    ) -> Result<Outcome, BrowserError> {
        let reply = ReplyOptions { caller: CallerId::new(caller), full };
        let permitted = permitted(&self.log, action, facts).await;
        self.browser.perform(permitted, &reply).await.inspect_err(note)
    }

    pub async fn goto(&self, url: &str) -> String {
        match self.act(navigate(url, LoadState::Load)).await.unwrap() {
            Outcome::Navigated { snapshot, .. } => text_of(&snapshot),
            other => panic!("{other:?}"),
        }
    }

    pub async fn read(&self, format: ReadFormat) -> Snapshot {
        match self.act(Action::Read(Read { format, ..Read::default() })).await.unwrap() {
            Outcome::Read(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }

    pub async fn outline(&self) -> String {
        text_of(&self.read(ReadFormat::Outline).await)
    }

    /// Clicks and returns the outline of the page afterwards.
    pub async fn click(&self, target: Target) -> Result<String, BrowserError> {
        self.after(click(target)).await.map(|after| outline_of(&after))
    }

    /// The page after an action that may change it.
    pub async fn after(&self, action: Action) -> Result<PageAfterAction, BrowserError> {
        match self.act(action).await? {
            Outcome::Acted(after) => Ok(after),
            other => panic!("{other:?}"),
        }
    }

    /// The error code of an action that fails.
    pub async fn code(&self, action: Action) -> String {
        code_of(self.act(action).await)
    }

    pub async fn code_within(&self, seconds: u64, action: Action) -> String {
        code_of(self.act_within(seconds, action).await)
    }

    pub async fn tabs(&self, wanted: Tabs) -> Vec<TabInfo> {
        match self.act(Action::Tabs(wanted)).await.unwrap() {
            Outcome::Tabs(tabs) => tabs,
            other => panic!("{other:?}"),
        }
    }

    /// The string that a script in the page returns.
    pub async fn value(&self, script: &str) -> String {
        let value = self.run_in_page(script).await;
        value.as_str().unwrap_or_else(|| panic!("{script}: {value}")).to_owned()
    }

    pub async fn facts(&self, action: &Action) -> policy::ElementFacts {
        self.browser.resolve(action).await.unwrap().target.unwrap()
    }

    /// Number of requests for a page.
    pub fn request_count(&self, page: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|asked| asked.at == page).count()
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The last request for a page; waits for the first.
    pub async fn request(&self, page: &str) -> RecordedRequest {
        self.wait_for_requests(page, 1).await;
        self.requests().into_iter().rfind(|asked| asked.at == page).unwrap()
    }

    /// Waits until a page was requested this many times.
    pub async fn wait_for_requests(&self, page: &str, times: usize) {
        let come = async {
            while self.request_count(page) < times {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let come = tokio::time::timeout(PATIENCE, come).await;
        assert!(come.is_ok(), "{page} was not asked for, but {:?}", self.requests());
    }

    /// Resumes this browser on the Chromium of another driver.
    pub async fn resume_on(&self, next: &Driver) -> Resumed {
        let (connection, _) = connect(&next.endpoint).await;
        self.browser.resume(connection).await.unwrap()
    }

    /// Waits until Chromium has this many pages, including the tab of the session.
    pub async fn wait_for_page_count(&self, count: usize) {
        let closed = async {
            while self.pages().await != count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, closed).await.expect("the tabs are closed");
    }

    /// Number of pages in Chromium, including the tab of the session.
    pub async fn pages(&self) -> usize {
        page_targets(&self.connection).await.len()
    }

    /// Closes every page over a separate connection.
    pub async fn close_pages(&self) {
        let (connection, _socket) = connect(&self.endpoint).await;
        for page in page_targets(&connection).await {
            let close = cdp::protocol::CloseTarget { target_id: &page.target_id };
            connection.call(None, &close, soon()).await.unwrap();
        }
        while !page_targets(&connection).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The command line of Chromium's browser process.
    pub fn arguments(&self) -> String {
        let path = format!("/proc/{}/cmdline", self.chromium.process.id());
        String::from_utf8_lossy(&std::fs::read(path).unwrap()).replace('\0', " ")
    }

    pub fn kill(&mut self) {
        self.chromium.process.kill().unwrap();
    }
}

/// Records the error code for the table of codes.
fn note(error: &BrowserError) {
    seen(error.code());
}

fn code_of(came: Result<Outcome, BrowserError>) -> String {
    match came {
        Err(error) => error.code().to_string(),
        Ok(outcome) => panic!("{outcome:?}"),
    }
}

/// Decides and records as the gate does, on a log of the driver's own.
async fn permitted(log: &audit::Log, action: Action, facts: Facts) -> Permitted {
    match permissive().decide(action, facts, &SessionContext::default()) {
        Decision::Allow(permit) => {
            let subject = EventSubject::stockade();
            let redact = |text: &str| redact::Redacted::outside_sessions(text);
            let context = ActionContext {
                subject: &subject,
                user_agent: &"test".into(),
                before: None,
                redact: &redact,
            };
            log.intend(permit, context).await.unwrap().0
        }
        other => panic!("{other:?}"),
    }
}

/// Runs cases at the same time, each with a Chromium of its own. For cases that mostly wait for a time limit.
pub async fn run_at_once<T>(cases: impl IntoIterator<Item = T>, run: impl AsyncFn(T)) {
    let run = &run;
    futures_util::future::join_all(cases.into_iter().map(move |case| run(case))).await;
}

/// An audit log in memory, as far as the machine has such a folder.
fn open_log() -> (audit::Log, tempfile::TempDir) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let key = Key::load_or_create(&folder.path().join("key")).unwrap();
    let options = LogOptions { key, segment_bytes: 16 << 20, most_bytes: 64 << 20 };
    let (log, _) = audit::Log::open(&folder.path().join("audit"), "driver", options).unwrap();
    (log, folder)
}

pub fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + PATIENCE
}

pub async fn page_targets(connection: &cdp::Connection) -> Vec<cdp::protocol::TargetInfo> {
    #[derive(serde::Serialize)]
    struct GetTargets {}
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Targets {
        target_infos: Vec<cdp::protocol::TargetInfo>,
    }
    impl cdp::Command for GetTargets {
        const METHOD: &'static str = "Target.getTargets";
        type Response = Targets;
    }
    let targets = connection.call(None, &GetTargets {}, soon()).await.unwrap();
    targets.target_infos.into_iter().filter(|target| target.r#type == "page").collect()
}

pub fn click(target: Target) -> Action {
    Action::Click(Click::on(target))
}

pub fn outline_of(after: &PageAfterAction) -> String {
    text_of(after.snapshot.as_ref().unwrap_or_else(|| panic!("{after:?}")))
}

pub fn wait_for_text(text: &str) -> Action {
    Action::WaitFor(WaitFor { condition: Condition::Text(text.into()) })
}

/// Limits every call; [`Driver::act_within`] limits one.
pub fn options_with_timeout(seconds: u64) -> BrowserOptions {
    BrowserOptions { action_timeout: Duration::from_secs(seconds), ..BrowserOptions::default() }
}

pub fn navigate(url: &str, wait_for: LoadState) -> Action {
    Action::Navigate(Navigate { url: WebUrl::parse(url).unwrap(), wait_for })
}

pub fn role(role: &str, name: &str) -> Target {
    Target::Role { role: role.into(), name: Some(name.into()), index: 0 }
}

pub fn typing(target: Target, text: &str, clear_first: bool, submit: bool) -> Action {
    Action::Type(TypeText { target, text: text.into(), clear_first, submit })
}

pub fn text_of(snapshot: &Snapshot) -> String {
    match &snapshot.content {
        Content::Outline(text) | Content::Markdown(text) => text.clone(),
        Content::Tree(tree) => format!("{tree:?}"),
        Content::Changes { text, .. } => text.clone(),
    }
}

/// An error without the fences around page text.
pub fn plain(error: &BrowserError) -> String {
    browser::mark_page_text(&error.to_string(), "", "")
}

/// The ref on the first line of an outline that holds `part`.
pub fn reference(outline: &str, part: &str) -> Target {
    let line =
        outline.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part} in {outline}"));
    let (_, rest) = line.split_once("[ref=").unwrap_or_else(|| panic!("a ref in {line}"));
    Target::Ref(rest.split_once(']').unwrap().0.to_owned())
}

/// A connection, and its socket to cut it with.
async fn connect(endpoint: &str) -> (cdp::Connection, std::net::TcpStream) {
    let authority = endpoint.trim_start_matches("ws://").split('/').next().unwrap();
    let stream = TcpStream::connect(authority).await.unwrap().into_std().unwrap();
    let socket = stream.try_clone().unwrap();
    let stream = TcpStream::from_std(stream).unwrap();
    stream.set_nodelay(true).unwrap();
    let config = Some(cdp::websocket_config());
    let (stream, _) = tokio_tungstenite::client_async_with_config(endpoint, stream, config).await.unwrap();
    (cdp::Connection::over(stream, cdp::ConnectionOptions::default()), socket)
}

/// The process and its WebSocket endpoint.
fn start_chromium(site: u16) -> (Chromium, String) {
    let program = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium-browser/headless_shell"]
        .iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .expect("Chromium's headless shell is installed (script/setup installs it)");
    let profile = tempfile::tempdir().unwrap();
    let root = Path::new("/proc/self").metadata().unwrap().uid() == 0;
    let mut command = if root {
        std::os::unix::fs::chown(profile.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    // The flags of a jail, except for those that only a jail needs: pipe, proxy and profile.
    let flags = launch_flags(&LaunchOptions::default());
    let jail_only = ["--remote-debugging-pipe", "--proxy-", "--user-data-dir"];
    command.args(flags.iter().filter(|flag| !jail_only.iter().any(|prefix| flag.starts_with(prefix))));
    let mut process = command
        .arg("--remote-debugging-port=0")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!(
            "--host-resolver-rules=MAP nowhere.test ~NOTFOUND, MAP refused.test 127.0.0.1:1, MAP * 127.0.0.1:{site}"
        ))
        .current_dir("/")
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let chromium = Chromium { process, profile };
    let mut said = String::new();
    let endpoint = loop {
        let start = said.len();
        assert_ne!(log.read_line(&mut said).unwrap(), 0, "Chromium ended: {said}");
        if let Some((_, address)) = said[start..].split_once("DevTools listening on ") {
            break address.trim().to_owned();
        }
    };
    // Otherwise Chromium would block on a full pipe.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    (chromium, endpoint)
}

/// Serves every host on one port; 404 for pages that are not in the table.
async fn serve(pages: &[(&str, &str)], requests: Requests) -> u16 {
    let pages: HashMap<String, String> =
        pages.iter().map(|(at, page)| ((*at).to_owned(), (*page).to_owned())).collect();
    let pages = Arc::new(pages);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (pages, requests) = (Arc::clone(&pages), Arc::clone(&requests));
            tokio::spawn(async move { answer(stream, &pages, &requests).await });
        }
    });
    port
}

/// Stands before a raw response whose connection stays open.
pub const ENDLESS: &str = "ENDLESS ";
/// Stands before a raw response that breaks off once its page has asked for `/parsed`.
pub const CUT: &str = "CUT ";

async fn answer(mut stream: TcpStream, pages: &HashMap<String, String>, requests: &Requests) -> Option<()> {
    let mut request = vec![0; 16 * 1024];
    let mut filled = 0;
    while !request[..filled].windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut request[filled..]).await.ok().filter(|read| *read > 0)?;
        filled += read;
    }
    let head = String::from_utf8_lossy(&request[..filled]).into_owned();
    let path = head.split_whitespace().nth(1)?.split('?').next()?.to_owned();
    let host = head.lines().find_map(|line| line.strip_prefix("Host: "))?.trim().to_owned();
    let asked = format!("{host}{path}");
    requests.lock().unwrap().push(RecordedRequest { at: asked.clone(), head: head.clone() });
    let response = match pages.get(&asked) {
        // Accepts the request and never answers.
        Some(page) if page == "HANG" => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            return None;
        }
        Some(page) if page == "CLOSE" => return None,
        // Delays the page that waits for it.
        Some(page) if page == "SLOW" => {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            return None;
        }
        // Begins to answer and never ends.
        Some(page) if page.starts_with(ENDLESS) => {
            stream.write_all(&page.as_bytes()[ENDLESS.len()..]).await.ok()?;
            tokio::time::sleep(Duration::from_secs(600)).await;
            return None;
        }
        // Chromium drops what it has received and not parsed when a response breaks off.
        Some(page) if page.starts_with(CUT) => {
            let parsed = format!("{host}/parsed");
            let count = || requests.lock().unwrap().iter().filter(|request| request.at == parsed).count();
            let before = count();
            stream.write_all(&page.as_bytes()[CUT.len()..]).await.ok()?;
            while count() == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            return stream.shutdown().await.ok();
        }
        Some(page) if page.starts_with("HTTP/") => page.clone(),
        Some(page) => format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
            page.len()
        ),
        None => "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 7\r\nConnection: close\r\n\r\nnothing".to_owned(),
    };
    stream.write_all(response.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

/// Allows everything that is not always forbidden: these tests are about the driver.
pub fn permissive() -> Policy {
    Policy::new(Settings { responses: RiskResponses::all(RiskResponse::Allow), ..Settings::default() })
}
