//! An operator's leave on the command line: a password, once any operator has one.

use crate::cli::Context;
use crate::cli::terminal::Asker;
use audit::EventKind;
use engine::error::Fault;
use engine::storage::{FIRST_OPERATOR, Storage, StorageError};
use error_code::ErrorCode;
use server::operator::{self, Password};
use std::time::Instant;

/// Who gives leave, and how the password comes.
#[derive(Debug, clap::Args)]
pub struct ByOperator {
    /// The operator who does it
    #[arg(long = "as", global = true, value_name = "NAME", default_value = FIRST_OPERATOR, value_parser = operator::parse_name)]
    pub as_operator: String,
    /// Read the operator's password from the first line of standard input
    #[arg(long, global = true)]
    password_stdin: bool,
}

impl ByOperator {
    /// Asks for the password.
    pub async fn allow(&self, context: &Context) -> Result<(), Fault> {
        let storage = context.open_storage().await?;
        storage.first_operator().await?;
        allow(context, &storage, &mut Asker::new(self.password_stdin), &self.as_operator).await
    }
}

/// Lets an operator do what only an operator may.
pub async fn allow(context: &Context, storage: &Storage, asker: &mut Asker, name: &str) -> Result<(), Fault> {
    let stored = storage.operator_password(name).await?;
    if !storage.any_operator_password().await? {
        // Nobody can prove who they are yet; whoever is named has to be one all the same.
        return match stored {
            Some(_) => Ok(()),
            None => Err(StorageError::UnknownOperator { name: name.to_owned() }.into()),
        };
    }
    let stored = stored.flatten().ok_or_else(wrong)?;
    check(context, name, asker.ask(&format!("The password of {name}"))?, stored).await
}

/// A wrong one is on record, and answered no sooner than at the other doors.
pub async fn check(context: &Context, name: &str, password: Password, stored: String) -> Result<(), Fault> {
    let begun = Instant::now();
    if blocking(move || password.fits(Some(&stored))).await? {
        return Ok(());
    }
    let what = "a wrong password at the command line";
    operator::record_operator_event(&context.open_log()?, EventKind::OperatorRefused, name, what).await?;
    tokio::time::sleep(operator::FAILED_LOGIN_DELAY.saturating_sub(begun.elapsed())).await;
    Err(wrong())
}

fn wrong() -> Fault {
    Fault::new(ErrorCode::LoginFailed, "that is not an operator's name and password")
        .hint("`--as NAME` says whose password it is; `stockade operator list` shows who has one.")
}

pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::caused(ErrorCode::Internal, &error))?
}
