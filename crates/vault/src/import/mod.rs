//! Imports logins from other programs: Playwright's storage state, `cookies.txt`, JSON of browser extensions.
//!
//! An import is for one host. Entries for other hosts are left out, and the result says so.

mod cookies_txt;
mod extension;
mod playwright;

#[cfg(test)]
mod tests;

use crate::credential::{Cookie, Credential, Host, MOST_COOKIES, Value};
use crate::error::{Malformed, VaultError};
use crate::secret_tree::SecretNode;
use jiff::Timestamp;
use redact::{SameSite, Secret};
use zeroize::Zeroizing;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// `context.storageState()` of Playwright.
    StorageState,
    /// The Netscape form that curl, wget and many extensions write.
    CookiesTxt,
    /// EditThisCookie and Cookie-Editor.
    Extension,
}

pub struct Imported {
    pub credential: Credential,
    pub format: ImportFormat,
    /// Entries of the file that the credential does not contain, described without values.
    pub left_out: Vec<String>,
}

/// Files have at most this many cookies for all hosts together.
const MOST_IN_A_FILE: usize = 20_000;

/// Imports a file's entries for `domain`. Detects the format by the content.
pub fn import(text: &[u8], domain: &Host, now: Timestamp) -> Result<Imported, VaultError> {
    read(text, domain, now).map_err(VaultError::Import)
}

fn read(text: &[u8], domain: &Host, now: Timestamp) -> Result<Imported, Malformed> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let start = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let mut draft = Draft::new(domain, now);
    let format = match start {
        Some(b'{' | b'[') => match SecretNode::from_json(text)? {
            SecretNode::Map(map) if map.iter().any(|(name, _)| name == "origins") || !is_extension(&map) => {
                playwright::read(SecretNode::Map(map), &mut draft)?;
                ImportFormat::StorageState
            }
            node => {
                extension::read(node, &mut draft)?;
                ImportFormat::Extension
            }
        },
        _ => {
            cookies_txt::read(text, &mut draft)?;
            ImportFormat::CookiesTxt
        }
    };
    draft.finish(format)
}

/// Some extensions wrap their list: `{"url": …, "cookies": […]}`, and their cookies have fields of their own.
fn is_extension(map: &[(String, SecretNode)]) -> bool {
    map.iter().any(|(name, _)| name == "url")
}

/// A cookie of the file, before it is known whether it belongs to the host.
struct Found {
    name: String,
    value: Zeroizing<String>,
    domain: String,
    host_only: bool,
    path: String,
    expires: Option<i64>,
    http_only: bool,
    secure: bool,
    same_site: Option<SameSite>,
}

struct Draft {
    credential: Credential,
    now: Timestamp,
    seen: usize,
    other_hosts: usize,
    expired: usize,
    notes: Vec<String>,
}

impl Draft {
    fn new(domain: &Host, now: Timestamp) -> Draft {
        let credential = Credential::empty(domain.clone());
        Draft { credential, now, seen: 0, other_hosts: 0, expired: 0, notes: Vec::new() }
    }

    fn cookie(&mut self, found: Found, field: &str) -> Result<(), Malformed> {
        self.seen += 1;
        let name = found.domain.strip_prefix('.').unwrap_or(&found.domain);
        let of = Host::parse(name)
            .map_err(|error| Malformed::new(format!("{field}.domain"), error.to_string()))?;
        let host = &self.credential.domain;
        let ours = if found.host_only { *host == of } else { host.is_within(&of) };
        if !ours {
            self.other_hosts += 1;
            return Ok(());
        }
        if found.expires.is_some_and(|expires| expires <= self.now.as_second()) {
            self.expired += 1;
            return Ok(());
        }
        if self.credential.cookies.len() == MOST_COOKIES {
            return Err(Malformed::new(field, format!("more than {MOST_COOKIES} cookies for {host}")));
        }
        let cookie = Cookie {
            name: found.name,
            value: Value { text: Secret::new(found.value), is_secret: true },
            domain: (!found.host_only && !of.is_address()).then_some(of),
            path: found.path,
            expires: found.expires,
            http_only: found.http_only,
            secure: found.secure,
            same_site: found.same_site,
            priority: None,
            partition_key: None,
        };
        cookie.check(field, host)?;
        self.credential.cookies.push(cookie);
        Ok(())
    }

    fn finish(mut self, format: ImportFormat) -> Result<Imported, Malformed> {
        let domain = &self.credential.domain;
        let empty = self.credential.cookies.is_empty() && self.credential.local_storage.is_empty();
        if empty {
            let (seen, expired) = (self.seen, self.expired);
            let reason = format!(
                "nothing in the file is for {domain} ({seen} cookies in all, {expired} of its own expired)"
            );
            return Err(Malformed::new("", reason));
        }
        for (count, words) in
            [(self.other_hosts, "cookies of other hosts"), (self.expired, "expired cookies")]
        {
            if count > 0 {
                self.notes.push(format!("{count} {words}"));
            }
        }
        self.credential.last_refreshed_at = Some(self.now);
        Ok(Imported { credential: self.credential, format, left_out: self.notes })
    }
}
