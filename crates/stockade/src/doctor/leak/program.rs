//! The program under test: this one, as separate processes with a temporary configuration and state.
//!
//! Separate processes, so that exit codes, printed output and the most verbose logs are tested as users get them.

use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// The longest that a call takes; an action has two minutes at most.
const PATIENCE: Duration = Duration::from_secs(180);
/// Lines that are read ahead.
const MOST_UNREAD: usize = 64;

/// The fault for an incomplete run, which proves nothing.
pub fn incomplete_run(why: impl Into<String>) -> Fault {
    Fault::outside_sessions(ErrorCode::LeakUnfinished, why)
        .hint("This run proves nothing. Look at `stockade doctor` and the end of the log, then try again.")
}

fn io_failed(doing: &str, error: &std::io::Error) -> Fault {
    incomplete_run(format!("cannot {doing}: {error}"))
}

/// A temporary installation: configuration, state, logs. Dropping it removes the folder.
pub struct TestInstance {
    pub folder: PathBuf,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl TestInstance {
    pub fn make(
        program: PathBuf,
        environment: Vec<(OsString, OsString)>,
        config: &str,
    ) -> Result<TestInstance, Fault> {
        let folder = std::env::temp_dir().join(format!("stockade-leak-{}", engine::random::token(16)));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| Fault::unwritable(format!("cannot make {}", folder.display()), &error))?;
        let instance = TestInstance { folder, program, environment };
        for inner in ["out", "log"] {
            std::fs::create_dir(instance.folder.join(inner)).map_err(|e| io_failed("make a folder", &e))?;
        }
        std::fs::write(instance.config(), config).map_err(|e| io_failed("write the configuration", &e))?;
        Ok(instance)
    }

    fn config(&self) -> PathBuf {
        self.folder.join("stockade.yaml")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn command(&self, arguments: &[&str], log: &str) -> Result<Command, Fault> {
        let log = File::options().create(true).append(true).open(self.logs().join(log));
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .arg("--config")
            .arg(self.config())
            .arg("--state")
            .arg(self.state())
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .env("STOCKADE_LOG", "trace")
            .current_dir(self.folder.join("out"))
            .stdin(Stdio::null())
            .stderr(log.map_err(|e| io_failed("open a log", &e))?);
        Ok(command)
    }

    /// Runs a command to its end; returns what it printed, and whether it succeeded.
    pub fn run(&self, arguments: &[&str], input: &str) -> Result<(Vec<u8>, bool), Fault> {
        let printed = self.folder.join("printed");
        let file = File::create(&printed).map_err(|e| io_failed("keep what a command prints", &e))?;
        let mut command = self.command(arguments, "commands")?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(file)
            .spawn()
            .map_err(|e| io_failed("start a command", &e))?;
        if let Some(mut pipe) = child.stdin.take() {
            match pipe.write_all(input.as_bytes()) {
                // A command that reads no input has closed its pipe.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    return Err(io_failed("write to a command", &error));
                }
                _ => {}
            }
        }
        let begun = Instant::now();
        let ended = loop {
            match child.try_wait().map_err(|e| io_failed("wait for a command", &e))? {
                Some(ended) => break ended,
                None if begun.elapsed() > PATIENCE => {
                    stop(&mut child);
                    return Err(incomplete_run(format!("`stockade {}` does not end", arguments.join(" "))));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        Ok((
            std::fs::read(&printed).map_err(|e| io_failed("read what a command printed", &e))?,
            ended.success(),
        ))
    }

    /// Starts `stockade serve` and reads its banner.
    pub fn serve(&self) -> Result<ServerProcess, Fault> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--json"], "serve")?;
        let mut child =
            command.stdout(Stdio::piped()).spawn().map_err(|e| io_failed("start the server", &e))?;
        let output = child.stdout.take().ok_or_else(|| incomplete_run("the server has no output"))?;
        let mut server = ServerProcess { child, lines: spawn_line_reader(output), banner: Value::Null };
        let mut text = String::new();
        while server.banner.is_null() {
            text.push_str(&next_line(&server.lines)?);
            let printed: Value = serde_json::from_str(&text).unwrap_or_default();
            server.banner = printed["data"].clone();
        }
        Ok(server)
    }

    /// Starts an MCP client over `stockade mcp`, which joins the server.
    pub fn agent(&self) -> Result<AgentProcess, Fault> {
        let mut command = self.command(&["mcp"], "mcp")?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| io_failed("start an agent", &e))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| incomplete_run("the agent has no output"))?;
        let mut agent = AgentProcess { child, input, lines: spawn_line_reader(output), next: 1 };
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "leak", "version": "1"}});
        agent.request("initialize", &about)?;
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }
}

impl Drop for TestInstance {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "the folder of the run is left");
        }
    }
}

fn spawn_line_reader(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = sync_channel(MOST_UNREAD);
    std::thread::spawn(move || {
        // Ends with the process, or when the receiver is dropped.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn next_line(lines: &Receiver<String>) -> Result<String, Fault> {
    lines.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Timeout => incomplete_run("the program does not answer"),
        RecvTimeoutError::Disconnected => incomplete_run("the program ended"),
    })
}

fn stop(child: &mut Child) {
    // SIGTERM first, so that it ends its sessions. A process that has ended gets no signal.
    if let Some(id) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
        && matches!(child.try_wait(), Ok(None))
    {
        // It may have ended meanwhile.
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap_or_default();
    }
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > Duration::from_secs(20) {
            if let Err(error) = child.kill().and_then(|()| child.wait()) {
                tracing::warn!(%error, "a process of the leak test cannot be ended");
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub struct ServerProcess {
    child: Child,
    lines: Receiver<String>,
    banner: Value,
}

impl ServerProcess {
    fn address(&self) -> &str {
        let url = self.banner["mcp"].as_str().unwrap_or_default();
        url.trim_start_matches("http://").trim_end_matches("/mcp")
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one HTTP request; returns the whole response with its head. `who` is a header line.
    pub fn http(
        &self,
        method: &str,
        path: &str,
        who: &str,
        kind: &str,
        body: &str,
    ) -> Result<Vec<u8>, Fault> {
        let failed = |e: std::io::Error| io_failed("ask the server", &e);
        let address = self.address();
        let mut stream = TcpStream::connect(address).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        // Sent at once: a server that answers after the head and closes resets the connection if more arrives.
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\nconnection: close\r\n{who}\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).map_err(failed)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(failed)?;
        Ok(answer)
    }

    /// Calls the HTTP API with the agent key of the first start.
    pub fn api(&self, method: &str, path: &str, body: &Value) -> Result<Vec<u8>, Fault> {
        let key = format!("authorization: Bearer {}", self.banner["key"].as_str().unwrap_or_default());
        self.http(method, path, &key, "application/json", &body.to_string())
    }

    /// Stops the server and waits for its end.
    pub fn end(mut self) {
        stop(&mut self.child);
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

pub struct AgentProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl AgentProcess {
    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let input = self.input.as_mut().ok_or_else(|| incomplete_run("the agent has hung up"))?;
        writeln!(input, "{message}").and_then(|()| input.flush()).map_err(|e| io_failed("ask", &e))
    }

    /// Sends a request; returns the whole JSON-RPC response.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = next_line(&self.lines)?;
            let message: Value = serde_json::from_str(&line)
                .map_err(|error| incomplete_run(format!("an answer is no JSON: {error}")))?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.input = None;
        stop(&mut self.child);
    }
}

/// Lists every file under a folder.
pub fn list_files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| io_failed("list a folder", &e))? {
            let entry = entry.map_err(|e| io_failed("list a folder", &e))?;
            let kind = entry.file_type().map_err(|e| io_failed("look at a file", &e))?;
            if kind.is_dir() {
                left.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
