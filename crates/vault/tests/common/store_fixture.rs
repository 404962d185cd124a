//! The `store` backend on either database, and an attacker who can write to the database.

use super::postgres::Postgres;
use super::{id, tenant};
use jiff::Timestamp;
use sqlx::any::AnyConnectOptions;
use sqlx::{Connection, Executor};
use std::path::PathBuf;
use std::str::FromStr;
use vault::{Credential, Database, MasterKeySource, Store, Vault};

/// A database of either kind, and a folder for the key.
pub struct StoreFixture {
    pub folder: tempfile::TempDir,
    postgres: Option<Postgres>,
}

impl StoreFixture {
    pub fn both() -> [StoreFixture; 2] {
        let folder = || tempfile::tempdir().unwrap();
        [
            StoreFixture { folder: folder(), postgres: None },
            StoreFixture { folder: folder(), postgres: Some(Postgres::start()) },
        ]
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("vault.db")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.path().join("master.key")
    }

    pub fn database(&self) -> Database {
        match &self.postgres {
            Some(postgres) => Database::postgres(&postgres.url).unwrap(),
            None => Database::sqlite(&self.file()).unwrap(),
        }
    }

    /// A vault as in another process: it shares only the key file and the database.
    pub fn open(&self, source: MasterKeySource) -> Store {
        Store::new(self.database(), source)
    }

    pub fn store(&self) -> Vault {
        Vault::Store(self.open(MasterKeySource::File(self.key())))
    }

    /// Runs a statement as an attacker with access to the database.
    pub async fn tamper(&self, statement: &'static str) {
        sqlx::any::install_default_drivers();
        let url = match &self.postgres {
            Some(postgres) => postgres.url.clone(),
            None => format!("sqlite://{}", self.file().display()),
        };
        let options = AnyConnectOptions::from_str(&url).unwrap();
        let mut connection = sqlx::AnyConnection::connect_with(&options).await.unwrap();
        connection.execute(statement).await.unwrap();
        connection.close().await.unwrap();
    }
}

pub async fn put(vault: &Vault, of: &str, name: &str, document: &str) {
    let credential = Credential::from_json(document.as_bytes()).unwrap();
    vault.put(&tenant(of), &id(name), &credential, Timestamp::now()).await.unwrap();
}
