//! A site under several names that records every request with its headers and body.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub host: String,
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn carries(&self, secret: &str) -> bool {
        self.path.contains(secret) || self.headers.iter().any(|(_, value)| value.contains(secret))
    }
}

/// Answers a request with a complete HTTP response.
type Page = dyn Fn(&RecordedRequest) -> String + Send + Sync;

pub struct Recorder {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Recorder {
    pub fn serve(page: impl Fn(&RecordedRequest) -> String + Send + Sync + 'static) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (page, log): (Arc<Page>, _) = (Arc::new(page), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (page, log) = (page.clone(), log.clone());
                std::thread::spawn(move || answer(stream, &*page, &log));
            }
        });
        Recorder { address, asked }
    }

    pub fn asked(&self) -> Vec<RecordedRequest> {
        self.asked.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }
}

fn answer(stream: TcpStream, page: &Page, log: &Mutex<Vec<RecordedRequest>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut headers, mut line) = (Vec::new(), String::new());
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some((name, value)) = line.trim_end().split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        line.clear();
    }
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut body = vec![0; find("content-length").and_then(|n| n.parse().ok()).unwrap_or(0)];
    drop(reader.read_exact(&mut body));
    let asked = RecordedRequest { host: find("host").unwrap_or_default(), method, path, headers };
    let whole = page(&asked);
    log.lock().unwrap().push(asked);
    drop(stream.write_all(whole.as_bytes()));
}

/// A page, with further lines for its head.
pub fn html(body: &str, headers: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
}
