//! Operator authorization on the command line: asks for a password once any operator has one.

use crate::cli::Context;
use crate::cli::terminal::PasswordPrompt;
use audit::EventKind;
use engine::error::Fault;
use engine::storage::{FIRST_OPERATOR, Storage, StorageError};
use error_code::ErrorCode;
use server::operator::{self, Password};
use std::time::Instant;

/// The operator who authorizes a command, and where the password comes from.
#[derive(Debug, clap::Args)]
pub struct AuthorizedBy {
    /// The operator who does it
    #[arg(long = "as", global = true, value_name = "NAME", default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
    pub as_operator: String,
    /// Read the operator's password from the first line of standard input
    #[arg(long, global = true)]
    password_stdin: bool,
}

impl AuthorizedBy {
    /// Whether the password is a line of standard input.
    pub fn reads_stdin(&self) -> bool {
        self.password_stdin
    }

    /// Authorizes the command, by password if any operator has one.
    pub async fn authorize(&self, context: &Context) -> Result<(), Fault> {
        let storage = context.open_storage().await?;
        storage.first_operator().await?;
        authorize_operator(
            context,
            &storage,
            &mut PasswordPrompt::new(self.password_stdin),
            &self.as_operator,
        )
        .await
    }
}

/// Checks that `name` is an operator, by password if any operator has one.
pub async fn authorize_operator(
    context: &Context,
    storage: &Storage,
    asker: &mut PasswordPrompt,
    name: &str,
) -> Result<(), Fault> {
    let stored = storage.operator_password(name).await?;
    if !storage.any_operator_password().await? {
        // No password exists yet; the name has to be an operator's all the same.
        return match stored {
            Some(_) => Ok(()),
            None => Err(StorageError::UnknownOperator { name: name.to_owned() }.into()),
        };
    }
    let stored = stored.flatten().ok_or_else(login_failed)?;
    check_password(context, name, asker.ask(&format!("The password of {name}"))?, stored).await
}

/// Checks a password. A wrong one is recorded and answered as slowly as over HTTP.
pub async fn check_password(
    context: &Context,
    name: &str,
    password: Password,
    stored: String,
) -> Result<(), Fault> {
    let begun = Instant::now();
    if run_blocking(move || password.fits(Some(&stored))).await? {
        return Ok(());
    }
    let what = "a wrong password at the command line";
    operator::record_operator_event(&context.open_log()?, EventKind::OperatorRefused, name, what).await?;
    tokio::time::sleep(operator::FAILED_LOGIN_DELAY.saturating_sub(begun.elapsed())).await;
    Err(login_failed())
}

fn login_failed() -> Fault {
    Fault::new(ErrorCode::LoginFailed, "wrong name or password")
        .hint("`--as NAME` says whose password it is; `stockade operator list` shows who has one.")
}

pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::caused(ErrorCode::Internal, &error))?
}
