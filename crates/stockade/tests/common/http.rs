//! A plain HTTP client: one request per connection; returns the whole response.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends one request with a JSON body and does not read the response.
pub fn send(address: &str, key: &str, path: &str, body: &str) -> TcpStream {
    send_with(address, key, path, "", body)
}

/// The same with further headers, each ending with CRLF.
pub fn send_with(address: &str, key: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n{headers}\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

/// The status and the JSON of the response.
pub fn post(address: &str, key: &str, path: &str, body: &str) -> (u16, Value) {
    answer(send(address, key, path, body))
}

pub fn answer(mut stream: TcpStream) -> (u16, Value) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    // Chunked bodies and event streams have other lines around the JSON, which is on one line.
    let mut lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let json = lines.find(|line| line.starts_with(['{', '['])).unwrap_or("null");
    let json: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{text}"));
    for error in [&json, &json["error"]] {
        if error["code"].is_string() {
            super::known(error.clone());
        }
    }
    (status, json)
}
