//! A stand-in for Chromium that speaks its pipe protocol and misbehaves on command.
//!
//! The pipe is on stdin and stdout here: the tests start it through a shell that puts descriptors 3
//! and 4 there, so that it needs no unsafe code.

use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn main() -> io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    writeln!(io::stderr(), "fake chromium speaking")?;
    match args.as_slice() {
        ["exit", code] => {
            writeln!(io::stderr(), "cannot find a reason to live")?;
            return Ok(ExitCode::from(code.parse::<u8>().map_err(io::Error::other)?));
        }
        // Waits until the file exists, as in a slow start.
        ["when", file] => {
            while !Path::new(file).exists() {
                sleep(Duration::from_millis(5));
            }
        }
        // Ends, and leaves a helper behind that holds its log open.
        ["helper"] => {
            let helper =
                Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
            writeln!(io::stderr(), "helper {}", helper.id())?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    serve()
}

fn serve() -> io::Result<ExitCode> {
    let mut input = io::stdin().lock();
    loop {
        let mut message = Vec::new();
        if input.by_ref().read_until(0, &mut message)? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        message.pop();
        let call: Value = serde_json::from_slice(&message)?;
        let params = &call["params"];
        let size = usize::try_from(params["size"].as_u64().unwrap_or(0)).map_err(io::Error::other)?;
        let result = match call["method"].as_str() {
            Some("Browser.getVersion") => json!({
                "product": "Fake/1.0", "protocolVersion": "1.3", "userAgent": "Fake", "jsVersion": "0",
            }),
            Some("Test.echo") => params.clone(),
            Some("Test.length") => json!({ "length": message.len() }),
            Some("Test.large") => json!({ "data": "x".repeat(size) }),
            // Many events, then the answer.
            Some("Test.events") => {
                for number in 0..size {
                    say(&json!({ "method": "Test.event", "params": { "number": number } }))?;
                }
                json!({})
            }
            // An orphan, which process 1 inherits.
            Some("Test.orphan") => {
                Command::new("sh").args(["-c", "sleep 0.05 & exit 0"]).stdin(Stdio::null()).status()?;
                json!({})
            }
            Some("Test.exit") => return Ok(ExitCode::from(u8::try_from(size).map_err(io::Error::other)?)),
            Some("Test.abort") => std::process::abort(),
            // A reply for the next client, or for none.
            Some("Test.silence") => continue,
            _ => json!({ "unknown": true }),
        };
        say(&json!({ "id": call["id"], "result": result }))?;
    }
}

fn say(message: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, message)?;
    output.write_all(b"\0")?;
    output.flush()
}
