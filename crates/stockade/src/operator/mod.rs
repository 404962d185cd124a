//! The people who decide: how they log in, and what they hold while they are in.

mod attempts;
mod desk;
mod password;

pub use desk::{Desk, Entry, changed};
pub use password::Password;

use crate::error::Fault;

/// An operator's name, in the form that tenants and actors have.
pub fn parse_name(name: &str) -> Result<String, policy::BadName> {
    policy::Actor::parse(name).map(|name| name.to_string())
}

/// What an operator's page sends back with every change, so that no other page can: known only to who holds the token.
pub fn form_token(token: &str) -> String {
    sign(token.as_bytes(), &[b"stockade console form"])
}

/// The HMAC-SHA256 of the parts, each with its length, as hexadecimal digits.
pub fn sign(key: &[u8], parts: &[&[u8]]) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    // An HMAC takes a key of any length, so there is nothing that can fail.
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(key) else { return String::new() };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
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
    fn signatures_tell_keys_and_parts_apart() {
        let one = sign(b"key", &[b"ab", b"c"]);
        assert_eq!(one.len(), 64);
        assert_ne!(one, sign(b"key", &[b"a", b"bc"]));
        assert_ne!(one, sign(b"kez", &[b"ab", b"c"]));
        assert!(same(&one, &one.clone()));
        for other in ["", "ab", &one[1..]] {
            assert!(!same(&one, other) && !same(other, ""), "{other}");
        }
    }
}
