//! Noted places: where a placeholder left the browser without being replaced. Kept until an operator has looked.

use super::{Store, time};
use crate::credential::CredentialId;
use crate::error::VaultError;
use jiff::Timestamp;
use policy::Tenant;
use redact::SendIn;
use sqlx::Row;

/// The limit for one credential, because a page can make up any number of paths. Further places are not noted.
const MOST_PLACES: i64 = 100;

/// A place, and when a placeholder was last seen there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedPlace {
    pub place: SendIn,
    pub seen_at: Timestamp,
}

impl Store {
    /// Notes places of a credential. At the limit only known ones are updated.
    pub async fn note_places(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        places: &[SendIn],
        now: Timestamp,
    ) -> Result<(), VaultError> {
        let failed = VaultError::store("cannot note where a placeholder was sent");
        for place in places {
            sqlx::query(
                "INSERT INTO placeholder_places (tenant, id, kind, place, seen_at)
                 SELECT $1, $2, $3, $4, $5 WHERE
                   (SELECT COUNT(*) FROM placeholder_places WHERE tenant = $1 AND id = $2) < $6
                   OR EXISTS (SELECT 1 FROM placeholder_places
                              WHERE tenant = $1 AND id = $2 AND kind = $3 AND place = $4)
                 ON CONFLICT (tenant, id, kind, place) DO UPDATE SET seen_at = excluded.seen_at",
            )
            .bind(tenant.as_str())
            .bind(id.as_str())
            .bind(place.kind())
            .bind(place.place())
            .bind(now.as_millisecond())
            .bind(MOST_PLACES)
            .execute(self.database.pool().await?)
            .await
            .map_err(&failed)?;
        }
        Ok(())
    }

    /// The places of a credential, the latest first.
    pub async fn places(&self, tenant: &Tenant, id: &CredentialId) -> Result<Vec<NotedPlace>, VaultError> {
        let failed = VaultError::store("cannot list where placeholders were sent");
        let rows = sqlx::query(
            "SELECT kind, place, seen_at FROM placeholder_places WHERE tenant = $1 AND id = $2
             ORDER BY seen_at DESC, kind, place",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .fetch_all(self.database.pool().await?)
        .await
        .map_err(&failed)?;
        let mut places = Vec::new();
        for row in rows {
            let kind: String = row.try_get("kind").map_err(&failed)?;
            let place: String = row.try_get("place").map_err(&failed)?;
            let seen: i64 = row.try_get("seen_at").map_err(&failed)?;
            // Skips rows that are not valid: another program may have written them.
            if let Some(place) = SendIn::parse(&kind, &place) {
                places.push(NotedPlace { place, seen_at: time(seen)? });
            }
        }
        Ok(places)
    }

    /// Removes a place that is now allowed, or whose credential was deleted.
    pub(crate) async fn forget_places(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        place: Option<&SendIn>,
    ) -> Result<(), VaultError> {
        sqlx::query(
            "DELETE FROM placeholder_places WHERE tenant = $1 AND id = $2
             AND ($3 = '' OR (kind = $3 AND place = $4))",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(place.map_or("", SendIn::kind))
        .bind(place.map_or("", SendIn::place))
        .execute(self.database.pool().await?)
        .await
        .map_err(VaultError::store("cannot forget where placeholders were sent"))?;
        Ok(())
    }
}
