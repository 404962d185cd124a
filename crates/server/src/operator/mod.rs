//! Operator authentication: passwords, login sessions and webhook signatures.

mod login_rate_limit;
mod operator_auth;
mod password;
mod terminal_logins;
pub mod webhook;
mod webhook_message;
mod webhook_notifier;

pub use operator_auth::{FAILED_LOGIN_DELAY, LoginChannel, OperatorAuth, record_operator_event};
pub use password::Password;
pub use terminal_logins::{TERMINAL_LOGIN_LIFETIME, TerminalLogins, TerminalSession, terminal_session};
pub use webhook_notifier::WebhookNotifier;

use engine::error::Fault;
use error_code::ErrorCode;

/// Parses an operator's name, which has the same form as a tenant's or an actor's.
pub fn parse_name(name: &str) -> Result<String, policy::InvalidName> {
    policy::Actor::parse(name).map(|name| name.to_string())
}

/// The anti-forgery token of a login session's forms: only the holder of the session token can compute it.
pub fn form_token(token: &str) -> String {
    hmac_sha256_hex(token.as_bytes(), b"stockade console form")
}

/// The HMAC-SHA256 of a message, as hexadecimal digits.
pub fn hmac_sha256_hex(key: &[u8], message: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    // An HMAC takes a key of any length, so this cannot fail; an empty signature matches nothing.
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(message);
    hex::encode(mac.finalize().into_bytes())
}

/// Compares two texts in a time that does not depend on where they differ.
pub fn constant_time_eq(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0 && !one.is_empty()
}

/// The fault for callers without an operator's login.
pub fn login_required() -> Fault {
    Fault::new(ErrorCode::LoginRequired, "this needs a logged-in operator")
        .hint("Open /console and log in, or use `stockade approvals`, which asks for the password.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hmac_sha256_and_compared_whole() {
        // RFC 4231, test case 2.
        let one = hmac_sha256_hex(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(one, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(constant_time_eq(&one, &one.clone()));
        for other in ["", "5bdc", &one[1..], &hmac_sha256_hex(b"Jeff", b"what do ya want for nothing?")] {
            assert!(!constant_time_eq(&one, other) && !constant_time_eq(other, ""), "{other}");
        }
    }
}
