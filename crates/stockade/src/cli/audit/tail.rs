//! `stockade audit tail`: prints the last events, and with `--follow` new ones.

use super::{FilterArgs, event_line, unreadable};
use crate::cli::{Context, Reply, output};
use audit::{Follower, LogEntry};
use clap::Args;
use engine::error::Fault;
use serde_json::{Value, json};
use std::time::Duration;

/// How often a followed log is polled.
const INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub struct TailArgs {
    /// How many of the last events
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    lines: u32,
    /// Continue with new events as they arrive; in JSON, one document per line
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

pub fn run(context: &Context, args: &TailArgs) -> Result<Reply, Fault> {
    let audit = context.open_state()?.audit();
    let filter = args.filter.filter();
    if !args.follow {
        let events = audit::read_last(&audit, &filter, args.lines as usize).map_err(|e| unreadable(&e))?;
        let human: String = events.iter().map(event_line::render_event).collect();
        let human = if human.is_empty() { "Nothing is on record.\n".to_owned() } else { human };
        let json: Vec<Value> = events.into_iter().map(event_json).collect();
        return Ok(Reply::new(human, json!({ "events": json })));
    }
    // Opened before the last events are read, so that none is missed. An event in both is printed once.
    let mut follower = Follower::new(&audit, filter.clone()).map_err(|e| unreadable(&e))?;
    let events = audit::read_last(&audit, &filter, args.lines as usize).map_err(|e| unreadable(&e))?;
    let mut printed: Vec<(String, u64)> = events.iter().map(|it| (it.chain.clone(), it.seq())).collect();
    print(context, events)?;
    loop {
        std::thread::sleep(INTERVAL);
        let mut events = follower.poll().map_err(|e| unreadable(&e))?;
        events.retain(|event| !printed.contains(&(event.chain.clone(), event.seq())));
        if !events.is_empty() {
            printed.clear();
        }
        print(context, events)?;
    }
}

fn print(context: &Context, events: Vec<LogEntry>) -> Result<(), Fault> {
    for event in events {
        let text = if context.json() {
            // The form without `--follow`, one event a line.
            format!("{}\n", output::success(&json!({ "events": [event_json(event)] })))
        } else {
            event_line::render_event(&event)
        };
        output::print_text(&text)?;
    }
    Ok(())
}

pub fn event_json(entry: LogEntry) -> Value {
    let mut fields = entry.fields;
    fields.insert("chain".to_owned(), entry.chain.into());
    Value::Object(fields)
}
