//! The people who decide: how they log in, and what they hold while they are in.

mod attempts;
mod desk;
mod password;
mod teller;
pub mod webhook;

pub use desk::{Desk, Entry, SLOW, changed};
pub use password::Password;
pub use teller::Teller;

use engine::error::Fault;

/// An operator's name, in the form that tenants and actors have.
pub fn parse_name(name: &str) -> Result<String, policy::InvalidName> {
    policy::Actor::parse(name).map(|name| name.to_string())
}

/// What an operator's page sends back with every change, so that no other page can: known only to who holds the token.
pub fn form_token(token: &str) -> String {
    sign(token.as_bytes(), b"stockade console form")
}

/// The HMAC-SHA256 of a message, as hexadecimal digits.
pub fn sign(key: &[u8], message: &[u8]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    // An HMAC takes a key of any length; an empty signature fits nothing.
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(message);
    hex::encode(mac.finalize().into_bytes())
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub fn same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0 && !one.is_empty()
}

/// For callers who are no operator.
pub fn login_required() -> Fault {
    Fault::new("login_required", "an operator has to be logged in here")
        .hint("Open /console and log in, or use `stockade approvals`, which asks for the password.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hmac_sha256_and_compared_whole() {
        // RFC 4231, test case 2.
        let one = sign(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(one, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(same(&one, &one.clone()));
        for other in ["", "5bdc", &one[1..], &sign(b"Jeff", b"what do ya want for nothing?")] {
            assert!(!same(&one, other) && !same(other, ""), "{other}");
        }
    }
}
