//! An operator's leave on the command line: a password, once any operator has one.

use crate::cli::terminal::Asker;
use crate::error::Fault;
use crate::operator::Password;
use crate::storage::{Storage, StorageError};

/// Lets an operator do what only an operator may.
pub async fn allow(storage: &Storage, asker: &mut Asker, name: &str) -> Result<(), Fault> {
    let stored = storage.operator_password(name).await?;
    if !storage.any_operator_password().await? {
        // Nobody can prove who they are yet; whoever is named has to be one all the same.
        return match stored {
            Some(_) => Ok(()),
            None => Err(StorageError::UnknownOperator { name: name.to_owned() }.into()),
        };
    }
    let stored = stored.flatten().ok_or_else(wrong)?;
    check(asker.ask(&format!("The password of {name}"))?, stored).await
}

pub async fn check(password: Password, stored: String) -> Result<(), Fault> {
    let right = blocking(move || password.fits(Some(&stored))).await?;
    if right { Ok(()) } else { Err(wrong()) }
}

fn wrong() -> Fault {
    Fault::new("login_failed", "that is not an operator's name and password")
        .hint("`--as NAME` says whose password it is; `stockade operator list` shows who has one.")
}

pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Fault::caused("internal", &error))?
}
