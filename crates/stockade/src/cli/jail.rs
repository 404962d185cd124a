//! `stockade jail`: lists running jails and clears what crashed control planes left.

use crate::cli::output::{BAD, GOOD};
use crate::cli::{Column, Context, Reply, Table};
use ::jail::{JailError, RuntimeBackend};
use anstyle::Style;
use clap::{Args, Subcommand};
use engine::error::{Fault, with_causes};
use redact::Redacted;
use serde_json::json;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade jail list
  stockade jail reap    after a crash of the machine; safe at any time")]
pub struct JailArgs {
    #[command(subcommand)]
    command: JailCommand,
}

#[derive(Debug, Subcommand)]
enum JailCommand {
    /// List the jails of every control plane of this user
    List,
    /// Remove leftovers of control planes that crashed; running ones are not touched
    Reap,
}

pub(super) fn run(context: &Context, args: JailArgs) -> Result<Reply, Fault> {
    match args.command {
        JailCommand::List => list(&*context.maintenance_backend()),
        JailCommand::Reap => reap(&*context.maintenance_backend()),
    }
}

fn list(backend: &dyn RuntimeBackend) -> Result<Reply, Fault> {
    let instances = backend.list().map_err(jail_fault)?;
    let mut table = Table::new(&[
        Column::Whole("INSTANCE"),
        Column::Short("STATE"),
        Column::Short("SERVED BY"),
        Column::Whole("JAIL"),
        Column::Short("PROCESSES"),
        Column::Short("MEMORY"),
    ]);
    for instance in &instances {
        let served_by =
            instance.control_plane_pid.map_or_else(|| "unknown".to_owned(), |pid| format!("process {pid}"));
        let (state, style) = if instance.alive { ("alive", GOOD) } else { ("dead", BAD) };
        let head = [unstyled(instance.id.as_str()), (state.to_owned(), style), unstyled(&served_by)];
        if instance.jails.is_empty() {
            let [id, state, by] = head;
            table.add_styled_row([id, state, by, unstyled("–"), unstyled("–"), unstyled("–")]);
            continue;
        }
        for jail in &instance.jails {
            let [id, state, by] = head.clone();
            let memory = jail.memory_bytes.map_or_else(|| "not counted".to_owned(), format_mebibytes);
            table.add_styled_row([
                id,
                state,
                by,
                unstyled(jail.id.as_str()),
                unstyled(&jail.pids.len().to_string()),
                unstyled(&memory),
            ]);
        }
    }
    Ok(Reply::new(table.render("No control plane has jails here."), json!({ "instances": instances })))
}

fn reap(backend: &dyn RuntimeBackend) -> Result<Reply, Fault> {
    let reaped = backend.reap().map_err(jail_fault)?;
    let human = if reaped.instances.is_empty() {
        "Nothing to clear.\n".to_owned()
    } else {
        format!(
            "Cleared {} dead control plane(s): {} jail(s), {} process(es).\n",
            reaped.instances.len(),
            reaped.jails,
            reaped.processes
        )
    };
    Ok(Reply::new(human, json!({ "reaped": reaped })))
}

fn unstyled(text: &str) -> (String, Style) {
    (text.to_owned(), Style::new())
}

fn format_mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn jail_fault(error: JailError) -> Fault {
    Fault::outside_sessions(error.code(), with_causes(&error)).hint(Redacted::outside_sessions(error.hint()))
}
