//! `stockade audit export`: writes the log as JSON lines or CSV.

use super::{FilterArgs, unreadable};
use crate::cli::{Context, Reply};
use clap::{Args, ValueEnum};
use engine::error::Fault;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The format: JSON lines as in the log, or a table
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Jsonl,
    Csv,
}

pub fn run(context: &Context, args: &ExportArgs) -> Result<Reply, Fault> {
    let audit = context.open_state()?.audit();
    let count = match &args.output {
        None => write(&audit, args, &mut BufWriter::new(io::stdout().lock())),
        Some(path) => OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .and_then(|file| write(&audit, args, &mut BufWriter::new(file))),
    };
    let count = count.map_err(|e| unreadable(&e))?;
    let Some(path) = &args.output else { return Ok(Reply::silent()) };
    let human = format!("{count} events are in {}\n", path.display());
    Ok(Reply::new(human, json!({ "events": count, "path": path })))
}

fn write(audit: &std::path::Path, args: &ExportArgs, out: &mut impl Write) -> io::Result<u64> {
    let mut count = 0;
    if let Format::Csv = args.format {
        out.write_all(audit::csv_header().as_bytes())?;
    }
    audit::read_all(audit, &args.filter.filter(), |entry| {
        count += 1;
        match args.format {
            Format::Jsonl => writeln!(out, "{}", entry.text),
            Format::Csv => out.write_all(audit::csv_row(&entry).as_bytes()),
        }
    })?;
    out.flush()?;
    Ok(count)
}
