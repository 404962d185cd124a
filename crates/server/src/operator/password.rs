//! Passwords: never shown, stored as argon2id.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use engine::error::Fault;

/// Shorter ones are guessed too soon.
const SHORTEST: usize = 10;
/// What is hashed has a bound.
const LONGEST: usize = 1024;
/// In KiB, passes and lanes: the second choice of RFC 9106 with one lane, about a tenth of a second.
const COST: (u32, u32, u32) = (64 * 1024, 3, 1);

/// A password in the clear. It derives nothing, so it cannot be printed, copied or serialised by accident.
pub struct Password(String);

impl Password {
    /// Any text that somebody gave as a password.
    pub fn given(text: String) -> Password {
        Password(text)
    }

    /// Whether it may become one.
    pub fn check(&self) -> Result<(), Fault> {
        let bad =
            |message: String| Err(Fault::new("bad_password", message).hint("Four or five words do well."));
        if self.0.chars().count() < SHORTEST {
            return bad(format!("a password has at least {SHORTEST} characters"));
        }
        if self.0.len() > LONGEST {
            return bad(format!("a password has at most {LONGEST} bytes"));
        }
        if self.0.chars().any(char::is_control) {
            return bad("a password is one line of text".to_owned());
        }
        Ok(())
    }

    /// The password itself, for the server that checks it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it was typed alike twice.
    pub fn is(&self, other: &Password) -> bool {
        self.0 == other.0
    }

    /// What is stored. Takes a while, on purpose.
    pub fn hash(&self) -> Result<String, Fault> {
        self.check()?;
        let hash = argon2().and_then(|argon2| argon2.hash_password(self.0.as_bytes()));
        hash.map(|hash| hash.to_string()).map_err(|error| internal(&error))
    }

    /// Whether `stored` was made of this password. `None` takes the same time, and is never right.
    pub fn fits(&self, stored: Option<&str>) -> Result<bool, Fault> {
        // Of no password: made of random bytes that were thrown away.
        const NOBODYS: &str = "$argon2id$v=19$m=65536,t=3,p=1$c3RvY2thZGUtbm9ib2R5$\
            lsEOsEEwvVZ0MEkhNqLxKJcUW3sGJqxpQ9kSiE3D6Lk";
        if self.0.len() > LONGEST {
            return Ok(false);
        }
        let parsed = PasswordHash::new(stored.unwrap_or(NOBODYS)).map_err(|error| internal(&error.into()))?;
        let right = argon2().map_err(|error| internal(&error))?.verify_password(self.0.as_bytes(), &parsed);
        Ok(right.is_ok() && stored.is_some())
    }
}

fn argon2() -> Result<Argon2<'static>, argon2::password_hash::Error> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn internal(error: &argon2::password_hash::Error) -> Fault {
    Fault::new("internal", format!("a password could not be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_and_no_other() {
        let password = Password::given("correct horse battery".to_owned());
        let stored = password.hash().unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=65536,t=3,p=1$"), "{stored}");
        assert_ne!(stored, password.hash().unwrap(), "salted");
        assert!(password.fits(Some(&stored)).unwrap());
        assert!(!password.fits(None).unwrap());
        assert!(!Password::given("correct horse batterz".to_owned()).fits(Some(&stored)).unwrap());
    }

    #[test]
    fn what_can_be_guessed_or_is_no_line_is_refused() {
        for text in ["", "short", "ninechars", "two\nlines of it", &"x".repeat(1025)] {
            let fault = Password::given(text.to_owned()).hash().unwrap_err();
            assert_eq!(crate::seen::seen(fault.code), "bad_password", "{text:?}");
        }
    }
}
