//! `stockade credential put` and `import`: store a login and offer to try it.

use super::{DEFAULT_TENANT, prompt, test};
use crate::cli::authorize::AuthorizedBy;
use crate::cli::output::print_line;
use crate::cli::{Context, Reply};
use clap::Args;
use engine::error::Fault;
use engine::logins::{Logins, OperatorContext};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::Tenant;
use redact::Redacted;
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};
use vault::{Credential, CredentialId, Host, ImportFormat, VaultError};
use zeroize::Zeroizing;

/// A document and a byte, which is then found to be too much.
const MOST_INPUT: usize = 1024 * 1024 + 1;

/// Whether the stored login is tried. A terminal is asked; without one, only `--test` tries it.
#[derive(Debug, Args)]
pub struct LoginTestArgs {
    /// Try the login once it is stored, as `credential test` does
    #[arg(long)]
    test: bool,
    /// Do not offer to try the login
    #[arg(long, conflicts_with = "test")]
    no_test: bool,
    #[command(flatten)]
    operator: AuthorizedBy,
}

impl LoginTestArgs {
    /// Authorizes `--test` before anything is stored. With `--password-stdin` the password is the line before the
    /// document.
    async fn authorize(&self, context: &Context) -> Result<(), Fault> {
        if self.test {
            self.operator.authorize(context).await
        } else if self.operator.reads_stdin() {
            Err(Fault::new(ErrorCode::Usage, "a password is needed only to try the login")
                .hint("Add --test, or leave --password-stdin out."))
        } else {
            Ok(())
        }
    }
}

pub async fn put(
    context: &Context,
    logins: &Logins,
    by: OperatorContext<'_>,
    domain: Option<Host>,
    id: Option<CredentialId>,
    login_test: &LoginTestArgs,
) -> Result<Reply, Fault> {
    logins.vault()?.check_writable()?;
    login_test.authorize(context).await?;
    let credential = if std::io::stdin().is_terminal() {
        prompt::prompt_credential(domain.clone(), MOST_INPUT)?
    } else {
        Credential::from_json(&read_stdin()?).map_err(VaultError::from)?
    };
    if domain.is_some_and(|domain| domain != credential.domain) {
        let message = format!("the document is for {}", credential.domain);
        return Err(Fault::outside_sessions(ErrorCode::Usage, message)
            .hint("Leave --domain out, or give the document's own."));
    }
    let (id, stored) = store(logins, by, id, &credential, Vec::new()).await?;
    test_stored(context, by.tenant, &id, stored, login_test).await
}

pub async fn import(
    context: &Context,
    logins: &Logins,
    by: OperatorContext<'_>,
    domain: &Host,
    id: Option<CredentialId>,
    login_test: &LoginTestArgs,
) -> Result<Reply, Fault> {
    logins.vault()?.check_writable()?;
    login_test.authorize(context).await?;
    let text = if std::io::stdin().is_terminal() { prompt::prompt_file(MOST_INPUT)? } else { read_stdin()? };
    let imported = vault::import(&text, domain, Timestamp::now())?;
    let form = match imported.format {
        ImportFormat::StorageState => "a storage state",
        ImportFormat::CookiesTxt => "a cookies.txt",
        ImportFormat::Extension => "an extension's JSON",
    };
    let mut notes = vec![format!("Read as {form}.")];
    notes.extend(imported.left_out.iter().map(|what| format!("Left out: {what}.")));
    let (id, stored) = store(logins, by, id, &imported.credential, notes).await?;
    test_stored(context, by.tenant, &id, stored, login_test).await
}

async fn store(
    logins: &Logins,
    by: OperatorContext<'_>,
    id: Option<CredentialId>,
    credential: &Credential,
    mut notes: Vec<String>,
) -> Result<(CredentialId, Reply), Fault> {
    let id = match id {
        Some(id) => id,
        None => CredentialId::parse(credential.domain.as_str()).map_err(|_| {
            Fault::new(ErrorCode::Usage, "this domain cannot be an id").hint("Choose one with --id.")
        })?,
    };
    logins.put(by, &id, credential).await?;
    notes.extend(credential.cautions().into_iter().map(|caution| format!("Note: {caution}.")));
    let lines: String = notes.iter().map(|note| format!("{note}\n")).collect();
    let human = format!("{id} of {}: {}.\n{lines}", by.tenant, describe_contents(credential));
    let json = json!({ "stored": id.as_str(), "domain": credential.domain.as_str(), "notes": notes });
    Ok((id, Reply::new(human, json)))
}

/// Tries a login that was just stored, or names the command that does.
async fn test_stored(
    context: &Context,
    tenant: &Tenant,
    id: &CredentialId,
    mut stored: Reply,
    login_test: &LoginTestArgs,
) -> Result<Reply, Fault> {
    let operator = &login_test.operator;
    let is_offered =
        !login_test.test && !login_test.no_test && !context.json() && std::io::stdin().is_terminal();
    if !login_test.test && !is_offered {
        let command = test_command(tenant, id);
        stored.human.push_str(&format!("Try it: {command}\n"));
        stored.json["next"] = command.into();
        return Ok(stored);
    }
    // Said before the test: it is stored whatever the test comes to.
    print_line(context, &stored.human);
    if is_offered {
        if !prompt::confirm("Try this login now?")? {
            return Ok(Reply::new(format!("Later: {}\n", test_command(tenant, id)), stored.json));
        }
        operator.authorize(context).await.map_err(|fault| {
            let hint = format!("The login is stored. Try it later: {}", test_command(tenant, id));
            fault.hint(Redacted::outside_sessions(hint))
        })?;
    }
    match test::run(context, tenant, &operator.as_operator, id).await {
        Ok(mut tested) => {
            stored.json["test"] = std::mem::take(&mut tested.json);
            Ok(Reply { json: stored.json, ..tested })
        }
        // One document for programs: stored, and why it could not be tried.
        Err(fault) if context.json() => {
            stored.json["test"] = Value::Null;
            Ok(Reply::with_problem(String::new(), stored.json, Some(fault)))
        }
        Err(fault) => Err(fault),
    }
}

/// The command that tries a stored login.
fn test_command(tenant: &Tenant, id: &CredentialId) -> String {
    match tenant.as_str() {
        DEFAULT_TENANT => format!("stockade credential test {id}"),
        other => format!("stockade credential test {id} --tenant {other}"),
    }
}

/// Describes what a credential holds, without values.
fn describe_contents(credential: &Credential) -> String {
    let entries = credential.local_storage.len() + credential.session_storage.len();
    let counted = [
        (credential.cookies.len(), "cookie"),
        (entries, "storage entry"),
        (credential.headers.len(), "header"),
    ];
    let mut parts: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match (count, what) {
            (1, what) => format!("1 {what}"),
            (count, "storage entry") => format!("{count} storage entries"),
            (count, what) => format!("{count} {what}s"),
        })
        .collect();
    parts.extend(credential.basic.iter().map(|_| "a user name and password".to_owned()));
    parts.extend(credential.totp.iter().map(|_| "a TOTP seed".to_owned()));
    parts.join(", ")
}

fn read_stdin() -> Result<Zeroizing<Vec<u8>>, Fault> {
    // Reserved once: growing would leave copies of a secret in memory.
    let mut text = Zeroizing::new(Vec::with_capacity(MOST_INPUT));
    std::io::stdin()
        .lock()
        .take(MOST_INPUT as u64)
        .read_to_end(&mut text)
        .map_err(|error| Fault::io(ErrorCode::Usage, "cannot read standard input", &error))?;
    Ok(text)
}
