//! Places where a placeholder left as such, for an operator to look at.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Distinct places that are kept; further ones are not.
const MAX_PLACES: usize = 200;
/// Longest path or field that is kept.
const MAX_CHARS: usize = 256;

/// A place where a placeholder left without being swapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceholderPlace {
    pub credential: String,
    pub kind: PlaceKind,
    /// The request's path, without its query.
    pub path: String,
    /// The header, cookie or body field, where it is known.
    pub field: Option<String>,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    Url,
    Body,
    Header,
    /// Under another name, as a part of a value, or for a request that another site started.
    Cookie,
    WebSocket,
}

type PlaceKey = (String, PlaceKind, String, Option<String>);

#[derive(Debug, Default)]
pub(crate) struct NotedPlaces {
    counts: Mutex<BTreeMap<PlaceKey, u64>>,
}

impl NotedPlaces {
    pub(crate) fn note(&self, credential: &str, kind: PlaceKind, path: &str, field: Option<&str>) {
        let key = (credential.to_owned(), kind, cut(path), field.map(cut));
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&key) {
            *count += 1;
        } else if counts.len() < MAX_PLACES {
            counts.insert(key, 1);
        }
    }

    pub(crate) fn list(&self) -> Vec<PlaceholderPlace> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let place = |((credential, kind, path, field), count): (&PlaceKey, &u64)| PlaceholderPlace {
            credential: credential.clone(),
            kind: *kind,
            path: path.clone(),
            field: field.clone(),
            count: *count,
        };
        counts.iter().map(place).collect()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_their_number_is_bounded() {
        let places = NotedPlaces::default();
        for number in 0..1000 {
            places.note("a", PlaceKind::Body, &format!("/{number}"), Some("field"));
            places.note("a", PlaceKind::Url, "/0", None);
        }
        let all = places.list();
        assert_eq!(all.len(), MAX_PLACES);
        assert_eq!(all.iter().find(|place| place.kind == PlaceKind::Url).unwrap().count, 1000);
        places.note("a", PlaceKind::Url, &"x".repeat(5000), None);
    }
}
