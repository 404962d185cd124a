//! HTTP with the control plane: the head of a request, and the reply to it.

use crate::log::to_stderr;
use bridge::token::Refusal;
use bridge::wire::{MAX_HEAD, Refused, WAIT_HEADER};
use serde::Serialize;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The host sends five; more than this many is refused.
const MAX_HEADERS: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Empty when there is none.
    pub token: Vec<u8>,
    pub wait: Option<Duration>,
    /// The key of a WebSocket handshake, when it is a complete one.
    pub websocket_key: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    #[error("the request's head is larger than {MAX_HEAD} bytes or has more than {MAX_HEADERS} headers")]
    TooLarge,
    #[error("not a request that this bridge understands")]
    Malformed,
    #[error("the connection ended within the head")]
    Read { source: io::Error },
}

impl Request {
    /// Reads one head into `buffer`, which may hold its beginning; what follows it is left there.
    pub async fn read(
        stream: &mut (impl AsyncRead + Unpin),
        buffer: &mut Vec<u8>,
    ) -> Result<Request, HeadError> {
        loop {
            if let Some((request, length)) = Request::parse(buffer)? {
                buffer.drain(..length);
                return Ok(request);
            }
            if buffer.len() >= MAX_HEAD {
                return Err(HeadError::TooLarge);
            }
            let room = (MAX_HEAD - buffer.len()) as u64;
            match stream.take(room).read_buf(buffer).await {
                Ok(0) => return Err(HeadError::Read { source: io::ErrorKind::UnexpectedEof.into() }),
                Ok(_) => {}
                Err(source) => return Err(HeadError::Read { source }),
            }
        }
    }

    /// `None` while the head is not complete.
    fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, HeadError> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
            Err(_) => return Err(HeadError::Malformed),
        };
        let (Some(method), Some(path), Some(1)) = (head.method, head.path, head.version) else {
            return Err(HeadError::Malformed);
        };
        let mut request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            token: Vec::new(),
            wait: None,
            websocket_key: None,
        };
        let mut websocket = Handshake::default();
        for header in head.headers.iter() {
            request.read_header(header, &mut websocket)?;
        }
        request.websocket_key = websocket.complete();
        Ok(Some((request, length)))
    }

    fn read_header(
        &mut self,
        header: &httparse::Header<'_>,
        websocket: &mut Handshake,
    ) -> Result<(), HeadError> {
        let text = || std::str::from_utf8(header.value).map_err(|_| HeadError::Malformed);
        match header.name.to_ascii_lowercase().as_str() {
            "authorization" => {
                // Two headers would be ambiguous.
                let token = header.value.strip_prefix(b"Bearer ").filter(|_| self.token.is_empty());
                self.token = token.ok_or(HeadError::Malformed)?.to_vec();
            }
            WAIT_HEADER => {
                let wait = text()?.parse().map_err(|_| HeadError::Malformed)?;
                self.wait = Some(Duration::from_millis(wait));
            }
            "content-length" if header.value != b"0" => return Err(HeadError::Malformed),
            "transfer-encoding" => return Err(HeadError::Malformed),
            "upgrade" => websocket.upgrade = text()?.eq_ignore_ascii_case("websocket"),
            "sec-websocket-version" => websocket.version_13 = header.value == b"13",
            "sec-websocket-key" => websocket.key = Some(text()?.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

#[derive(Default)]
struct Handshake {
    upgrade: bool,
    version_13: bool,
    key: Option<String>,
}

impl Handshake {
    fn complete(self) -> Option<String> {
        self.key.filter(|_| self.upgrade && self.version_13)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    NotFound,
    Conflict,
    HeadTooLarge,
    Unavailable,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::NotFound => "404 Not Found",
            Status::Conflict => "409 Conflict",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// An answer, after which the connection is closed.
#[derive(Debug)]
pub struct Reply {
    pub status: Status,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(status: Status, body: &impl Serialize) -> Reply {
        let body = serde_json::to_vec(body).unwrap_or_else(|error| {
            // Cannot happen to these plain structs; the host reports an empty body as garbled.
            to_stderr(&format!("bridge: cannot serialize a reply: {error}\n"));
            Vec::new()
        });
        Reply { status, body }
    }

    pub fn refused(status: Status, code: &str, message: impl ToString) -> Reply {
        Reply::json(status, &Refused { code: code.to_owned(), message: message.to_string() })
    }

    pub async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.status.line(),
            self.body.len()
        );
        stream.write_all(&[head.as_bytes(), &self.body].concat()).await?;
        stream.shutdown().await
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        Reply::refused(Status::Unauthorized, refusal.code(), refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<(Request, usize)>, HeadError> {
        Request::parse(text.as_bytes())
    }

    #[test]
    fn a_head_is_read_and_what_follows_is_left() {
        let text = "GET /status HTTP/1.1\r\nAuthorization: Bearer abc\r\nStockade-Wait-Ms: 7\r\n\r\nrest";
        let (request, length) = parse(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/status"));
        assert_eq!((request.token.as_slice(), request.wait), (&b"abc"[..], Some(Duration::from_millis(7))));
        assert_eq!((request.websocket_key, &text[length..]), (None, "rest"));
        assert!(parse(&text[..40]).unwrap().is_none());
    }

    #[test]
    fn a_websocket_handshake_is_known_when_it_is_complete() {
        let lines = ["Upgrade: WebSocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: k"];
        let head = |lines: &[&str]| format!("GET / HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n"));
        let key = |lines: &[&str]| parse(&head(lines)).unwrap().unwrap().0.websocket_key;
        assert_eq!(key(&lines), Some("k".to_owned()));
        for left_out in 0..lines.len() {
            let some: Vec<&str> =
                lines.iter().enumerate().filter(|(n, _)| *n != left_out).map(|(_, line)| *line).collect();
            assert_eq!(key(&some), None, "without {}", lines[left_out]);
        }
    }

    #[test]
    fn a_head_that_could_be_read_two_ways_is_refused() {
        let many = "a: b\r\n".repeat(MAX_HEADERS + 1);
        for headers in [
            "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
            "Authorization: Basic a\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Stockade-Wait-Ms: soon\r\n",
            "no colon\r\n",
            &many,
        ] {
            assert!(parse(&format!("GET / HTTP/1.1\r\n{headers}\r\n")).is_err(), "{headers}");
        }
        assert!(parse("GET / HTTP/1.0\r\n\r\n").is_err());
    }

    #[tokio::test]
    async fn an_endless_head_is_cut_at_its_bound() {
        let endless = format!("GET / HTTP/1.1\r\na: {}", "x".repeat(2 * MAX_HEAD));
        let mut buffer = Vec::new();
        let error = Request::read(&mut endless.as_bytes(), &mut buffer).await.unwrap_err();
        assert!(matches!(error, HeadError::TooLarge));
        assert!(buffer.len() <= MAX_HEAD);
    }
}
