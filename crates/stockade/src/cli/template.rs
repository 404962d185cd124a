//! `stockade template`: builds, verifies and lists the file trees that jails run from.

use crate::cli::output::{GOOD, print_progress};
use crate::cli::{Column, Context, Reply, Table};
use ::jail::template::{BuildOptions, Flavour, Store, Template, TemplateError};
use clap::{Args, Subcommand, ValueEnum};
use engine::error::{Fault, with_causes};
use engine::state;
use error_code::ErrorCode;
use redact::Redacted;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade template build
  stockade template build --display xvfb
  stockade template verify")]
pub struct TemplateArgs {
    #[command(subcommand)]
    command: TemplateCommand,
}

#[derive(Debug, Subcommand)]
enum TemplateCommand {
    /// Make a template from this machine's Chromium
    Build {
        /// Without a screen, or with a virtual one
        #[arg(long, value_enum, default_value_t = Display::Headless)]
        display: Display,
        /// The bridge's program [default: stockade-bridge beside this program]
        #[arg(long, value_name = "FILE")]
        bridge: Option<PathBuf>,
        /// The browser's program itself, not a script that starts it [default: looked for]
        #[arg(long, value_name = "FILE")]
        browser: Option<PathBuf>,
    },
    /// Compare every file with the manifest
    Verify {
        /// The id that `stockade template list` shows [default: all templates]
        id: Option<String>,
    },
    /// List the templates, newest first
    List,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Display {
    Headless,
    Xvfb,
}

pub(super) fn run(context: &Context, args: TemplateArgs) -> Result<Reply, Fault> {
    let store = Store::open(&state::templates_dir()?).map_err(template_fault)?;
    match args.command {
        TemplateCommand::Build { display, bridge, browser } => {
            let flavour = match display {
                Display::Headless => Flavour::Headless,
                Display::Xvfb => Flavour::Xvfb,
            };
            let bridge = bridge.map_or_else(state::bridge_program, Ok)?;
            build(context, &store, &BuildOptions { flavour, bridge, browser })
        }
        TemplateCommand::Verify { id } => verify(context, &store, id.as_deref()),
        TemplateCommand::List => list(&store),
    }
}

fn build(context: &Context, store: &Store, options: &BuildOptions) -> Result<Reply, Fault> {
    let template = store.build(options, &mut |step| print_progress(context, step)).map_err(template_fault)?;
    let human = format!(
        "{GOOD}Template {} is ready{GOOD:#}: {}, {} files, {}.\n",
        template.id(),
        template.browser_version(),
        template.files(),
        format_megabytes(template.bytes()),
    );
    Ok(Reply::new(human, json!({ "template": template_json(&template) })))
}

fn verify(context: &Context, store: &Store, id: Option<&str>) -> Result<Reply, Fault> {
    let mut chosen = store.all().map_err(template_fault)?;
    chosen.retain(|name, _| id.is_none_or(|id| name == id));
    if chosen.is_empty() {
        let message =
            id.map_or_else(|| "there is no template".to_owned(), |id| format!("there is no template '{id}'"));
        let hint = if id.is_some() { "Run: stockade template list" } else { "Run: stockade template build" };
        return Err(Fault::outside_sessions(ErrorCode::TemplateMissing, message).hint(hint));
    }
    let ids: Vec<String> = chosen.keys().cloned().collect();
    for template in chosen.into_values() {
        let template = template.map_err(template_fault)?;
        print_progress(context, &format!("comparing {} files of {}", template.files(), template.id()));
        template.verify().map_err(template_fault)?;
    }
    let human = format!("{GOOD}Unchanged{GOOD:#}: {}.\n", ids.join(", "));
    Ok(Reply::new(human, json!({ "verified": ids })))
}

fn list(store: &Store) -> Result<Reply, Fault> {
    let templates = store.list().map_err(template_fault)?;
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("DISPLAY"),
        Column::Short("BROWSER"),
        Column::Short("FILES"),
        Column::Short("SIZE"),
    ]);
    for template in &templates {
        table.add_row([
            template.id().to_owned(),
            template.flavour().to_string(),
            template.browser_version().to_owned(),
            template.files().to_string(),
            format_megabytes(template.bytes()),
        ]);
    }
    let human = table.render("There is no template yet. Make one: stockade template build");
    let described: Vec<Value> = templates.iter().map(template_json).collect();
    Ok(Reply::new(human, json!({ "templates": described })))
}

fn template_json(template: &Template) -> Value {
    json!({
        "id": template.id(),
        "display": template.flavour().to_string(),
        "browser": template.browser_version(),
        "files": template.files(),
        "bytes": template.bytes(),
        "root": template.root(),
    })
}

fn format_megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

fn template_fault(error: TemplateError) -> Fault {
    Fault::outside_sessions(error.code(), with_causes(&error)).hint(Redacted::outside_sessions(error.hint()))
}
