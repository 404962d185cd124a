//! How pages write out a secret that they do not write as it is.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use std::fmt::Write;
use zeroize::Zeroizing;

/// A shorter one is in too many texts by chance.
const SHORTEST: usize = 8;

/// The secret itself, in a form's query, in hex, and in base64 wherever in a longer text it stands.
pub(super) fn of(secret: &str) -> Vec<Zeroizing<String>> {
    let mut forms = vec![Zeroizing::new(secret.to_owned())];
    if secret.contains(char::is_whitespace) {
        forms.push(Zeroizing::new(secret.replace(char::is_whitespace, "+")));
    }
    let mut encoded = vec![hex(secret)];
    for before in 0..3 {
        // Every three bytes are four characters, so there are three ways to begin within them.
        let mut bytes = Zeroizing::new(Vec::with_capacity(before + secret.len()));
        bytes.resize(before, 0);
        bytes.extend_from_slice(secret.as_bytes());
        for engine in [&BASE64_STANDARD, &BASE64_URL_SAFE] {
            let whole = Zeroizing::new(engine.encode(&bytes));
            // What is only partly of the secret depends on what is around it.
            let (begin, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
            encoded.push(Zeroizing::new(whole[begin..].to_owned()));
            encoded.push(Zeroizing::new(whole[begin..end.max(begin)].to_owned()));
        }
    }
    forms.extend(encoded.into_iter().filter(|form| form.len() >= SHORTEST));
    forms
}

fn hex(secret: &str) -> Zeroizing<String> {
    let mut hex = Zeroizing::new(String::with_capacity(secret.len() * 2));
    for byte in secret.bytes() {
        // A string takes everything.
        if write!(hex, "{byte:02x}").is_err() {
            break;
        }
    }
    hex
}
