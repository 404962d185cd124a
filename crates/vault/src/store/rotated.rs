//! Rotated cookies: cookies that a site replaced during a signed-in session. They are kept apart, encrypted like
//! credentials, until an operator accepts them. A page must not be able to change a stored login.

use crate::credential::{Cookie, Credential, CredentialId, Host, MOST_COOKIES};
use crate::error::{Malformed, VaultError};
use crate::secret_tree::LARGEST_DOCUMENT;
use crate::store::database::Change;
use crate::store::seal::RowIdentity;
use crate::store::{ONE_CREDENTIAL, Store, time};
use jiff::Timestamp;
use policy::Tenant;
use sqlx::Row;
use sqlx::any::AnyRow;

/// The public part of a pending rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRotation {
    pub id: CredentialId,
    pub domain: Host,
    /// The cookies' names; never a value.
    pub names: Vec<String>,
    pub kept_at: Timestamp,
}

/// A decrypted row of the table `rotated`.
struct OpenedRotation {
    credential: Credential,
    kept_at: Timestamp,
}

impl Store {
    /// Stores the cookies that a site rotated, replacing earlier ones. More cookies than a credential can have are an
    /// error, and nothing is stored.
    pub async fn keep_rotated(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        domain: &Host,
        cookies: Vec<Cookie>,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot keep the rotated cookies");
        let mut credential = Credential::empty(domain.clone());
        for (number, cookie) in cookies.iter().enumerate() {
            cookie.check(&format!("cookies[{number}]"), domain)?;
        }
        credential.cookies = cookies;
        credential.not_empty()?;
        let document = written(&credential)?;
        let mut writing = self.begin_writing().await?;
        let row_identity = RowIdentity::rotated(tenant.as_str(), id.as_str());
        let (data_key, sealed) =
            row_identity.seal(&writing.keys, &writing.master_key, document.as_bytes())?;
        sqlx::query(
            "INSERT INTO rotated (tenant, id, sealed, data_key, master_key, kept_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (tenant, id) DO UPDATE SET sealed = excluded.sealed, data_key = excluded.data_key,
                master_key = excluded.master_key, kept_at = excluded.kept_at",
        )
        .bind(row_identity.tenant)
        .bind(row_identity.id)
        .bind(sealed)
        .bind(data_key)
        .bind(&writing.master_key)
        .bind(now.as_millisecond())
        .execute(&mut *writing.change)
        .await
        .map_err(&failed)?;
        writing.change.commit().await.map_err(&failed)
    }

    /// The pending rotations of a tenant, by id.
    pub async fn rotated(&self, tenant: &Tenant) -> Result<Vec<PendingRotation>, VaultError> {
        let failed = VaultError::store("cannot list the rotated cookies");
        let rows = sqlx::query("SELECT * FROM rotated WHERE tenant = $1 ORDER BY id")
            .bind(tenant.as_str())
            .fetch_all(self.database.pool().await?)
            .await
            .map_err(&failed)?;
        // Without pending rows no key is requested or made: credentials may be in another backend.
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.ready().await?;
        let mut waiting = Vec::with_capacity(rows.len());
        for row in &rows {
            let id: String = row.try_get("id").map_err(&failed)?;
            let id = CredentialId::parse(&id)
                .map_err(|_| VaultError::StoreDamaged { what: "a credential's id" })?;
            let OpenedRotation { credential, kept_at } = self.open_rotated(tenant, &id, row).await?;
            let names = credential.cookies.into_iter().map(|cookie| cookie.name).collect();
            waiting.push(PendingRotation { id, domain: credential.domain, names, kept_at });
        }
        Ok(waiting)
    }

    /// Merges the pending cookies into the credential: same name, domain and path replace, others are added. Returns
    /// the names.
    pub(crate) async fn accept(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        now: Timestamp,
    ) -> Result<Vec<String>, VaultError> {
        let failed = VaultError::store("cannot accept the rotated cookies");
        // The transaction excludes other writers until the end.
        let mut writing = self.begin_writing().await?;
        let row = sqlx::query("SELECT * FROM rotated WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(&mut *writing.change)
            .await
            .map_err(&failed)?
            .ok_or_else(|| VaultError::NothingRotated { id: id.to_string() })?;
        let kept = self.open_rotated(tenant, id, &row).await?.credential;
        let row = sqlx::query(ONE_CREDENTIAL)
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(&mut *writing.change)
            .await
            .map_err(&failed)?;
        let mut credential = self.open_row(tenant, id, row).await?;
        if credential.domain != kept.domain {
            return Err(VaultError::Altered { id: id.to_string() });
        }
        let names = kept.cookies.iter().map(|cookie| cookie.name.clone()).collect();
        merge(&mut credential, kept.cookies);
        written(&credential)?;
        credential.last_refreshed_at = Some(now);
        self.write(&mut writing, tenant, id, &credential, now).await?;
        forget(&mut writing.change, tenant, id).await?;
        writing.change.commit().await.map_err(&failed)?;
        Ok(names)
    }

    /// Drops a pending rotation.
    pub async fn reject(&self, tenant: &Tenant, id: &CredentialId) -> Result<(), VaultError> {
        let mut change = self.database.change().await?;
        if forget(&mut change, tenant, id).await? == 0 {
            return Err(VaultError::NothingRotated { id: id.to_string() });
        }
        change.commit().await.map_err(VaultError::store("cannot reject the rotated cookies"))
    }

    async fn open_rotated(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        row: &AnyRow,
    ) -> Result<OpenedRotation, VaultError> {
        let failed = VaultError::store("cannot read a row of rotated cookies");
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&failed);
        let master_key = text("master_key")?;
        let keys = self.keys_with(&master_key).await?;
        let row_identity = RowIdentity::rotated(tenant.as_str(), id.as_str());
        let document = row_identity.open(&keys, &master_key, &text("data_key")?, &text("sealed")?)?;
        let kept_at = time(row.try_get("kept_at").map_err(&failed)?)?;
        Ok(OpenedRotation { credential: Credential::from_json(document.as_slice())?, kept_at })
    }
}

/// Drops the pending rotation of a credential. Returns the number of rows.
pub(super) async fn forget(
    change: &mut Change,
    tenant: &Tenant,
    id: &CredentialId,
) -> Result<u64, VaultError> {
    let done = sqlx::query("DELETE FROM rotated WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(id.as_str())
        .execute(&mut **change)
        .await
        .map_err(VaultError::store("cannot forget the rotated cookies"))?;
    Ok(done.rows_affected())
}

/// The credential as JSON, checked against the limits of reading.
fn written(credential: &Credential) -> Result<zeroize::Zeroizing<String>, VaultError> {
    if credential.cookies.len() > MOST_COOKIES {
        return Err(Malformed::new("cookies", format!("more than {MOST_COOKIES}")).into());
    }
    let document = credential.to_json();
    if document.len() > LARGEST_DOCUMENT {
        return Err(Malformed::new("cookies", "too large together").into());
    }
    Ok(document)
}

fn merge(credential: &mut Credential, rotated: Vec<Cookie>) {
    for mut cookie in rotated {
        let same = |old: &&mut Cookie| {
            old.name == cookie.name
                && old.domain == cookie.domain
                && old.path == cookie.path
                && old.partition_key == cookie.partition_key
        };
        match credential.cookies.iter_mut().find(same) {
            Some(old) => {
                // The operator's `secret: false` still applies.
                cookie.value.is_secret = old.value.is_secret;
                *old = cookie;
            }
            None => credential.cookies.push(cookie),
        }
    }
}
