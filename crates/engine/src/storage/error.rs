//! Errors of the database.

use crate::error::{Fault, is_disk_full, with_causes};
use error_code::ErrorCode;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("cannot create the database file {}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{doing}")]
    Database { doing: &'static str, source: sqlx::Error },
    #[error("the database has version {found}, but this program supports versions up to {known}")]
    Newer { found: i64, known: i64 },
    #[error("the database holds an invalid name: tenant '{tenant}', actor '{actor}'")]
    BadName { tenant: String, actor: String, source: policy::InvalidName },
    #[error("the database holds an invalid time: {value}")]
    BadTime { value: i64, source: jiff::Error },
    #[error("the database holds an invalid {column}: '{value}'")]
    BadWord { column: &'static str, value: String },
    #[error("the card of an approval request cannot be read or written")]
    BadCard { source: serde_json::Error },
    #[error("there is no key '{id}'")]
    UnknownKey { id: String },
    #[error("the label has {length} characters; at most {most} are allowed")]
    LongLabel { length: usize, most: usize },
    #[error("there is no operator '{name}'")]
    UnknownOperator { name: String },
    #[error("there is an operator '{name}' already")]
    OperatorExists { name: String },
    #[error("'{name}' is the only operator")]
    LastOperator { name: String },
    #[error("the system returned no random numbers")]
    NoRandomness { source: getrandom::Error },
}

/// Classes of SQLite errors.
enum Sqlite {
    Full,
    Busy,
    Damaged,
    Other,
}

impl StorageError {
    pub(crate) fn because(doing: &'static str) -> impl Fn(sqlx::Error) -> StorageError {
        move |source| StorageError::Database { doing, source }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            StorageError::File { source, .. } if is_disk_full(source) => ErrorCode::DiskFull,
            StorageError::Database { source, .. } => match classify(source) {
                Sqlite::Full => ErrorCode::DiskFull,
                Sqlite::Busy => ErrorCode::StorageBusy,
                Sqlite::Damaged => ErrorCode::StorageDamaged,
                Sqlite::Other => ErrorCode::StorageFailed,
            },
            StorageError::File { .. } | StorageError::NoRandomness { .. } => ErrorCode::StorageFailed,
            StorageError::Newer { .. } => ErrorCode::StorageNewer,
            StorageError::BadName { .. }
            | StorageError::BadTime { .. }
            | StorageError::BadWord { .. }
            | StorageError::BadCard { .. } => ErrorCode::StorageDamaged,
            StorageError::UnknownKey { .. } => ErrorCode::UnknownKey,
            StorageError::LongLabel { .. } => ErrorCode::BadLabel,
            StorageError::UnknownOperator { .. } => ErrorCode::UnknownOperator,
            StorageError::OperatorExists { .. } => ErrorCode::OperatorExists,
            StorageError::LastOperator { .. } => ErrorCode::LastOperator,
        }
    }
}

fn classify(error: &sqlx::Error) -> Sqlite {
    let number = match error {
        sqlx::Error::Database(database) => database.code().and_then(|code| code.parse::<i32>().ok()),
        sqlx::Error::Io(io) if is_disk_full(io) => return Sqlite::Full,
        sqlx::Error::PoolTimedOut => return Sqlite::Busy,
        _ => None,
    };
    // The lowest byte is the primary code. 4874 means that the shared-memory file cannot grow, which happens on a full
    // disk before the database itself is written.
    if number == Some(4874) {
        return Sqlite::Full;
    }
    match number.map(|number| number & 0xff) {
        Some(13) => Sqlite::Full,
        Some(5 | 6) => Sqlite::Busy,
        Some(11 | 26) => Sqlite::Damaged,
        _ => Sqlite::Other,
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Fault {
        let code = error.code();
        let fault = Fault::outside_sessions(code, with_causes(&error));
        match fault.code {
            ErrorCode::DiskFull => Fault::disk_full(error),
            ErrorCode::StorageBusy => {
                fault.hint("Another process is writing: try again in a moment.").retryable()
            }
            ErrorCode::StorageDamaged => fault.hint(
                "Restore a copy of stockade.db in the state folder, or move it away: then new keys are made.",
            ),
            ErrorCode::StorageNewer => {
                fault.hint("Use the newer version of Stockade that wrote it, or another --state folder.")
            }
            ErrorCode::UnknownKey => fault.hint("`stockade key list` shows the keys and their ids."),
            ErrorCode::UnknownOperator => fault.hint("`stockade operator list` shows all operators."),
            ErrorCode::OperatorExists => {
                fault.hint("Choose another name, or `stockade operator password NAME`.")
            }
            ErrorCode::LastOperator => fault.hint("Add another first: stockade operator add NAME"),
            ErrorCode::BadLabel => fault.hint("Choose a shorter label."),
            _ => fault.hint("Check that the state folder is writable."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_database_is_retryable_and_a_failed_one_is_not() {
        for (source, code, retryable) in [
            (sqlx::Error::PoolTimedOut, ErrorCode::StorageBusy, true),
            (sqlx::Error::RowNotFound, ErrorCode::StorageFailed, false),
        ] {
            let fault = Fault::from(StorageError::because("reading keys")(source));
            assert_eq!((fault.code, fault.retryable), (code, retryable));
            assert!(!fault.hint.is_empty());
        }
    }
}
