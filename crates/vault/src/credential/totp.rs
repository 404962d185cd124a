//! One-time codes for logins (RFC 6238). The seed stays on the host.

use crate::error::Malformed;
use crate::secret_tree::SecretNode;
use hmac::digest::{FixedOutput, KeyInit, Update};
use hmac::{Hmac, SimpleHmac};
use jiff::Timestamp;
use redact::Secret;
use zeroize::Zeroizing;

pub struct Totp {
    /// Base32, upper case, without blanks or padding.
    pub seed: Secret,
    pub digits: u32,
    pub period: u32,
    pub algorithm: TotpAlgorithm,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TotpAlgorithm {
    #[default]
    Sha1,
    Sha256,
    Sha512,
}

impl TotpAlgorithm {
    pub fn as_str(self) -> &'static str {
        match self {
            TotpAlgorithm::Sha1 => "SHA1",
            TotpAlgorithm::Sha256 => "SHA256",
            TotpAlgorithm::Sha512 => "SHA512",
        }
    }

    fn parse(text: &str) -> Option<TotpAlgorithm> {
        [TotpAlgorithm::Sha1, TotpAlgorithm::Sha256, TotpAlgorithm::Sha512]
            .into_iter()
            .find(|algorithm| algorithm.as_str() == text.to_ascii_uppercase().replace('-', ""))
    }
}

impl Totp {
    /// The code at a given time.
    pub fn code_at(&self, now: Timestamp) -> Secret {
        // A seed is checked when it is read, so it can be decoded; an empty key would give a code that is refused.
        let key = decode_base32(self.seed.expose_secret()).unwrap_or_default();
        let step = (now.as_second().max(0) as u64 / u64::from(self.period)).to_be_bytes();
        let hash = match self.algorithm {
            TotpAlgorithm::Sha1 => keyed::<SimpleHmac<sha1::Sha1>>(&key, &step),
            TotpAlgorithm::Sha256 => keyed::<Hmac<sha2::Sha256>>(&key, &step),
            TotpAlgorithm::Sha512 => keyed::<Hmac<sha2::Sha512>>(&key, &step),
        };
        let start = usize::from(hash.last().copied().unwrap_or(0) & 0x0f);
        let word = hash[start..start + 4].iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let code = u64::from(word & 0x7fff_ffff) % 10u64.pow(self.digits);
        Secret::new(format!("{code:0width$}", width = self.digits as usize))
    }

    /// How many seconds that code remains valid.
    pub fn seconds_left(&self, now: Timestamp) -> u32 {
        let gone = now.as_second().max(0) as u64 % u64::from(self.period);
        self.period - gone as u32
    }

    pub(crate) fn read(node: SecretNode, field: &str) -> Result<Totp, Malformed> {
        if matches!(node, SecretNode::Text(_)) {
            let text = node.text(field)?;
            return if text.starts_with("otpauth://") {
                from_uri(&text, field)
            } else {
                Totp::plain(&text, field)
            };
        }
        let mut fields = node.fields(field)?;
        let seed = fields.need("seed")?.text(&fields.path("seed"))?;
        let digits = fields.optional("digits", SecretNode::number)?;
        let period = fields.optional("period", SecretNode::number)?;
        let algorithm = fields.optional("algorithm", SecretNode::plain)?;
        fields.finish(&["seed", "digits", "period", "algorithm"])?;
        let mut totp = Totp::plain(&seed, &format!("{field}.seed"))?;
        totp.choose(digits, period, algorithm.as_deref(), field)?;
        Ok(totp)
    }

    fn plain(text: &str, field: &str) -> Result<Totp, Malformed> {
        let mut seed = Zeroizing::new(String::with_capacity(text.len()));
        seed.extend(text.chars().filter(|c| !matches!(c, ' ' | '-' | '=')).map(|c| c.to_ascii_uppercase()));
        match decode_base32(&seed) {
            Some(key) if (10..=256).contains(&key.len()) => {}
            _ => return Err(Malformed::new(field, "a seed is base32 (A to Z, 2 to 7) of 10 to 256 bytes")),
        }
        Ok(Totp { seed: Secret::new(seed), digits: 6, period: 30, algorithm: TotpAlgorithm::default() })
    }

    fn choose(
        &mut self,
        digits: Option<i64>,
        period: Option<i64>,
        algorithm: Option<&str>,
        field: &str,
    ) -> Result<(), Malformed> {
        if let Some(digits) = digits {
            let fits = u32::try_from(digits).ok().filter(|digits| (6..=8).contains(digits));
            self.digits = fits.ok_or_else(|| Malformed::new(format!("{field}.digits"), "6 to 8"))?;
        }
        if let Some(period) = period {
            let fits = u32::try_from(period).ok().filter(|period| (10..=300).contains(period));
            self.period =
                fits.ok_or_else(|| Malformed::new(format!("{field}.period"), "10 to 300 seconds"))?;
        }
        if let Some(name) = algorithm {
            self.algorithm = TotpAlgorithm::parse(name)
                .ok_or_else(|| Malformed::new(format!("{field}.algorithm"), "SHA1, SHA256 or SHA512"))?;
        }
        Ok(())
    }
}

/// What a QR code holds: `otpauth://totp/LABEL?secret=…&digits=…`.
fn from_uri(text: &str, field: &str) -> Result<Totp, Malformed> {
    let bad = |reason: &'static str| Malformed::new(field, reason);
    let (kind, query) = text["otpauth://".len()..]
        .split_once('?')
        .ok_or_else(|| bad("an otpauth address has a secret after a '?'"))?;
    if !kind.starts_with("totp/") {
        return Err(bad("only codes by time (otpauth://totp/) are made"));
    }
    let value = |name: &str| {
        query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name)).map(|(_, v)| v)
    };
    let number = |name: &str| {
        value(name).map(|v| v.parse::<i64>().map_err(|_| bad("digits and period are numbers"))).transpose()
    };
    let mut totp =
        Totp::plain(value("secret").ok_or_else(|| bad("an otpauth address needs a secret"))?, field)?;
    totp.choose(number("digits")?, number("period")?, value("algorithm"), field)?;
    Ok(totp)
}

fn keyed<M: KeyInit + Update + FixedOutput>(key: &[u8], step: &[u8]) -> Zeroizing<Vec<u8>> {
    match M::new_from_slice(key) {
        Ok(mac) => Zeroizing::new(mac.chain(step).finalize_fixed().to_vec()),
        // HMAC takes keys of every length.
        Err(_) => Zeroizing::new(vec![0; 20]),
    }
}

fn decode_base32(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() * 5 / 8 + 1));
    let (mut bits, mut held) = (0u32, 0u32);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'2'..=b'7' => letter - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xfff;
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}
