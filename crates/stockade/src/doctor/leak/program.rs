//! The program under test: this very one, as processes of their own in a folder of their own.
//!
//! Processes, so that standard error at its most verbose, exit codes and what commands print are searched as they are.

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

/// No call takes longer: an action has two minutes at most.
const PATIENCE: Duration = Duration::from_secs(180);
/// Messages that were read and nobody has asked for yet.
const MOST_UNREAD: usize = 64;

/// A run that could not be done whole proves nothing.
pub fn unfinished(why: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::LeakUnfinished, why)
        .hint("Nothing is proven. See `stockade doctor` and the end of the log, then try again.")
}

fn broken(doing: &str, error: &std::io::Error) -> Fault {
    unfinished(format!("cannot {doing}: {error}"))
}

/// Where the run lives; gone when it is over.
pub struct Home {
    pub folder: PathBuf,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Home {
    pub fn make(
        program: PathBuf,
        environment: Vec<(OsString, OsString)>,
        config: &str,
    ) -> Result<Home, Fault> {
        let folder = std::env::temp_dir().join(format!("stockade-leak-{}", engine::random::token(16)));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| Fault::unwritable(format!("cannot make {}", folder.display()), &error))?;
        let home = Home { folder, program, environment };
        for inner in ["out", "log"] {
            std::fs::create_dir(home.folder.join(inner)).map_err(|e| broken("make a folder", &e))?;
        }
        std::fs::write(home.config(), config).map_err(|e| broken("write the configuration", &e))?;
        Ok(home)
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
            .stderr(log.map_err(|e| broken("open a log", &e))?);
        Ok(command)
    }

    /// Runs a command to its end: what it printed, and whether it says that all went well.
    pub fn run(&self, arguments: &[&str], input: &str) -> Result<(Vec<u8>, bool), Fault> {
        let printed = self.folder.join("printed");
        let file = File::create(&printed).map_err(|e| broken("keep what a command prints", &e))?;
        let mut command = self.command(arguments, "commands")?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(file).spawn().map_err(|e| broken("start a command", &e))?;
        if let Some(mut pipe) = child.stdin.take() {
            match pipe.write_all(input.as_bytes()) {
                // A command that wants no input has hung up.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    return Err(broken("write to a command", &error));
                }
                _ => {}
            }
        }
        let begun = Instant::now();
        let ended = loop {
            match child.try_wait().map_err(|e| broken("wait for a command", &e))? {
                Some(ended) => break ended,
                None if begun.elapsed() > PATIENCE => {
                    stop(&mut child);
                    return Err(unfinished(format!("`stockade {}` does not end", arguments.join(" "))));
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        Ok((std::fs::read(&printed).map_err(|e| broken("read what a command printed", &e))?, ended.success()))
    }

    /// `stockade serve`, with its banner.
    pub fn serve(&self) -> Result<Server, Fault> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0", "--json"], "serve")?;
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| broken("start the server", &e))?;
        let output = child.stdout.take().ok_or_else(|| unfinished("the server has no output"))?;
        let mut server = Server { child, lines: lines_of(output), banner: Value::Null };
        let mut text = String::new();
        while server.banner.is_null() {
            text.push_str(&next_line(&server.lines)?);
            server.banner = serde_json::from_str(&text).unwrap_or_default();
        }
        Ok(server)
    }

    /// An agent: an MCP client on a pipe that joins the server.
    pub fn agent(&self) -> Result<Agent, Fault> {
        let mut command = self.command(&["mcp"], "mcp")?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| broken("start an agent", &e))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| unfinished("the agent has no output"))?;
        let mut agent = Agent { child, input, lines: lines_of(output), next: 1 };
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "leak", "version": "1"}});
        agent.request("initialize", &about)?;
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "the folder of the run is left");
        }
    }
}

fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (told, lines) = sync_channel(MOST_UNREAD);
    std::thread::spawn(move || {
        // Ends with the process, or when nobody listens any more.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn next_line(lines: &Receiver<String>) -> Result<String, Fault> {
    lines.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Timeout => unfinished("the program does not answer"),
        RecvTimeoutError::Disconnected => unfinished("the program ended"),
    })
}

fn stop(child: &mut Child) {
    // Told first, so that it ends its sessions; one that is gone already needs no word.
    if let Some(id) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
        && matches!(child.try_wait(), Ok(None))
    {
        // It may have ended in between, which is as good.
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap_or_default();
    }
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if begun.elapsed() > Duration::from_secs(20) {
            drop(child.kill());
            drop(child.wait());
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub struct Server {
    child: Child,
    lines: Receiver<String>,
    banner: Value,
}

impl Server {
    fn address(&self) -> &str {
        let url = self.banner["mcp"].as_str().unwrap_or_default();
        url.trim_start_matches("http://").trim_end_matches("/mcp")
    }

    /// One request over HTTP: the whole answer, head and all. `who` is a line of a header.
    pub fn http(
        &self,
        method: &str,
        path: &str,
        who: &str,
        kind: &str,
        body: &str,
    ) -> Result<Vec<u8>, Fault> {
        let failed = |e: std::io::Error| broken("ask the server", &e);
        let address = self.address();
        let mut stream = TcpStream::connect(address).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\nconnection: close\r\n{who}\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .map_err(failed)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(failed)?;
        Ok(answer)
    }

    /// The HTTP API, as the agent whose key the first start showed.
    pub fn api(&self, method: &str, path: &str, body: &Value) -> Result<Vec<u8>, Fault> {
        let key = format!("authorization: Bearer {}", self.banner["key"].as_str().unwrap_or_default());
        self.http(method, path, &key, "application/json", &body.to_string())
    }

    /// Told to stop, and waited for.
    pub fn end(mut self) {
        stop(&mut self.child);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
}

impl Agent {
    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let input = self.input.as_mut().ok_or_else(|| unfinished("the agent has hung up"))?;
        writeln!(input, "{message}").and_then(|()| input.flush()).map_err(|e| broken("ask", &e))
    }

    /// The whole JSON-RPC answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = next_line(&self.lines)?;
            let message: Value = serde_json::from_str(&line)
                .map_err(|error| unfinished(format!("an answer is no JSON: {error}")))?;
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input = None;
        stop(&mut self.child);
    }
}

/// Every file under a folder.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| broken("list a folder", &e))? {
            let entry = entry.map_err(|e| broken("list a folder", &e))?;
            let kind = entry.file_type().map_err(|e| broken("look at a file", &e))?;
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
