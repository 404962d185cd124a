//! Webhook signatures: requests and verdicts are signed with a shared secret, and valid once and for a minute.
//!
//! `HMAC-SHA256(secret, "v1.<ask|answer>.<seconds>.<nonce>.<body>")`, in hexadecimal digits. The direction is signed, so
//! that an outgoing message cannot be replayed as a verdict.

use crate::operator::{constant_time_eq, hmac_sha256_hex};
use engine::error::Fault;
use error_code::ErrorCode;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use url::Url;
use zeroize::Zeroizing;

pub const TIME_HEADER: &str = "x-stockade-timestamp";
pub const NONCE_HEADER: &str = "x-stockade-nonce";
pub const SIGNATURE_HEADER: &str = "x-stockade-signature";

/// How far a message's timestamp may be from our clock, in seconds.
const MAX_CLOCK_SKEW: i64 = 60;
/// Remembered nonces. Only a holder of the secret can fill the cache, and then has to wait.
const MAX_NONCES: usize = 4096;
const MIN_SECRET_BYTES: usize = 32;
const MAX_SECRET_BYTES: u64 = 4096;

/// Who sends a message: we ask, the program answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ask,
    Answer,
}

/// The shared secret. It derives nothing, so it cannot be printed or serialised by accident, and it is wiped when it is
/// dropped.
pub struct WebhookSecret(Zeroizing<Vec<u8>>);

impl WebhookSecret {
    #[cfg(test)]
    pub fn for_tests() -> WebhookSecret {
        WebhookSecret(Zeroizing::new(b"0123456789abcdef0123456789abcdef".to_vec()))
    }

    /// Reads the secret from a file that only the user running Stockade can read.
    pub fn read(path: &Path) -> Result<WebhookSecret, Fault> {
        let secret = read_private_file(path)?;
        if secret.len() < MIN_SECRET_BYTES {
            return Err(unsafe_file(path, &format!("a secret has at least {MIN_SECRET_BYTES} characters")));
        }
        Ok(WebhookSecret(secret))
    }

    /// Signs one message.
    pub fn sign(&self, direction: Direction, time: i64, nonce: &str, body: &[u8]) -> String {
        let direction = match direction {
            Direction::Ask => "ask",
            Direction::Answer => "answer",
        };
        let mut message = format!("v1.{direction}.{time}.{nonce}.").into_bytes();
        message.extend_from_slice(body);
        hmac_sha256_hex(&self.0, &message)
    }
}

/// Reads an address from a file that only the user running Stockade can read: those of chat services are secrets.
pub fn read_address(path: &Path) -> Result<Url, Fault> {
    let text = read_private_file(path)?;
    let url = std::str::from_utf8(&text).ok().and_then(|text| Url::parse(text).ok());
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    // What is in the file is a secret, so no message quotes it.
    url.ok_or_else(|| unsafe_file(path, "it holds no http:// or https:// address"))
}

/// The content without blanks around it.
fn read_private_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Fault> {
    let unreadable = |error: std::io::Error| unsafe_file(path, &error.to_string());
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(unsafe_file(path, "others may read this secret; its mode is to be 0600"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_file(path, "this secret is another user's"));
    }
    if !metadata.is_file() || metadata.len() > MAX_SECRET_BYTES {
        return Err(unsafe_file(path, "this is not a file with a secret"));
    }
    let text = Zeroizing::new(std::fs::read(path).map_err(unreadable)?);
    Ok(Zeroizing::new(text.trim_ascii().to_vec()))
}

fn unsafe_file(path: &Path, why: &str) -> Fault {
    Fault::outside_sessions(ErrorCode::WebhookSecret, format!("{}: {why}", path.display())).hint(
        "A secret to sign with: (umask 077; head -c 32 /dev/urandom | base64 > FILE). The file belongs to the user that runs Stockade.",
    )
}

/// A signed message as received.
pub struct SignedMessage<'a> {
    pub time: &'a str,
    pub nonce: &'a str,
    pub signature: &'a str,
    pub body: &'a [u8],
}

/// Nonces of messages that have not expired.
#[derive(Default)]
pub struct NonceCache(Mutex<HashMap<String, i64>>);

impl NonceCache {
    /// Verifies that a message is signed, recent and new, and uses up its nonce.
    pub fn check(&self, secret: &WebhookSecret, message: &SignedMessage, now: i64) -> Result<(), Fault> {
        let refused = |why: &'static str| {
            Err(Fault::new(ErrorCode::WebhookRefused, why)
                .hint("Sign \"v1.answer.<seconds>.<nonce>.<body>\" as docs/operators.md says, with a new nonce each time."))
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let SignedMessage { time, nonce, signature, body } = message;
        let Ok(time) = time.parse::<i64>() else { return refused("the message has no time") };
        if !(16..=64).contains(&nonce.len()) || !nonce.chars().all(plain) {
            return refused("a nonce is 16 to 64 letters, digits, - and _");
        }
        if !constant_time_eq(&secret.sign(Direction::Answer, time, nonce, body), signature) {
            return refused("the signature is wrong");
        }
        if time.saturating_sub(now).saturating_abs() > MAX_CLOCK_SKEW {
            return refused("the time of the message is not current");
        }
        let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.retain(|_, until| *until >= now);
        if nonces.contains_key(*nonce) {
            return refused("the message was sent before");
        }
        if nonces.len() >= MAX_NONCES {
            return Err(Fault::new(ErrorCode::WebhookBusy, "too many answers came within two minutes")
                .hint("Send them again later.")
                .retryable());
        }
        nonces.insert((*nonce).to_owned(), time + MAX_CLOCK_SKEW);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn secret() -> WebhookSecret {
        WebhookSecret::for_tests()
    }

    fn check(
        nonces: &NonceCache,
        direction: Direction,
        nonce: &str,
        time: i64,
        now: i64,
        body: &str,
    ) -> String {
        let signature = secret().sign(direction, time, nonce, b"body");
        let time = time.to_string();
        let message = SignedMessage { time: &time, nonce, signature: &signature, body: body.as_bytes() };
        match nonces.check(&secret(), &message, now) {
            Ok(()) => "ok".to_owned(),
            Err(fault) => crate::seen::seen(format!("{}", fault.code)),
        }
    }

    #[test]
    fn a_verdict_is_valid_once_within_its_minute_and_unchanged() {
        let nonces = NonceCache::default();
        let nonce = "abcdefgh01234567";
        for (direction, nonce, time, now, body, expected) in [
            (Direction::Answer, nonce, 1000, 1000, "body", "ok"),
            (Direction::Answer, nonce, 1000, 1001, "body", "webhook_refused"),
            (Direction::Answer, "another-nonce-01", 1000, 1001, "changed", "webhook_refused"),
            (Direction::Ask, "another-nonce-02", 1000, 1001, "body", "webhook_refused"),
            (Direction::Answer, "another-nonce-03", 1000, 1061, "body", "webhook_refused"),
            (Direction::Answer, "another-nonce-04", 1100, 1039, "body", "webhook_refused"),
            (Direction::Answer, "short", 1000, 1000, "body", "webhook_refused"),
            (Direction::Answer, "another.nonce.05", 1000, 1000, "body", "webhook_refused"),
            (Direction::Answer, "another-nonce-06", 1060, 1000, "body", "ok"),
        ] {
            assert_eq!(check(&nonces, direction, nonce, time, now, body), expected, "{nonce} {time} {now}");
        }
    }

    #[test]
    fn remembered_nonces_are_bounded_and_expire() {
        let nonces = NonceCache::default();
        for number in 0..MAX_NONCES {
            assert_eq!(
                check(&nonces, Direction::Answer, &format!("nonce-nonce-{number:05}"), 1000, 1000, "body"),
                "ok"
            );
        }
        assert_eq!(
            check(&nonces, Direction::Answer, "nonce-nonce-one-more", 1000, 1000, "body"),
            "webhook_busy"
        );
        assert_eq!(check(&nonces, Direction::Answer, "nonce-nonce-one-more", 1061, 1061, "body"), "ok");
        assert_eq!(nonces.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_secret_file_is_private_and_long_enough() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        for (text, mode, fits) in [
            ("0123456789abcdef0123456789abcdef\n", 0o600, true),
            ("0123456789abcdef0123456789abcdef\n", 0o640, false),
            ("short\n", 0o600, false),
        ] {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let read =
                WebhookSecret::read(&file).map_err(|fault| crate::seen::seen(format!("{}", fault.code)));
            assert_eq!(read.is_ok(), fits, "{text} {mode:o}");
            assert!(read.is_ok() || read.err().as_deref() == Some("webhook_secret"));
        }
        assert!(
            WebhookSecret::read(folder.path()).is_err()
                && WebhookSecret::read(&folder.path().join("none")).is_err()
        );
    }
}
