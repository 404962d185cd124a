//! A small web server for the pages of a test, on a port of its own.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

pub struct Site {
    pub address: SocketAddr,
    requests: Requests,
    signals: Arc<Signals>,
}

/// The number of signals that the test has sent, for pages that wait for one.
#[derive(Default)]
struct Signals {
    count: Mutex<u64>,
    changed: Condvar,
}

/// A worker that waits for the next signal. Its requests are not the page's, so they do not delay the page's load.
const WAIT_SCRIPT: &str = "fetch('/_wait').then(() => postMessage(0))";

type Requests = Arc<Mutex<Vec<String>>>;

impl Site {
    /// Serves each path's page as HTML, or with the type of its extension, and 404 for other paths, until the test
    /// ends. A page that begins with `HTTP/` is a whole response, after which the connection closes; `HANG` never
    /// answers.
    pub fn serve(pages: &[(&str, &str)]) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let pages: HashMap<String, String> =
            pages.iter().map(|(path, page)| (path.to_string(), page.to_string())).collect();
        let pages = Arc::new(pages);
        let requests = Requests::default();
        let signals = Arc::new(Signals::default());
        let site = Site { address, requests: requests.clone(), signals: signals.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, requests, signals) = (pages.clone(), requests.clone(), signals.clone());
                std::thread::spawn(move || answer(stream, &pages, &requests, &signals));
            }
        });
        site
    }

    /// The method and path of each request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Releases pages that wait with `new Worker('/_wait.js')`.
    pub fn signal(&self) {
        *self.signals.count.lock().unwrap() += 1;
        self.signals.changed.notify_all();
    }

    /// The configuration line that makes this site reachable as `host`.
    pub fn setting(&self, hosts: &[&str]) -> String {
        let lines: String = hosts.iter().map(|host| format!("        {host}: {}\n", self.address)).collect();
        format!("    egress:\n      hosts:\n{lines}")
    }
}

fn answer(stream: TcpStream, pages: &HashMap<String, String>, requests: &Requests, signals: &Signals) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut line = String::new();
        let mut length = 0;
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let method = first.split_whitespace().next().unwrap_or_default();
        let path = first.split_whitespace().nth(1).unwrap_or("/").split('?').next().unwrap_or("/");
        if path == "/_wait" {
            let count = signals.count.lock().unwrap();
            let before = *count;
            drop(signals.changed.wait_while(count, |count| *count == before).unwrap());
        }
        if !path.starts_with("/_wait") {
            requests.lock().unwrap().push(format!("{method} {path}"));
        }
        match pages.get(path).map(String::as_str) {
            Some("HANG") => return drop(reader.read_line(&mut first)),
            Some(whole) if whole.starts_with("HTTP/") => return drop(stream.write_all(whole.as_bytes())),
            _ => {}
        }
        let (status, body) = match pages.get(path) {
            Some(page) => ("200 OK", page.as_str()),
            None if path == "/_wait.js" => ("200 OK", WAIT_SCRIPT),
            None if path == "/_wait" => ("200 OK", ""),
            None => ("404 Not Found", "nothing here"),
        };
        let kind = match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("css") => "css",
            Some("js") => "javascript",
            _ => "html",
        };
        let whole = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/{kind}; charset=utf-8\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        // In one piece, and not held back until the one before was received.
        if stream.set_nodelay(true).and_then(|()| stream.write_all(whole.as_bytes())).is_err() {
            return;
        }
    }
}
