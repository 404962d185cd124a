//! Passwords: never shown, stored as argon2id.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use engine::error::Fault;
use error_code::ErrorCode;
use redact::Secret;

/// Shorter passwords are too easy to guess.
const SHORTEST: usize = 10;
/// Bounds the work of hashing.
const LONGEST: usize = 1024;
/// Memory in KiB, passes and lanes: RFC 9106's second recommendation with one lane, about a tenth of a second.
const COST: (u32, u32, u32) = (64 * 1024, 3, 1);

/// A password in the clear. It derives nothing, so it cannot be printed, copied or serialised by accident, and it is wiped
/// when it is dropped.
pub struct Password(Secret);

impl From<Secret> for Password {
    fn from(secret: Secret) -> Password {
        Password(secret)
    }
}

impl Password {
    /// Wraps text that somebody entered, valid or not.
    pub fn given(text: String) -> Password {
        Password(Secret::new(text))
    }

    /// Checks that it may be set as a password.
    pub fn check(&self) -> Result<(), Fault> {
        let bad = |message: String| {
            Err(Fault::outside_sessions(ErrorCode::BadPassword, message)
                .hint("Choose a longer one; four or five words are good."))
        };
        if self.expose().chars().count() < SHORTEST {
            return bad(format!("a password has at least {SHORTEST} characters"));
        }
        if self.expose().len() > LONGEST {
            return bad(format!("a password has at most {LONGEST} bytes"));
        }
        if self.expose().chars().any(char::is_control) {
            return bad("a password is one line of text".to_owned());
        }
        Ok(())
    }

    /// The password itself, for the server that checks it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Compares the two entries of a new password.
    pub fn is(&self, other: &Password) -> bool {
        self.expose() == other.expose()
    }

    /// The hash to store. Slow on purpose.
    pub fn hash(&self) -> Result<String, Fault> {
        self.check()?;
        let hash = argon2().and_then(|argon2| argon2.hash_password(self.expose().as_bytes()));
        hash.map(|hash| hash.to_string()).map_err(|error| internal(&error))
    }

    /// Verifies the password against a stored hash. `None` takes the same time and never matches.
    pub fn fits(&self, stored: Option<&str>) -> Result<bool, Fault> {
        // A hash of discarded random bytes, which no password matches.
        const DUMMY_HASH: &str = "$argon2id$v=19$m=65536,t=3,p=1$c3RvY2thZGUtbm9ib2R5$\
            lsEOsEEwvVZ0MEkhNqLxKJcUW3sGJqxpQ9kSiE3D6Lk";
        if self.expose().len() > LONGEST {
            return Ok(false);
        }
        let parsed =
            PasswordHash::new(stored.unwrap_or(DUMMY_HASH)).map_err(|error| internal(&error.into()))?;
        let right =
            argon2().map_err(|error| internal(&error))?.verify_password(self.expose().as_bytes(), &parsed);
        Ok(right.is_ok() && stored.is_some())
    }
}

fn argon2() -> Result<Argon2<'static>, argon2::password_hash::Error> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn internal(error: &argon2::password_hash::Error) -> Fault {
    Fault::outside_sessions(ErrorCode::Internal, format!("a password could not be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_matches_its_own_hash_and_no_other() {
        let password = Password::given("correct horse battery".to_owned());
        let stored = password.hash().unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=65536,t=3,p=1$"), "{stored}");
        assert_ne!(stored, password.hash().unwrap(), "salted");
        assert!(password.fits(Some(&stored)).unwrap());
        assert!(!password.fits(None).unwrap());
        assert!(!Password::given("correct horse batterz".to_owned()).fits(Some(&stored)).unwrap());
    }

    #[test]
    fn short_long_and_multi_line_passwords_are_refused() {
        for text in ["", "short", "ninechars", "two\nlines of it", &"x".repeat(1025)] {
            let fault = Password::given(text.to_owned()).hash().unwrap_err();
            assert_eq!(crate::seen::seen(fault.code.to_string()), "bad_password", "{text:?}");
        }
    }
}
