//! Helpers of the end-to-end tests: the real binary with a home of its own, and a plain MCP client.
#![allow(dead_code, reason = "each test file uses its own part of this")]

pub mod approval_fixture;
pub mod chromium;
pub mod django;
pub mod echo_search;
pub mod echo_site;
pub mod echo_ways;
pub mod effect_agent;
pub mod effect_cases;
pub mod effect_run;
pub mod effect_site;
pub mod grant_issuer;
pub mod http;
pub mod jails;
pub mod login;
pub mod machine;
pub mod operator;
pub mod operator_browser;
pub mod plain_site;
pub mod recorder;
pub mod sealed_app;
pub mod seen;
pub mod site;
pub mod table;
pub mod terminal;
pub mod tls_site;
pub mod websocket;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_stockade");

/// The folder in which the tests of this checkout keep their templates. The users of jails can reach it.
pub fn templates() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let checkout = std::fs::metadata(env!("CARGO_MANIFEST_DIR")).unwrap().ino();
        let name = format!("stockade-test-templates-{}-{checkout}", machine::uid());
        let folder = PathBuf::from("/var/tmp").join(name);
        build_template(&folder, "headless");
        folder
    })
}

/// Builds the template once per test binary, and removes those of earlier builds.
pub fn build_template(folder: &Path, display: &str) -> String {
    let built = Command::new(PROGRAM)
        .args(["template", "build", "--json", "--display", display])
        .env("STOCKADE_TEMPLATES", folder)
        .output()
        .unwrap();
    let answer = parse_reply(&built);
    let id = answer["template"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(display) && name != id {
            std::fs::remove_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
    id
}

/// Settings for agents that work without approvals and may fail any number of times.
const UNASKED: &str = "    hitl:
      medium: allow
      high: allow
      critical: allow
      failures_before_pause: 0
";

/// A state folder and a configuration.
pub struct Home {
    pub folder: tempfile::TempDir,
    pub config: PathBuf,
}

impl Home {
    /// `settings` is YAML under `security.browser`, each line indented by four. Unless it sets `hitl`, nothing needs
    /// approval, because most tests are about other things.
    pub fn new(settings: &str) -> Home {
        let unasked = if settings.contains("hitl:") { "" } else { UNASKED };
        Home::asking(&format!("{settings}{unasked}"))
    }

    /// With the default settings for approvals.
    pub fn asking(settings: &str) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("stockade.yaml");
        let body = if settings.trim().is_empty() { "    enabled: true\n" } else { settings };
        // Most tests deny an action and ask for the same again.
        let body = match body.contains("denial_stands") {
            true => body.to_owned(),
            false => body.replace("    hitl:\n", "    hitl:\n      denial_stands: 0\n"),
        };
        std::fs::write(&config, format!("security:\n  browser:\n{body}")).unwrap();
        Home { folder, config }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn runtime(&self) -> PathBuf {
        machine::runtime_root().join(self.folder.path().file_name().unwrap())
    }

    /// Every complete line of the log, chain by chain. The last line may be incomplete while it is written.
    pub fn audit_log(&self) -> String {
        let mut text = String::new();
        for chain in audit::chain_folders(&self.state().join("audit")).unwrap() {
            for segment in audit::segments(&chain).unwrap() {
                let bytes = std::fs::read(segment.path).unwrap();
                let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
                text.push_str(std::str::from_utf8(&bytes[..whole]).unwrap());
            }
        }
        text
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::session_program());
        command
            .args(arguments)
            .arg("--config")
            .arg(&self.config)
            .arg("--state")
            .arg(self.state())
            .env("STOCKADE_TEMPLATES", templates())
            .env("STOCKADE_RUNTIME_DIR", self.runtime());
        command
    }

    /// Runs a command to its end; returns its exit code and its JSON as [`parse_reply`] reads it.
    pub fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let done = self.command(arguments).arg("--json").output().unwrap();
        let value = parse_reply(&done);
        if value["error"].is_object() {
            known(value["error"].clone());
        }
        (done.status.code().unwrap(), value)
    }

    pub fn mcp(&self) -> Mcp {
        self.mcp_with(&[])
    }

    pub fn mcp_with(&self, arguments: &[&str]) -> Mcp {
        let mut all = vec!["mcp", "--demo"];
        all.extend(arguments);
        Mcp::start(self.command(&all))
    }

    pub fn serve(&self, arguments: &[&str]) -> Server {
        self.serve_at("127.0.0.1:0", arguments)
    }

    pub fn serve_at(&self, address: &str, arguments: &[&str]) -> Server {
        let mut all = vec!["serve", "--demo", "--listen", address, "--json"];
        all.extend(arguments);
        Server::start(self.command(&all))
    }

    /// The same with a detailed log in a file.
    pub fn serve_logging(&self, arguments: &[&str], log: &Path) -> Server {
        let mut all = vec!["serve", "--demo", "--listen", "127.0.0.1:0", "--json"];
        all.extend(arguments);
        let mut command = self.command(&all);
        command.env("STOCKADE_LOG", "debug").stderr(std::fs::File::create(log).unwrap());
        Server::start(command)
    }
}

impl Server {
    fn start(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let banner = data_of(read_json(&mut output));
        assert_eq!(banner["serving"], true, "{banner}");
        Server { child, banner, output }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A leftover instance folder is a finding for the tests about leftovers.
        drop(std::fs::remove_dir_all(self.runtime()));
    }
}

/// Parses the JSON that a command printed: its data; for a failure, its data and the `error`.
pub fn parse_reply(done: &std::process::Output) -> Value {
    let reply: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
    assert_eq!(reply["success"], done.status.success(), "{done:?}");
    let mut keys: Vec<&str> = reply.as_object().unwrap().keys().map(String::as_str).collect();
    keys.retain(|key| !(*key == "data" && reply["success"] == false));
    let second = if reply["success"] == true { "data" } else { "error" };
    assert_eq!(keys, [second, "success"], "{reply}");
    data_of(reply)
}

fn data_of(mut reply: Value) -> Value {
    let (mut data, error) = (reply["data"].take(), reply["error"].take());
    assert_eq!(error.is_object(), reply["success"] == false, "{reply}");
    if error.is_object() {
        if data.is_null() {
            data = serde_json::json!({});
        }
        data["error"] = error;
    }
    data
}

/// Reads lines until they make one JSON value.
fn read_json(output: &mut impl BufRead) -> Value {
    let mut text = String::new();
    loop {
        if output.read_line(&mut text).unwrap() == 0 {
            panic!("the output ended: {text}");
        }
        if let Ok(value) = serde_json::from_str(&text) {
            return value;
        }
    }
}

/// A running `stockade serve`; killed when dropped.
pub struct Server {
    pub child: Child,
    pub banner: Value,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub fn url(&self) -> &str {
        self.banner["mcp"].as_str().unwrap()
    }

    pub fn key(&self) -> &str {
        self.banner["key"].as_str().unwrap()
    }

    /// Waits for its end, which must come by itself; returns its remaining output.
    pub fn last_words(&mut self) -> Value {
        let words = data_of(read_json(&mut self.output));
        self.child.wait().unwrap();
        words
    }

    pub fn address(&self) -> String {
        self.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        machine::signal(self.child.id(), "TERM");
        drop(self.child.wait());
    }
}

/// An error whose code is in the docs' table. No test may see another.
pub fn known(error: Value) -> Value {
    let code = error["code"].as_str().unwrap_or_else(|| panic!("{error}"));
    assert!(table::knows(code), "docs/errors.md lacks {error}");
    seen::seen(code);
    if let Some(cause) = error["cause"].as_str() {
        assert!(table::knows(cause), "docs/errors.md lacks the cause of {error}");
        seen::seen(cause);
    }
    error
}

/// The text between the delimiters of a reply.
pub fn fenced(field: &Value) -> String {
    let text = field.as_str().unwrap_or_else(|| panic!("{field}"));
    let (open, rest) = text.split_once('\n').unwrap_or_else(|| panic!("{text}"));
    let mark = open.strip_prefix("<page:").and_then(|mark| mark.strip_suffix('>'));
    let close = format!("</page:{}>\n", mark.unwrap_or_else(|| panic!("{text}")));
    rest.strip_suffix(&close).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// An MCP client on a pipe: plain JSON-RPC, one request at a time.
pub struct Mcp {
    pub child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Mcp {
    pub fn start(command: Command) -> Mcp {
        Mcp::start_with(command, json!({}))
    }

    /// Declares these client capabilities.
    pub fn start_with(mut command: Command, capabilities: Value) -> Mcp {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut mcp = Mcp { child, input, output, next: 1 };
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        let answer = mcp.request("initialize", about);
        let instructions = answer["result"]["instructions"].as_str();
        assert!(instructions.is_some_and(|text| text.contains("<page:MARK>")), "{answer}");
        mcp.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        mcp
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a line that may be no valid message.
    pub fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and does not wait for its response.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The next message of the server.
    pub fn next_message(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server hung up");
        serde_json::from_str(&line).unwrap()
    }

    /// The whole JSON-RPC response.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let message = self.next_message();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of this call: its fields, with `error` among them if it failed.
    pub fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message["id"] == id && message.get("method").is_none() {
                let fields = message["result"]["structuredContent"].clone();
                if fields["error"].is_object() {
                    known(fields["error"].clone());
                }
                return fields;
            }
        }
    }

    /// A tool's structured reply, or its error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let fields = result["structuredContent"].clone();
        match result["isError"].as_bool() {
            Some(false) | None if answer["error"].is_null() => Ok(fields),
            _ if answer["error"].is_null() => Err(known(fields["error"].clone())),
            _ => {
                known(answer["error"]["data"].clone());
                Err(answer["error"].clone())
            }
        }
    }

    pub fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    /// The code of a call that must fail.
    pub fn code(&mut self, tool: &str, arguments: Value) -> String {
        let error = self.call(tool, arguments).expect_err(tool);
        for field in ["message", "hint"] {
            assert!(
                error[field].as_str().is_some_and(|text| !text.is_empty()),
                "{tool}: no {field}: {error}"
            );
        }
        assert!(error["retryable"].is_boolean(), "{error}");
        error["code"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned()
    }

    pub fn open(&mut self) -> String {
        self.ok("browser_open_session", json!({}))["session_id"].as_str().unwrap().to_owned()
    }

    pub fn goto(&mut self, session: &str, url: &str) -> Value {
        self.ok("browser_navigate", json!({"session_id": session, "url": url}))
    }

    /// Closes the pipe and waits for the end of the process.
    pub fn close(mut self) -> std::process::ExitStatus {
        self.input = None;
        self.child.wait().unwrap()
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.input = None;
        drop(self.child.wait());
    }
}
