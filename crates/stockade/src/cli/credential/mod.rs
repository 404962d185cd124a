//! `stockade credential`: stores, lists and removes credentials.
//!
//! Values come from standard input or a prompt, never from arguments, which every process on the machine can read. None is
//! ever shown, except a one-time code to an authorized operator.

mod outline;
mod prompt;
mod put;
mod test;

use crate::cli::authorize::AuthorizedBy;
use crate::cli::output::{DIM, HINT};
use crate::cli::{Column, Context, Reply, Table};
use clap::{Args, Subcommand};
use engine::error::Fault;
use engine::logins::{Logins, OperatorContext, grant_view};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::Tenant;
use put::LoginTestArgs;
use redact::SendIn;
use serde_json::{Value, json};
use vault::{CredentialId, Host, VaultError};

const DEFAULT_TENANT: &str = "default";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade credential put --domain github.com    asks for it
  stockade credential put --test < github.json
  stockade credential import --domain github.com < cookies.txt
  stockade credential list
  stockade credential show github.com
  stockade credential test github.com            opens a session and looks
  stockade credential allow github.com --body /oauth/token
  stockade credential accept github.com          take over rotated cookies
  stockade credential code github.com            for logging in yourself
  stockade credential rotate-key

Credentials are written in our own store only: `vault_backend: store`. Those of
a vault, of sops files and of the environment can be listed.")]
pub struct CredentialArgs {
    #[command(subcommand)]
    command: CredentialCommand,
    /// The tenant that the credentials belong to
    #[arg(long, global = true, default_value = DEFAULT_TENANT, value_parser = Tenant::parse)]
    tenant: Tenant,
}

#[derive(Debug, Subcommand)]
enum CredentialCommand {
    #[command(flatten)]
    Change(CredentialChange),
    /// List the credentials; never their values
    List,
    /// Show one credential; never its values
    Show {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
    },
}

/// What is put on record.
#[derive(Debug, Subcommand)]
enum CredentialChange {
    /// Store a login: asks at the terminal, or reads JSON from standard input
    Put {
        /// The host it is for
        #[arg(long, value_parser = Host::parse)]
        domain: Option<Host>,
        /// Its id [default: its domain]
        #[arg(long, value_parser = CredentialId::parse)]
        id: Option<CredentialId>,
        #[command(flatten)]
        login_test: LoginTestArgs,
    },
    /// Store what another program exported: a storage state, a cookies.txt or an extension's JSON, from standard input
    Import {
        /// The host whose login is imported
        #[arg(long, value_parser = Host::parse)]
        domain: Host,
        /// Its id [default: its domain]
        #[arg(long, value_parser = CredentialId::parse)]
        id: Option<CredentialId>,
        #[command(flatten)]
        login_test: LoginTestArgs,
    },
    /// Merge rotated cookies into the credential; needs an operator's password
    Accept {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
        #[command(flatten)]
        operator: AuthorizedBy,
    },
    /// Let the proxy put the secrets into one more place of requests; needs an operator's password
    // The usage that clap makes of four flags is too long for a line.
    #[command(override_usage = "stockade credential allow <ID> <--body|--url|--websocket> <PATH>
       stockade credential allow <ID> --header <NAME>")]
    Allow {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
        #[command(flatten)]
        place: PlaceArgs,
        #[command(flatten)]
        operator: AuthorizedBy,
    },
    /// Test the login: open a session, load one page, report whether it is signed in
    Test {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
        #[command(flatten)]
        operator: AuthorizedBy,
    },
    /// Print the current one-time code, to log in yourself; needs an operator's password
    Code {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
        #[command(flatten)]
        operator: AuthorizedBy,
    },
    /// Discard rotated cookies
    Reject {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
    },
    /// Remove a credential
    Remove {
        /// Its id, as `list` shows it
        #[arg(value_parser = CredentialId::parse)]
        id: CredentialId,
    },
    /// Make a new master key and encrypt all data keys with it; sessions continue
    RotateKey,
}

/// One place of requests besides a secret's own.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PlaceArgs {
    /// Bodies of requests under this path
    #[arg(long, value_name = "PATH")]
    body: Option<String>,
    /// Addresses under this path
    #[arg(long, value_name = "PATH")]
    url: Option<String>,
    /// Messages of a WebSocket under this path
    #[arg(long, value_name = "PATH")]
    websocket: Option<String>,
    /// A request header
    #[arg(long, value_name = "NAME")]
    header: Option<String>,
}

impl PlaceArgs {
    fn parse(&self) -> Result<SendIn, Fault> {
        let given = [
            ("body", &self.body),
            ("url", &self.url),
            ("websocket", &self.websocket),
            ("header", &self.header),
        ];
        let named = given.into_iter().find_map(|(kind, place)| Some((kind, place.as_deref()?)));
        named.and_then(|(kind, place)| SendIn::parse(kind, place)).ok_or_else(|| {
            Fault::new(ErrorCode::Usage, "this is not a place in a request")
                .hint("Give a path such as /oauth/token without a query, or the name of a header.")
        })
    }
}

pub(super) fn run(context: &Context, args: CredentialArgs) -> Result<Reply, Fault> {
    context.block_on(async {
        let logins = context.open_logins()?;
        match args.command {
            CredentialCommand::List => list(&logins, &args.tenant).await,
            CredentialCommand::Show { id } => show(&logins, &args.tenant, &id).await,
            CredentialCommand::Change(change) => {
                let log = context.open_log()?;
                let by = OperatorContext { log: &log, tenant: &args.tenant, operator: "the command line" };
                apply_change(context, &logins, by, change).await
            }
        }
    })
}

async fn apply_change(
    context: &Context,
    logins: &Logins,
    by: OperatorContext<'_>,
    change: CredentialChange,
) -> Result<Reply, Fault> {
    match change {
        CredentialChange::Put { domain, id, login_test } => {
            put::put(context, logins, by, domain, id, &login_test).await
        }
        CredentialChange::Import { domain, id, login_test } => {
            put::import(context, logins, by, &domain, id, &login_test).await
        }
        CredentialChange::Accept { id, operator } => {
            logins.vault()?.check_writable()?;
            operator.authorize(context).await?;
            accept(logins, OperatorContext { operator: &operator.as_operator, ..by }, &id).await
        }
        CredentialChange::Allow { id, place, operator } => {
            let place = place.parse()?;
            logins.vault()?.check_writable()?;
            operator.authorize(context).await?;
            let by = OperatorContext { operator: &operator.as_operator, ..by };
            logins.allow_place(by, &id, place.clone()).await?;
            let human = format!("Sessions from now on send the secrets of {id} in: {place}.\n");
            Ok(Reply::new(human, json!({ "allowed": id.as_str(), "place": place.to_string() })))
        }
        CredentialChange::Test { id, operator } => {
            operator.authorize(context).await?;
            test::run(context, by.tenant, &operator.as_operator, &id).await
        }
        CredentialChange::Code { id, operator } => {
            operator.authorize(context).await?;
            let (code, seconds) =
                logins.code(OperatorContext { operator: &operator.as_operator, ..by }, &id).await?;
            let code = code.expose_secret();
            let human = format!("{code}  for {seconds} more seconds\n");
            Ok(Reply::new(human, json!({ "code": code, "seconds_left": seconds })))
        }
        CredentialChange::Reject { id } => {
            logins.reject(by, &id).await?;
            let human = format!("The rotated cookies of {id} are discarded.\n");
            Ok(Reply::new(human, json!({ "rejected": id.as_str() })))
        }
        CredentialChange::Remove { id } => {
            logins.remove(by, &id).await?;
            Ok(Reply::new(format!("{id} is removed.\n"), json!({ "removed": id.as_str() })))
        }
        CredentialChange::RotateKey => rotate_key(logins, by).await,
    }
}

async fn list(logins: &Logins, tenant: &Tenant) -> Result<Reply, Fault> {
    let vault = logins.vault()?;
    let credentials = vault.list(tenant).await?;
    let waiting = logins.store.rotated(tenant).await?;
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("DOMAIN"),
        Column::Short("GRANTS"),
        Column::Short("REFRESHED"),
        Column::Short("INJECTED"),
        Column::Short("ROTATED"),
    ]);
    for one in &credentials {
        let rotated = waiting.iter().any(|waiting| waiting.id == one.id);
        // Other vaults do not report these dates.
        let unknown = one.created_at.is_none();
        let or = |value: Option<String>, none: &str| {
            value.unwrap_or_else(|| if unknown { "-" } else { none }.to_owned())
        };
        table.add_styled_row([
            (one.id.to_string(), Default::default()),
            (or(one.domain.as_ref().map(ToString::to_string), ""), Default::default()),
            (or(one.grant_scope.map(|scope| scope.as_str().to_owned()), ""), Default::default()),
            (or(one.last_refreshed_at.map(format_date), ""), Default::default()),
            (or(one.last_injected_at.map(format_date), "never"), Default::default()),
            if rotated { ("waits".to_owned(), HINT) } else { (String::new(), Default::default()) },
        ]);
    }
    let human = table.render("There are no credentials yet. Store one: stockade credential put");
    let json = json!({
        "backend": vault.name(),
        "credentials": credentials.iter().map(grant_view::credential_json).collect::<Vec<_>>(),
        "rotated": waiting.iter().map(grant_view::rotation_json).collect::<Vec<_>>(),
    });
    Ok(Reply::new(human, json))
}

async fn show(logins: &Logins, tenant: &Tenant, id: &CredentialId) -> Result<Reply, Fault> {
    let vault = logins.vault()?;
    let found = vault.list(tenant).await?.into_iter().find(|one| one.id == *id);
    let found = found.ok_or_else(|| VaultError::UnknownCredential { id: id.to_string() })?;
    let waiting = logins.store.rotated(tenant).await?.into_iter().find(|one| one.id == *id);
    let details = vault.outline(tenant, id).await?;
    let places = logins.store.places(tenant, id).await?;
    let mut json = grant_view::credential_json(&found);
    json["backend"] = vault.name().into();
    let mut human = String::new();
    for (name, value) in json.as_object().into_iter().flatten() {
        human.push_str(&format!("{DIM}{name:<18}{DIM:#} {}\n", value.as_str().unwrap_or("-")));
    }
    human.push_str(&outline::render(id, &details, &places));
    if let (Some(all), Value::Object(more)) = (json.as_object_mut(), outline::outline_json(&details, &places))
    {
        all.extend(more);
    }
    if let Some(waiting) = &waiting {
        let (count, names) = (waiting.names.len(), waiting.names.join(" "));
        human.push_str(&format!(
            "{HINT}The site rotated {count} of its cookies{HINT:#} on {}: {}\n  \
             stockade credential accept {id}    stores them\n  \
             stockade credential reject {id}    discards them\n",
            format_date(waiting.kept_at),
            audit::sanitize_within(&names, 200),
        ));
    }
    json["rotated"] = waiting.as_ref().map_or(Value::Null, grant_view::rotation_json);
    Ok(Reply::new(human, json!({ "credential": json })))
}

async fn accept(logins: &Logins, by: OperatorContext<'_>, id: &CredentialId) -> Result<Reply, Fault> {
    let names = logins.accept(by, id).await?;
    let human =
        format!("{id} now has the rotated cookies: {}.\n", audit::sanitize_within(&names.join(" "), 200));
    Ok(Reply::new(human, json!({ "accepted": id.as_str(), "cookies": names })))
}

async fn rotate_key(logins: &Logins, by: OperatorContext<'_>) -> Result<Reply, Fault> {
    let rotation = logins.rotate_key(by).await?;
    let old = if rotation.old_keys_dropped {
        "The old key is gone."
    } else {
        "Take the old key out of the variable now."
    };
    let human = format!(
        "Master key {} is in use; {} data keys were encrypted again. {old}\n",
        rotation.current, rotation.rewrapped
    );
    let json = json!({
        "master_key": rotation.current,
        "rewrapped": rotation.rewrapped,
        "old_keys_dropped": rotation.old_keys_dropped,
    });
    Ok(Reply::new(human, json))
}

fn format_date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}
