//! MCP over a pipe while the control plane cannot start.
//!
//! Clients show a closed pipe as "connection closed" and throw the reason away. So the client is answered, and each call of
//! a tool tries the start again. Once it succeeds, the client's handshake is repeated to the started server, and from then
//! on bytes are carried in both directions.

use super::pipe_transport::PipeTransport;
use super::unavailable::{StartFault, UnavailableServer};
use engine::error::Fault;
use error_code::ErrorCode;
use rmcp::ServiceExt;
use serde_json::Value;
use std::io;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf,
    WriteHalf,
};

/// The largest message that is read before the start; the same as over HTTP.
const MAX_MESSAGE_BYTES: u64 = 4 * 1024 * 1024;
/// The buffer between the client and the server that stands in.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long a server may take to answer what needs no browser.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A pipe to a started server.
pub struct BackendConnection {
    read: Box<dyn AsyncRead + Send + Unpin>,
    write: Box<dyn AsyncWrite + Send + Unpin>,
}

impl BackendConnection {
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> BackendConnection {
        let (read, write) = tokio::io::split(stream);
        BackendConnection { read: Box::new(read), write: Box::new(write) }
    }
}

/// Serves one client until it hangs up. `fault` is why the first start failed, `start` tries again. Fails with the reason
/// of the latest start if none succeeded.
pub async fn serve_deferred<R, W, S>(fault: Fault, input: R, mut output: W, mut start: S) -> Result<(), Fault>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
    S: AsyncFnMut() -> Result<BackendConnection, Fault>,
{
    let fault = StartFault::new(fault);
    let mut interim = InterimServer::start(fault.clone());
    let mut input = BufReader::new(input);
    let mut introduction = ClientIntroduction::default();
    while let Some(line) = read_line(&mut input).await.map_err(pipe_failed)? {
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        if needs_browser(&message) {
            match start().await {
                Ok(backend) => {
                    let BackendConnection { read, mut write } = backend;
                    let mut read = BufReader::new(read);
                    introduction.repeat(&mut read, &mut write).await.map_err(pipe_failed)?;
                    write.write_all(&line).await.map_err(pipe_failed)?;
                    return relay(input, output, read, write).await.map_err(pipe_failed);
                }
                Err(refused) => {
                    tracing::warn!(fault = %refused, "still cannot start");
                    fault.set(refused);
                }
            }
        }
        introduction.note(&message, &line);
        interim.forward(&message, &line, &mut output).await.map_err(pipe_failed)?;
    }
    Err(fault.get())
}

/// Calls are what a browser is for; everything else is answered without one.
fn needs_browser(message: &Value) -> bool {
    matches!(message["method"].as_str(), Some("tools/call" | "resources/read"))
}

fn pipe_failed(error: io::Error) -> Fault {
    Fault::io(ErrorCode::McpHandshake, "the MCP client's pipe failed", &error)
        .hint_if_none("Check that the program at the other end is an MCP client.")
}

/// Reads one line; `None` at the end of the input.
async fn read_line(input: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let count = input.take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line).await?;
    if count == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        if line.len() as u64 == MAX_MESSAGE_BYTES {
            return Err(io::Error::other("a message is longer than 4 MiB"));
        }
        line.push(b'\n');
    }
    Ok(Some(line))
}

/// Whether a line is the response to the request with this id.
fn is_response(line: &[u8], id: &Value) -> bool {
    serde_json::from_slice::<Value>(line)
        .is_ok_and(|message| message["id"] == *id && message.get("method").is_none())
}

/// The server that answers in the meantime.
struct InterimServer {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
}

impl InterimServer {
    fn start(fault: StartFault) -> InterimServer {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            let (transport, _writer) = PipeTransport::start(read, write);
            match (UnavailableServer { fault }).serve(transport).await {
                Ok(running) => {
                    if let Err(error) = running.waiting().await {
                        tracing::debug!(%error, "the server without a browser ended early");
                    }
                }
                Err(error) => tracing::debug!(%error, "the client did not complete the handshake"),
            }
        });
        let (read, write) = tokio::io::split(ours);
        InterimServer { read: BufReader::new(read), write }
    }

    /// Sends one message; if it is a request or cannot be read, passes lines on until its answer has been passed on.
    async fn forward(
        &mut self,
        message: &Value,
        line: &[u8],
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        self.write.write_all(line).await?;
        let (id, is_unreadable) = (&message["id"], message.is_null());
        if !is_unreadable && (id.is_null() || message["method"].is_null()) {
            return Ok(());
        }
        let answered = async {
            while let Some(reply) = read_line(&mut self.read).await? {
                output.write_all(&reply).await?;
                output.flush().await?;
                if is_unreadable || is_response(&reply, id) {
                    return Ok(());
                }
            }
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client did not complete the handshake"))
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(answered) => answered,
            // A message that is not an MCP request gets no answer.
            Err(_) => Ok(()),
        }
    }
}

/// What the client said to introduce itself, for a server that starts later. Clients of the 2026 revision say it in every
/// request.
#[derive(Default)]
struct ClientIntroduction {
    initialize: Option<(Value, Vec<u8>)>,
    initialized: Option<Vec<u8>>,
}

impl ClientIntroduction {
    fn note(&mut self, message: &Value, line: &[u8]) {
        match message["method"].as_str() {
            Some("initialize") => self.initialize = Some((message["id"].clone(), line.to_owned())),
            Some("notifications/initialized") => self.initialized = Some(line.to_owned()),
            _ => {}
        }
    }

    /// Introduces the client to a started server and drops the answer: the client has had one.
    async fn repeat(
        &self,
        read: &mut (impl AsyncBufReadExt + Unpin),
        write: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let Some((id, initialize)) = &self.initialize else { return Ok(()) };
        write.write_all(initialize).await?;
        write.flush().await?;
        let answered = async {
            while let Some(reply) = read_line(read).await? {
                if is_response(&reply, id) {
                    return Ok(());
                }
            }
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        };
        tokio::time::timeout(ANSWER_TIMEOUT, answered).await??;
        if let Some(initialized) = &self.initialized {
            write.write_all(initialized).await?;
        }
        Ok(())
    }
}

/// Carries bytes both ways until the server has closed its side.
async fn relay(
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    mut from_server: impl AsyncRead + Unpin,
    mut to_server: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    to_server.flush().await?;
    let up = async {
        copy_and_flush(&mut input, &mut to_server).await?;
        // The client hung up: close our side, and wait for the last replies.
        to_server.shutdown().await
    };
    let down = copy_and_flush(&mut from_server, &mut output);
    tokio::pin!(up, down);
    tokio::select! {
        done = &mut down => done,
        sent = &mut up => {
            sent?;
            down.await
        }
    }
}

/// Flushes after each read: standard output is buffered, and a client waits for each line.
async fn copy_and_flush(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redact::Redacted;
    use serde_json::json;
    use tokio::io::Lines;

    fn missing(what: &str) -> Fault {
        Fault::outside_sessions(ErrorCode::SandboxRuntimeRequired, what)
            .hint(Redacted::outside_sessions(format!("Run: install {what}")))
            .because(ErrorCode::BubblewrapMissing)
    }

    struct Client {
        write: WriteHalf<DuplexStream>,
        lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    }

    impl Client {
        async fn send(&mut self, message: Value) {
            self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }

        async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
            self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
            let line = self.lines.next_line().await.unwrap().unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(reply["id"], id, "{reply}");
            reply
        }

        async fn shake_hands(&mut self) -> Value {
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}});
            let reply = self.ask(1, "initialize", params).await;
            self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            reply
        }
    }

    fn client() -> (Client, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let (read, write) = tokio::io::split(ours);
        (Client { write, lines: BufReader::new(read).lines() }, theirs)
    }

    #[tokio::test]
    async fn a_client_is_answered_while_nothing_can_start_and_each_call_names_the_latest_reason() {
        let (mut client, theirs) = client();
        let (read, write) = tokio::io::split(theirs);
        let mut attempts = 0;
        let start = async || {
            attempts += 1;
            Err(missing(&format!("part {attempts}")))
        };
        let asking = async move {
            assert_eq!(client.shake_hands().await["result"]["serverInfo"]["name"], "stockade");
            client.write.write_all(b"{\"jsonrpc\": broken\n").await.unwrap();
            let answer = client.lines.next_line().await.unwrap().unwrap();
            assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["error"]["code"], -32700, "{answer}");
            let listed = client.ask(2, "tools/list", json!({})).await;
            assert!(listed["result"]["tools"].as_array().unwrap().len() > 15, "{listed}");
            for (id, what) in [(3, "part 1"), (4, "part 2")] {
                let call = json!({"name": "browser_read", "arguments": {}});
                let reply = client.ask(id, "tools/call", call).await;
                let error = &reply["result"]["structuredContent"]["error"];
                assert_eq!(reply["result"]["isError"], true, "{reply}");
                assert_eq!(error["code"], "sandbox_runtime_required", "{reply}");
                assert_eq!(error["cause"], "bubblewrap_missing", "{reply}");
                assert_eq!(error["hint"], format!("Run: install {what}"), "{reply}");
            }
        };
        let (served, ()) = tokio::join!(serve_deferred(missing("all"), read, write, start), asking);
        assert_eq!(served.unwrap_err().message, "part 2");
    }

    /// A server that numbers the messages it gets; their methods.
    async fn count_messages(server: DuplexStream) -> Vec<String> {
        let (read, mut write) = tokio::io::split(server);
        let mut lines = BufReader::new(read).lines();
        let mut methods = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            methods.push(message["method"].as_str().unwrap().to_owned());
            if let Some(id) = message["id"].as_u64() {
                let reply = json!({"jsonrpc": "2.0", "id": id, "result": {"number": methods.len()}});
                write.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
            }
        }
        methods
    }

    #[tokio::test]
    async fn a_started_server_gets_the_handshake_and_the_call_and_the_client_no_second_answer() {
        let (mut client, theirs) = client();
        let (read, write) = tokio::io::split(theirs);
        let (backend, server) = tokio::io::duplex(BUFFER_BYTES);
        let mut backend = Some(backend);
        let start = async || backend.take().map(BackendConnection::new).ok_or_else(|| missing("all"));
        let asking = async move {
            client.shake_hands().await;
            let reply = client.ask(2, "tools/call", json!({"name": "browser_read"})).await;
            assert_eq!(reply["result"]["number"], 3);
            assert_eq!(client.ask(3, "ping", json!({})).await["result"]["number"], 4);
        };
        let serving = serve_deferred(missing("all"), read, write, start);
        let (served, (), methods) = tokio::join!(serving, asking, count_messages(server));
        served.unwrap();
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call", "ping"]);
    }
}
