//! Places where a session's placeholders left without being replaced, as operators see them.

use super::ReleasedCredentials;
use egress::{PlaceKind, PlaceholderPlace};
use redact::{Redacted, RedactedFields, SendIn};
use serde::Serialize;
use vault::CredentialId;

/// One place of one credential. Its text comes from requests of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, RedactedFields)]
pub struct UnreplacedPlaceholder {
    pub credential: Redacted,
    /// `body`, `url`, `header`, `cookie` or `websocket`.
    pub kind: &'static str,
    pub path: Redacted,
    /// The header, cookie or field of the body, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Redacted>,
    pub count: u64,
}

impl ReleasedCredentials {
    /// Where placeholders were sent and left as they are.
    pub fn unreplaced(&self, redact: &dyn Fn(&str) -> Redacted) -> Vec<UnreplacedPlaceholder> {
        let places = self.sealed.seal.places();
        places
            .into_iter()
            .map(|place| UnreplacedPlaceholder {
                kind: kind(place.kind),
                credential: redact(&place.credential),
                path: redact(&place.path),
                field: place.field.as_deref().map(redact),
                count: place.count,
            })
            .collect()
    }

    /// The same as places that an operator can allow, by credential.
    pub fn allowable_places(&self) -> Vec<(CredentialId, Vec<SendIn>)> {
        let places = self.sealed.seal.places();
        let of_login = |id: &CredentialId| {
            let own = places.iter().filter(|place| place.credential == id.as_str());
            let mut found: Vec<SendIn> = own.filter_map(allowable).collect();
            found.sort();
            found.dedup();
            found
        };
        let all = self.logins.iter().map(|login| (login.id.clone(), of_login(&login.id)));
        all.filter(|(_, places)| !places.is_empty()).collect()
    }
}

fn kind(kind: PlaceKind) -> &'static str {
    match kind {
        PlaceKind::Url => "url",
        PlaceKind::Body => "body",
        PlaceKind::Header => "header",
        PlaceKind::Cookie => "cookie",
        PlaceKind::WebSocket => "websocket",
    }
}

/// The allowance that would cover a place. A cookie under another name has none: it is never replaced.
fn allowable(place: &PlaceholderPlace) -> Option<SendIn> {
    let named = match place.kind {
        PlaceKind::Header => place.field.as_deref()?,
        _ => &place.path,
    };
    SendIn::parse(kind(place.kind), named)
}
