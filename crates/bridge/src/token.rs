//! Bridge tokens: short-lived, signed, single-use permission to call one bridge.
//!
//! The control plane signs and the bridge holds the public half only, so a jail has nothing to steal.
//! A token is one line of unpadded base64url over these bytes, and there is no second spelling of it:
//!
//! ```text
//! version 1 · expires_at_ms 8, big endian · nonce 16 · scope length 1, scope · target length 1, target · signature 64
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest a token may live.
pub const MAX_LIFETIME: Duration = Duration::from_secs(60);
/// Both ends read one machine's clock; this much is forgiven for a step of it between minting and checking.
pub const CLOCK_SKEW: Duration = Duration::from_secs(1);
/// How many used nonces a bridge remembers. Expired ones are forgotten when it is full; if none is
/// expired, a token is refused: a control plane uses a handful a minute.
pub const NONCE_MEMORY: usize = 4096;

const VERSION: u8 = 1;
const NONCE_LENGTH: usize = 16;
const SIGNATURE_LENGTH: usize = 64;
/// The fixed part, two names of up to 255 bytes with their lengths, and the signature.
const MAX_LENGTH: usize = 1 + 8 + NONCE_LENGTH + 2 * 256 + SIGNATURE_LENGTH;
/// Keeps a signature made for a token from meaning anything elsewhere.
const CONTEXT: &[u8] = b"stockade bridge token\0";

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The tenant and actor whose jail it is.
    pub scope: String,
    /// The jail.
    pub target: String,
    pub expires_at_ms: u64,
    pub nonce: [u8; NONCE_LENGTH],
}

/// Why a token was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no token was given")]
    Missing,
    #[error("the token is not in the one accepted form")]
    Malformed,
    #[error("the token was not signed by this control plane")]
    BadSignature,
    #[error("the token is for another scope")]
    WrongScope,
    #[error("the token is for another jail")]
    WrongTarget,
    #[error("the token has expired")]
    Expired,
    #[error("the token would live longer than a token may")]
    TooLong,
    #[error("the token was used before")]
    Replayed,
    #[error("too many tokens are in use at once")]
    MemoryFull,
}

impl Refusal {
    /// A stable name for logs, replies and close frames.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::Missing => "token_missing",
            Refusal::Malformed => "token_malformed",
            Refusal::BadSignature => "token_bad_signature",
            Refusal::WrongScope => "token_wrong_scope",
            Refusal::WrongTarget => "token_wrong_target",
            Refusal::Expired => "token_expired",
            Refusal::TooLong => "token_too_long",
            Refusal::Replayed => "token_replayed",
            Refusal::MemoryFull => "token_memory_full",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("a token lives at most {} s, not {} ms", MAX_LIFETIME.as_secs(), asked.as_millis())]
    Lifetime { asked: Duration },
    #[error("a scope or target has 1 to 255 bytes, not {length}")]
    NameLength { length: usize },
    #[error("the system gave no random bytes")]
    Random { source: getrandom::Error },
    #[error("not an ed25519 public key in base64url")]
    PublicKey,
}

/// The private half: one per control plane, made at its start, never written anywhere.
///
/// It has no `Debug`, `Clone` or `Serialize`, and its bytes are wiped when it is dropped.
pub struct Signer {
    key: SigningKey,
}

impl Signer {
    pub fn generate() -> Result<Signer, TokenError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|source| TokenError::Random { source })?;
        Ok(Signer { key: SigningKey::from_bytes(&seed) })
    }

    /// The public half, in the form that [`Verifier::new`] and the bridge's command line take.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.verifying_key().as_bytes())
    }

    pub fn mint(&self, scope: &str, target: &str, lifetime: Duration) -> Result<String, TokenError> {
        self.mint_at(now_ms(), scope, target, lifetime)
    }

    /// As [`Signer::mint`], at a moment of the caller's choice.
    pub fn mint_at(
        &self,
        now_ms: u64,
        scope: &str,
        target: &str,
        lifetime: Duration,
    ) -> Result<String, TokenError> {
        if lifetime > MAX_LIFETIME {
            return Err(TokenError::Lifetime { asked: lifetime });
        }
        let mut nonce = [0; NONCE_LENGTH];
        getrandom::fill(&mut nonce).map_err(|source| TokenError::Random { source })?;
        let expires_at_ms = now_ms.saturating_add(millis(lifetime));
        self.sign(&Claims { scope: scope.to_owned(), target: target.to_owned(), expires_at_ms, nonce })
    }

    fn sign(&self, claims: &Claims) -> Result<String, TokenError> {
        let mut bytes = vec![VERSION];
        bytes.extend(claims.expires_at_ms.to_be_bytes());
        bytes.extend(claims.nonce);
        for name in [&claims.scope, &claims.target] {
            let length = u8::try_from(name.len()).ok().filter(|&length| length > 0);
            bytes.push(length.ok_or(TokenError::NameLength { length: name.len() })?);
            bytes.extend(name.as_bytes());
        }
        let signature = self.key.sign(&[CONTEXT, &bytes].concat());
        bytes.extend(signature.to_bytes());
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// The public half, and what it takes to refuse a token twice.
pub struct Verifier {
    key: VerifyingKey,
    scope: String,
    target: String,
    used: HashMap<[u8; NONCE_LENGTH], u64>,
}

impl Verifier {
    pub fn new(public_key: &str, scope: &str, target: &str) -> Result<Verifier, TokenError> {
        let bytes = URL_SAFE_NO_PAD.decode(public_key).ok().and_then(|bytes| bytes.try_into().ok());
        let key = bytes.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        // A weak key would let one signature fit many messages.
        let key = key.filter(|key| !key.is_weak()).ok_or(TokenError::PublicKey)?;
        Ok(Verifier { key, scope: scope.to_owned(), target: target.to_owned(), used: HashMap::new() })
    }

    /// Checks a token and uses it up: the same one is refused from then on.
    pub fn accept(&mut self, token: &[u8]) -> Result<Claims, Refusal> {
        self.accept_at(now_ms(), token)
    }

    /// As [`Verifier::accept`], at a moment of the caller's choice.
    pub fn accept_at(&mut self, now_ms: u64, token: &[u8]) -> Result<Claims, Refusal> {
        let claims = self.read_signed(token)?;
        if claims.scope != self.scope {
            return Err(Refusal::WrongScope);
        }
        if claims.target != self.target {
            return Err(Refusal::WrongTarget);
        }
        if claims.expires_at_ms <= now_ms {
            return Err(Refusal::Expired);
        }
        if claims.expires_at_ms - now_ms > millis(MAX_LIFETIME + CLOCK_SKEW) {
            return Err(Refusal::TooLong);
        }
        if self.used.contains_key(&claims.nonce) {
            return Err(Refusal::Replayed);
        }
        if self.used.len() >= NONCE_MEMORY {
            self.used.retain(|_, &mut expires_at_ms| expires_at_ms > now_ms);
        }
        if self.used.len() >= NONCE_MEMORY {
            return Err(Refusal::MemoryFull);
        }
        self.used.insert(claims.nonce, claims.expires_at_ms);
        Ok(claims)
    }

    /// The signature comes before every field: nothing unsigned is interpreted.
    fn read_signed(&self, token: &[u8]) -> Result<Claims, Refusal> {
        if token.is_empty() {
            return Err(Refusal::Missing);
        }
        // Checked before decoding, so that a long line costs nothing.
        if token.len() > MAX_LENGTH.div_ceil(3) * 4 {
            return Err(Refusal::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| Refusal::Malformed)?;
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE_LENGTH>().ok_or(Refusal::Malformed)?;
        let signature = Signature::from_bytes(signature);
        self.key.verify_strict(&[CONTEXT, signed].concat(), &signature).map_err(|_| Refusal::BadSignature)?;
        read_claims(signed).ok_or(Refusal::Malformed)
    }
}

fn read_claims(bytes: &[u8]) -> Option<Claims> {
    let (&version, rest) = bytes.split_first()?;
    if version != VERSION {
        return None;
    }
    let (expires_at_ms, rest) = rest.split_first_chunk()?;
    let (&nonce, rest) = rest.split_first_chunk()?;
    let (scope, rest) = read_name(rest)?;
    let (target, rest) = read_name(rest)?;
    let claims = Claims { scope, target, expires_at_ms: u64::from_be_bytes(*expires_at_ms), nonce };
    rest.is_empty().then_some(claims)
}

fn read_name(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(length))?;
    let name = String::from_utf8(name.to_vec()).ok()?;
    (!name.is_empty()).then_some((name, rest))
}

/// Milliseconds of the system clock. A clock before 1970 reads as zero, at which no token has expired
/// but each lives too long: it fails closed.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
