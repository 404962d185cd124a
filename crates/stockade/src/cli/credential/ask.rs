//! Asking a person at a terminal for a credential: one thing at a time, and nothing secret on the screen.

use crate::cli::terminal::Keys;
use engine::error::Fault;
use error_code::ErrorCode;
use redact::{SameSite, Secret};
use vault::{BasicAuth, Cookie, Credential, Host, NamedValue, Value, VaultError};
use zeroize::Zeroizing;

/// Asks what signs the person in to a host.
pub fn credential(domain: Option<Host>, most: usize) -> Result<Credential, Fault> {
    let mut keys = Keys::open()?;
    let domain = match domain {
        Some(domain) => domain,
        None => ask_domain(&mut keys)?,
    };
    keys.say(&format!(
        "What signs you in to {domain}?\r\n\
         \x20 c  a cookie\r\n\
         \x20 h  a header, such as Authorization\r\n\
         \x20 b  a user name and a password that the browser itself asks for\r\n\
         \x20 d  a whole document, to be pasted\r\n\
         Press one of them: "
    ))?;
    let kind = one_of(&mut keys, b"chbd")?;
    let mut credential = Credential::empty(domain);
    match kind {
        b'c' => loop {
            let cookie = ask_cookie(&mut keys)?;
            credential.cookies.push(cookie);
            keys.say("Another cookie? (y, n) ")?;
            if one_of(&mut keys, b"yn")? == b'n' {
                break;
            }
        },
        b'h' => {
            let name = keys.note("Its name: ")?;
            credential.headers.push(NamedValue { name, value: hidden_value(&mut keys)? });
        }
        b'b' => {
            let username = keys.note("User name: ")?;
            let password = Secret::new(keys.hidden("Password (not shown): ")?);
            credential.basic = Some(BasicAuth { username, password });
        }
        _ => {
            let text = keys.paste("Paste it; nothing is shown. Then press Ctrl-D. ", most)?;
            return Ok(Credential::from_json(&text).map_err(VaultError::from)?);
        }
    }
    drop(keys);
    // Read again, so that what was typed is held to what holds for every document.
    Ok(Credential::from_json(credential.to_json().as_bytes()).map_err(VaultError::from)?)
}

/// A file's content, pasted.
pub fn file(most: usize) -> Result<Zeroizing<Vec<u8>>, Fault> {
    Keys::open()?.paste("Paste the file; nothing is shown. Then press Ctrl-D. ", most)
}

fn ask_domain(keys: &mut Keys) -> Result<Host, Fault> {
    loop {
        match Host::parse(keys.note("Which host? ")?.trim()) {
            Ok(domain) => return Ok(domain),
            Err(error) => keys.say(&format!("{error}\r\n"))?,
        }
    }
}

/// As most sites set the one that counts: for this host alone, over https, out of scripts' reach.
fn ask_cookie(keys: &mut Keys) -> Result<Cookie, Fault> {
    Ok(Cookie {
        name: keys.note("Its name: ")?,
        value: hidden_value(keys)?,
        domain: None,
        path: "/".to_owned(),
        expires: None,
        http_only: true,
        secure: true,
        same_site: Some(SameSite::Lax),
        priority: None,
        partition_key: None,
    })
}

fn hidden_value(keys: &mut Keys) -> Result<Value, Fault> {
    Ok(Value { text: Secret::new(keys.hidden("Its value (not shown): ")?), is_secret: true })
}

/// The next of these keys; Ctrl-C gives up.
fn one_of(keys: &mut Keys, wanted: &[u8]) -> Result<u8, Fault> {
    loop {
        match keys.next()? {
            3 | 4 | 28 => {
                keys.say("\r\n")?;
                return Err(Fault::new(ErrorCode::Cancelled, "nothing was stored")
                    .hint("Run it again when you like."));
            }
            key if wanted.contains(&key) => {
                keys.say(&format!("{}\r\n", char::from(key)))?;
                return Ok(key);
            }
            _ => {}
        }
    }
}
