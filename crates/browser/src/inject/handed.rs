//! What a site hands out to somebody who is signed in: the cookies it sets, and what its pages put into their stores.

use super::{
    HandedReply,
    cookies::{FoundCookie, GetCookies},
};
use crate::{
    ask::LARGEST_ANSWER,
    browser::Browser,
    cdp::{CallError, HandedHeaders, SessionId, protocol as p},
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    tab::Tab,
};
use futures_util::future::join_all;
use policy::Origin;
use redact::{CookiePriority, SameSite, Secret};
use serde::{Deserialize, Serialize};
use std::{marker::PhantomData, time::Duration};

/// More than Chromium keeps.
const MOST_COOKIES: usize = 4000;
/// What was set as a cookie and may be another by now, between two looks.
const MOST_PASSED: usize = 512;
const MOST_PASSED_BYTES: usize = 256 * 1024;
/// Of all stores together; a document tells as much by itself, in the units that a script counts.
const MOST_ENTRIES: usize = 1000;
const MOST_STORED_BYTES: usize = 1 << 20;
/// Chromium writes what is not plain ASCII as six bytes.
const ENCODED: usize = 6;
/// How long a document may take; one that hangs is left out.
pub(super) const DOCUMENT_WAIT: Duration = Duration::from_secs(1);

/// It has no `Debug`, `Clone` or `Serialize`, nor has what is in it: it holds secrets.
pub struct HandedOut {
    /// All that are in the browser now, of whatever site.
    pub cookies: Vec<HandedCookie>,
    /// What any site has set as a cookie since this was last asked, whether it is still there or not, and headers of theirs
    /// whose names say that they open something. Only in a browser that something was put into.
    pub passed: Vec<HandedValue>,
    /// Of the documents that are open now.
    pub stored: Vec<HandedEntry>,
    /// What the named origins have replied since this was last asked. Only in a browser that something was put into.
    pub replies: Vec<HandedReply>,
    /// More was set as cookies, or replied, than is kept between two looks, or while there was no connection.
    pub lost: bool,
    /// There may be more cookies, entries or replies than are told, or a document did not answer.
    pub cut: bool,
}

pub struct HandedCookie {
    pub name: String,
    pub value: Secret,
    /// Without a dot in front.
    pub domain: String,
    /// It is sent to that host alone.
    pub host_only: bool,
    pub path: String,
    /// In seconds since 1970; `None` until the browser ends.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub secure: bool,
    pub same_site: Option<SameSite>,
    pub priority: Option<CookiePriority>,
    pub partition_key: Option<String>,
}

pub struct HandedValue {
    pub name: String,
    pub value: Secret,
}

pub struct HandedEntry {
    pub origin: Origin,
    /// Of `localStorage`, or else of `sessionStorage`.
    pub local: bool,
    pub name: String,
    pub value: Secret,
}

/// What sites have set as cookies since it was last asked for.
#[derive(Default)]
pub(crate) struct Passed {
    values: Vec<HandedValue>,
    bytes: usize,
    lost: bool,
}

impl Passed {
    pub fn note(&mut self, set: &HandedHeaders) {
        self.lost |= set.cut;
        for (name, value) in &set.tokens {
            // Behind the name of a scheme, such as `Bearer`, and several in one.
            for part in value.split([' ', ',', '\n']) {
                self.add(name, part);
            }
        }
        for line in &set.cookies {
            let pair = line.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            self.add(name.trim(), value.trim());
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        let is_known = |known: &HandedValue| known.name == name && known.value.expose_secret() == value;
        if value.is_empty() || self.values.iter().any(is_known) {
            return;
        }
        let bytes = name.len() + value.len();
        // The newest are in the browser yet, and so they are the ones to go.
        if self.values.len() == MOST_PASSED || self.bytes + bytes > MOST_PASSED_BYTES {
            self.lost = true;
            return;
        }
        self.bytes += bytes;
        self.values.push(HandedValue { name: name.to_owned(), value: Secret::new(value.to_owned()) });
    }

    /// Some were not heard of.
    pub fn lose(&mut self) {
        self.lost = true;
    }
}

impl FoundCookie {
    fn handed(self) -> HandedCookie {
        let host = self.domain.strip_prefix('.');
        HandedCookie {
            host_only: host.is_none(),
            domain: host.unwrap_or(&self.domain).to_owned(),
            name: self.name,
            value: self.value,
            path: self.path,
            // A cast of a float saturates.
            expires: (!self.session && self.expires >= 0.0).then_some(self.expires as i64),
            http_only: self.http_only,
            secure: self.secure,
            same_site: SameSite::ALL
                .into_iter()
                .find(|known| self.same_site.as_deref() == Some(known.as_str())),
            priority: CookiePriority::ALL
                .into_iter()
                .find(|known| self.priority.as_deref() == Some(known.as_str())),
            partition_key: self.partition_key.map(|key| key.top_level_site),
        }
    }
}

/// A document that is asked for its stores.
struct Asked {
    session: SessionId,
    origin: Origin,
    /// Where our script runs in it, if it does already.
    world: Option<String>,
    /// Whether it is of the tab's own site: then all tabs share its `localStorage`.
    is_tabs: bool,
    local: bool,
}

#[derive(Serialize)]
struct Wanted {
    local: bool,
    entries: usize,
    units: usize,
}

#[derive(Deserialize)]
struct Stores {
    origin: String,
    entries: Vec<(bool, String, Secret)>,
    cut: bool,
}

impl Browser {
    /// What sites have handed out so far: cookies of all, and stores of these origins as far as documents of theirs are
    /// open. As `resolve`, it only looks, and it may be called while something else is done.
    pub async fn handed_out(&self, origins: &[Origin], limit: TimeLimit) -> Result<HandedOut, BrowserError> {
        let deadline = Deadline::of(limit, "handed_out");
        let (asked, mut cut) = self.documents_of(origins);
        let stores = join_all(asked.iter().map(|asked| self.stores_of(asked, deadline)));
        let (found, stores, told) = tokio::join!(
            self.call(None, &GetCookies {}, deadline),
            stores,
            self.replies_of(origins, deadline)
        );
        let found = found?.cookies;
        cut |= told.cut | (found.len() > MOST_COOKIES);
        let cookies = found.into_iter().take(MOST_COOKIES).map(FoundCookie::handed).collect();
        let (mut stored, mut room): (Vec<HandedEntry>, _) = (Vec::new(), MOST_STORED_BYTES);
        for (asked, stores) in asked.iter().zip(stores) {
            let Some(stores) = stores else {
                cut = true;
                continue;
            };
            cut |= stores.cut;
            for (local, name, value) in stores.entries {
                let bytes = name.len() + value.expose_secret().len();
                if stored.len() == MOST_ENTRIES || bytes > room {
                    cut = true;
                    break;
                }
                room -= bytes;
                stored.push(HandedEntry { origin: asked.origin.clone(), local, name, value });
            }
        }
        // Last: what came meanwhile may be what is there now.
        let passed = self.shared.lock().injected.passed.as_mut().map(std::mem::take).unwrap_or_default();
        let lost = passed.lost | told.lost;
        Ok(HandedOut { cookies, passed: passed.values, stored, replies: told.replies, lost, cut })
    }

    /// One document for each origin and process; and whether there are some that cannot be asked now.
    fn documents_of(&self, origins: &[Origin]) -> (Vec<Asked>, bool) {
        let state = self.shared.lock();
        let (mut asked, mut cut): (Vec<Asked>, _) = (Vec::new(), false);
        for tab in state.tab.iter().chain(&state.behind).filter(|_| !origins.is_empty()) {
            let own = documents_in(tab, origins);
            // Nothing of a page runs while its question waits.
            cut |= tab.dialog.is_some() && !own.is_empty();
            for mut next in own.into_iter().filter(|_| tab.dialog.is_none()) {
                let is_same = |known: &Asked| known.is_tabs && known.origin == next.origin;
                next.local = !(next.is_tabs && asked.iter().any(is_same));
                asked.push(next);
            }
        }
        (asked, cut)
    }

    /// `None`: not all that is there was told.
    async fn stores_of(&self, asked: &Asked, deadline: Deadline) -> Option<Stores> {
        let wanted = Wanted { local: asked.local, entries: MOST_ENTRIES, units: MOST_STORED_BYTES };
        let command = p::CallFunction::<_, Stores> {
            function_declaration: "function(a) { return stockade.storedHere(a); }",
            unique_context_id: asked.world.as_deref()?,
            arguments: [p::ByValue { value: &wanted }],
            return_by_value: true,
            await_promise: false,
            silent: true,
            largest_reply: LARGEST_ANSWER + MOST_STORED_BYTES * ENCODED,
            returns: PhantomData,
        };
        let limit = deadline.within(DOCUMENT_WAIT);
        match self.connection.call(Some(&asked.session), &command, limit.at).await {
            // One without an origin of its own has no stores, whatever its address.
            Ok(told) => {
                let is_own = |stores: &Stores| stores.origin == asked.origin.as_str();
                told.result.value.map(|stores| if is_own(&stores) { stores } else { Stores::none() })
            }
            // It is gone, with its stores or without.
            Err(CallError::Crashed { .. } | CallError::Detached { .. }) => Some(Stores::none()),
            Err(_) => None,
        }
    }
}

impl Stores {
    fn none() -> Stores {
        Stores { origin: String::new(), entries: Vec::new(), cut: false }
    }
}

fn documents_in(tab: &Tab, origins: &[Origin]) -> Vec<Asked> {
    let mut found: Vec<Asked> = Vec::new();
    for id in tab.frames.inside(&tab.target) {
        let Some(frame) = tab.frames.get(&id) else { continue };
        // Most are of none, and not worth taking apart.
        let is_of =
            |origin: &&Origin| frame.url.starts_with(origin.as_str()) && Origin::of(&frame.url) == **origin;
        let Some(origin) = origins.iter().find(is_of) else { continue };
        if found.iter().any(|known| known.session == frame.session && known.origin == *origin) {
            continue;
        }
        let world = frame.world.as_ref().map(|world| world.unique.to_string());
        let is_tabs = frame.session == tab.session;
        found.push(Asked {
            session: frame.session.clone(),
            origin: origin.clone(),
            world,
            is_tabs,
            local: true,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(lines: &[String]) -> HandedHeaders {
        let joined = serde_json::json!({ "Set-Cookie": lines.join("\n") });
        serde_json::from_value(joined).unwrap()
    }

    fn told(passed: &Passed) -> Vec<String> {
        let values = passed.values.iter();
        values.map(|cookie| format!("{}={}", cookie.name, cookie.value.expose_secret())).collect()
    }

    #[test]
    fn each_value_that_was_set_is_told_once() {
        let mut passed = Passed::default();
        let lines =
            ["a=1; Path=/; Secure", "a=2", "a=1", " b = x=y ;HttpOnly", "nameless", "gone=; Max-Age=0", ""];
        passed.note(&set(&lines.map(str::to_owned)));
        assert_eq!(told(&passed), ["a=1", "a=2", "b=x=y", "=nameless"]);
        assert!(!passed.lost);
    }

    #[test]
    fn what_goes_beyond_the_bounds_is_said_to_be_lost() {
        for (count, length, kept, lost) in [
            (MOST_PASSED, 1, MOST_PASSED, false),
            (MOST_PASSED + 1, 1, MOST_PASSED, true),
            (5, 60_000, 4, true),
            (1, 70_000, 0, true),
        ] {
            let mut passed = Passed::default();
            for n in 0..count {
                passed.note(&set(&[format!("{n}={}", "x".repeat(length))]));
            }
            assert_eq!((passed.values.len(), passed.lost), (kept, lost), "{count} of {length}");
        }
    }
}
