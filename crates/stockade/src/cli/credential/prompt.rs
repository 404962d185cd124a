//! Prompts for a credential at the terminal, field by field; secrets are not echoed.

use crate::cli::terminal::RawTerminal;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Origin, WebUrl};
use redact::{SameSite, Secret};
use vault::{BasicAuth, Cookie, Credential, Host, NamedValue, Value, VaultError};
use zeroize::Zeroizing;

/// Prompts for the credential of a host.
pub fn prompt_credential(domain: Option<Host>, most: usize) -> Result<Credential, Fault> {
    let mut terminal = RawTerminal::open()?;
    let domain = match domain {
        Some(domain) => domain,
        None => prompt_domain(&mut terminal)?,
    };
    terminal.write(&format!(
        "What signs you in to {domain}?\r\n\
         \x20 c  a cookie\r\n\
         \x20 h  a header, such as Authorization\r\n\
         \x20 b  a user name and a password that the browser itself asks for\r\n\
         \x20 d  a whole document, to be pasted\r\n\
         Press one of them: "
    ))?;
    let kind = read_choice(&mut terminal, b"chbd")?;
    let mut credential = Credential::empty(domain);
    if kind != b'd' {
        credential.origin = prompt_origin(&mut terminal, &credential)?;
    }
    match kind {
        b'c' => loop {
            let cookie = prompt_cookie(&mut terminal, !credential.allows_plain_http())?;
            credential.cookies.push(cookie);
            terminal.write("Another cookie? (y, n) ")?;
            if read_choice(&mut terminal, b"yn")? == b'n' {
                break;
            }
        },
        b'h' => {
            let name = terminal.read_visible_line("Its name: ")?;
            credential.headers.push(NamedValue { name, value: prompt_value(&mut terminal)? });
        }
        b'b' => {
            let username = terminal.read_visible_line("User name: ")?;
            let password = Secret::new(terminal.read_hidden_line("Password (not shown): ")?);
            credential.basic = Some(BasicAuth { username, password });
        }
        _ => {
            let text = terminal.read_paste("Paste it; nothing is shown. Then press Ctrl-D. ", most)?;
            return Ok(Credential::from_json(&text).map_err(VaultError::from)?);
        }
    }
    drop(terminal);
    // Parsed again, so that typed input passes the checks of every document.
    Ok(Credential::from_json(credential.to_json().as_bytes()).map_err(VaultError::from)?)
}

/// Prompts for a file's pasted content.
pub fn prompt_file(most: usize) -> Result<Zeroizing<Vec<u8>>, Fault> {
    RawTerminal::open()?.read_paste("Paste the file; nothing is shown. Then press Ctrl-D. ", most)
}

/// Asks a question that Enter answers with yes. Ctrl-C and Ctrl-D are a no.
pub fn confirm(question: &str) -> Result<bool, Fault> {
    let mut terminal = RawTerminal::open()?;
    terminal.write(&format!("{question} [Y/n] "))?;
    loop {
        let is_yes = match terminal.read_key()? {
            b'y' | b'Y' | b'\r' | b'\n' => true,
            b'n' | b'N' | 3 | 4 | 28 => false,
            _ => continue,
        };
        terminal.write(if is_yes { "yes\r\n" } else { "no\r\n" })?;
        return Ok(is_yes);
    }
}

fn prompt_domain(terminal: &mut RawTerminal) -> Result<Host, Fault> {
    loop {
        match Host::parse(terminal.read_visible_line("Which host? ")?.trim()) {
            Ok(domain) => return Ok(domain),
            Err(error) => terminal.write(&format!("{error}\r\n"))?,
        }
    }
}

/// Prompts for the scheme and the port: the secrets go there and nowhere else.
fn prompt_origin(terminal: &mut RawTerminal, credential: &Credential) -> Result<Origin, Fault> {
    loop {
        let question = format!("Its address, with scheme and port [{}]: ", credential.origin);
        let answer = terminal.read_visible_line(&question)?;
        let answer = answer.trim().trim_end_matches('/');
        if answer.is_empty() {
            return Ok(credential.origin.clone());
        }
        match WebUrl::parse(answer) {
            Ok(url) if url.host() == credential.domain.as_str() && url.origin().as_str() == answer => {
                return Ok(url.origin());
            }
            Ok(_) => terminal.write(&format!(
                "It is scheme, host and port, such as https://{}:8443\r\n",
                credential.domain
            ))?,
            Err(error) => terminal.write(&format!("{error}\r\n"))?,
        }
    }
}

/// Prompts for a cookie with the attributes of a usual session cookie: host-only, secure, HTTP-only.
fn prompt_cookie(terminal: &mut RawTerminal, secure: bool) -> Result<Cookie, Fault> {
    Ok(Cookie {
        name: terminal.read_visible_line("Its name: ")?,
        value: prompt_value(terminal)?,
        domain: None,
        path: "/".to_owned(),
        expires: None,
        http_only: true,
        secure,
        same_site: Some(SameSite::Lax),
        priority: None,
        partition_key: None,
    })
}

fn prompt_value(terminal: &mut RawTerminal) -> Result<Value, Fault> {
    Ok(Value { text: Secret::new(terminal.read_hidden_line("Its value (not shown): ")?), is_secret: true })
}

/// Reads keys until one of `wanted`; Ctrl-C cancels.
fn read_choice(terminal: &mut RawTerminal, wanted: &[u8]) -> Result<u8, Fault> {
    loop {
        match terminal.read_key()? {
            3 | 4 | 28 => {
                terminal.write("\r\n")?;
                return Err(Fault::new(ErrorCode::Cancelled, "nothing was stored")
                    .hint("Nothing was stored. Run the command again."));
            }
            key if wanted.contains(&key) => {
                terminal.write(&format!("{}\r\n", char::from(key)))?;
                return Ok(key);
            }
            _ => {}
        }
    }
}
