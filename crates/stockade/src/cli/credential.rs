//! `stockade credential`: the logins in our own store. Values come from standard input and never from arguments,
//! which every process on the machine can read; and none is ever shown.

use crate::cli::{Column, Context, Reply, Table};
use crate::error::Fault;
use crate::logins::Logins;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use policy::Tenant;
use serde_json::{Value, json};
use std::io::Read;
use vault::{Credential, CredentialId, Host, ImportFormat, Summary, VaultError};
use zeroize::Zeroizing;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade credential put < github.json
  stockade credential import --domain github.com < cookies.txt
  stockade credential list
  stockade credential rotate-key")]
pub struct CredentialArgs {
    #[command(subcommand)]
    command: CredentialCommand,
    /// Whose credentials
    #[arg(long, global = true, default_value = "default", value_parser = Tenant::parse)]
    tenant: Tenant,
}

#[derive(Debug, Subcommand)]
enum CredentialCommand {
    /// Store a credential: its document, in JSON, from standard input
    Put {
        /// What to call it [default: its domain]
        #[arg(long, value_parser = CredentialId::parse)]
        id: Option<CredentialId>,
    },
    /// Store what another program exported: a storage state, a cookies.txt or an extension's JSON, from standard input
    Import {
        /// The host to take out of it
        #[arg(long, value_parser = Host::parse)]
        domain: Host,
        /// What to call it [default: its domain]
        #[arg(long, value_parser = CredentialId::parse)]
        id: Option<CredentialId>,
    },
    /// List the credentials; never their values
    List,
    /// What is known of one; never its values
    Show {
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
    },
    /// Forget one
    Remove {
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
    },
    /// Make a new master key and wrap everything with it, while others go on
    RotateKey,
}

/// A document and a byte, which is then found to be too much.
const MOST_INPUT: u64 = 1024 * 1024 + 1;

pub(super) fn run(context: &Context, args: CredentialArgs) -> Result<Reply, Fault> {
    let tenant = args.tenant;
    context.block_on(async {
        match args.command {
            CredentialCommand::Put { id } => put(context, &tenant, id).await,
            CredentialCommand::Import { domain, id } => import(context, &tenant, &domain, id).await,
            CredentialCommand::List => list(context, &tenant).await,
            CredentialCommand::Show { id } => show(context, &tenant, &id).await,
            CredentialCommand::Remove { id } => {
                logins(context)?.vault()?.remove(&tenant, &id).await?;
                Ok(Reply::new(format!("{id} is removed.\n"), json!({ "removed": id.as_str() })))
            }
            CredentialCommand::RotateKey => rotate_key(context).await,
        }
    })
}

async fn put(context: &Context, tenant: &Tenant, id: Option<CredentialId>) -> Result<Reply, Fault> {
    let credential = Credential::from_json(&input()?).map_err(VaultError::from)?;
    keep(context, tenant, id, &credential, Vec::new()).await
}

async fn import(
    context: &Context,
    tenant: &Tenant,
    domain: &Host,
    id: Option<CredentialId>,
) -> Result<Reply, Fault> {
    let imported = vault::import(&input()?, domain, Timestamp::now())?;
    let form = match imported.format {
        ImportFormat::StorageState => "a storage state",
        ImportFormat::CookiesTxt => "a cookies.txt",
        ImportFormat::Extension => "an extension's JSON",
    };
    let mut notes = vec![format!("Read as {form}.")];
    notes.extend(imported.left_out.iter().map(|what| format!("Left out: {what}.")));
    keep(context, tenant, id, &imported.credential, notes).await
}

async fn keep(
    context: &Context,
    tenant: &Tenant,
    id: Option<CredentialId>,
    credential: &Credential,
    mut notes: Vec<String>,
) -> Result<Reply, Fault> {
    let id = match id {
        Some(id) => id,
        None => CredentialId::parse(credential.domain.as_str())
            .map_err(|_| Fault::new("usage", "this domain cannot be an id").hint("Choose one with --id."))?,
    };
    logins(context)?.vault()?.put(tenant, &id, credential, Timestamp::now()).await?;
    notes.extend(credential.cautions().into_iter().map(|caution| format!("Note: {caution}.")));
    let lines: String = notes.iter().map(|note| format!("{note}\n")).collect();
    let human = format!(
        "{id} of {tenant}: {} cookies, {} storage entries, {} headers.\n{lines}",
        credential.cookies.len(),
        credential.local_storage.len() + credential.session_storage.len(),
        credential.headers.len(),
    );
    let json = json!({ "stored": id.as_str(), "domain": credential.domain.as_str(), "notes": notes });
    Ok(Reply::new(human, json))
}

async fn list(context: &Context, tenant: &Tenant) -> Result<Reply, Fault> {
    let credentials = logins(context)?.vault()?.list(tenant).await?;
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("DOMAIN"),
        Column::Short("GRANTS"),
        Column::Short("REFRESHED"),
        Column::Short("INJECTED"),
    ]);
    for one in &credentials {
        table.styled([
            (one.id.to_string(), Default::default()),
            (one.domain.as_ref().map(ToString::to_string).unwrap_or_default(), Default::default()),
            (one.grant_scope.map(|scope| scope.as_str().to_owned()).unwrap_or_default(), Default::default()),
            (one.last_refreshed_at.map(day).unwrap_or_default(), Default::default()),
            (one.last_injected_at.map_or_else(|| "never".to_owned(), day), Default::default()),
        ]);
    }
    let human = table.render("There are no credentials yet. Store one: stockade credential put < FILE");
    Ok(Reply::new(human, json!({ "credentials": credentials.iter().map(summary).collect::<Vec<_>>() })))
}

async fn show(context: &Context, tenant: &Tenant, id: &CredentialId) -> Result<Reply, Fault> {
    let all = logins(context)?.vault()?.list(tenant).await?;
    let found = all.into_iter().find(|one| one.id == *id);
    let found = found.ok_or_else(|| VaultError::UnknownCredential { id: id.to_string() })?;
    let json = summary(&found);
    let lines = json.as_object().into_iter().flatten().map(|(name, value)| {
        let value = value.as_str().unwrap_or("-");
        format!("{name:<18} {value}\n")
    });
    Ok(Reply::new(lines.collect::<String>(), json!({ "credential": json })))
}

async fn rotate_key(context: &Context) -> Result<Reply, Fault> {
    let rotation = logins(context)?.store.rotate().await?;
    let old = if rotation.old_keys_dropped {
        "The old key is gone."
    } else {
        "Take the old key out of the variable now."
    };
    let human = format!(
        "Master key {} is in use; {} data keys were wrapped anew. {old}\n",
        rotation.current, rotation.rewrapped
    );
    let json = json!({
        "master_key": rotation.current,
        "rewrapped": rotation.rewrapped,
        "old_keys_dropped": rotation.old_keys_dropped,
    });
    Ok(Reply::new(human, json))
}

fn logins(context: &Context) -> Result<Logins, Fault> {
    Logins::for_command(&context.load_config(Vec::new())?.config, &context.open_state()?)
}

fn input() -> Result<Zeroizing<Vec<u8>>, Fault> {
    // Reserved in one piece, so that growing leaves no copy behind.
    let mut text = Zeroizing::new(Vec::with_capacity(MOST_INPUT as usize));
    std::io::stdin()
        .lock()
        .take(MOST_INPUT)
        .read_to_end(&mut text)
        .map_err(|error| Fault::io("usage", "cannot read standard input", &error))?;
    Ok(text)
}

fn summary(one: &Summary) -> Value {
    json!({
        "id": one.id.as_str(),
        "domain": one.domain.as_ref().map(Host::as_str),
        "grant_scope": one.grant_scope.map(vault::GrantScope::as_str),
        "created_at": one.created_at,
        "last_refreshed_at": one.last_refreshed_at,
        "last_injected_at": one.last_injected_at,
    })
}

fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
