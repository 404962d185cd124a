//! The forms in which one secret is looked for.

use super::view::View;
use crate::credential::SHORTEST_SECRET;
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use zeroize::Zeroizing;

pub(super) struct Form {
    pub bytes: Zeroizing<Vec<u8>>,
    /// A match of this length is masked: the whole form, or a part that is long enough to matter.
    pub enough: usize,
    /// From one window to the next: a part that is longer than `enough` by one less than this holds one for certain.
    step: usize,
    /// Compared with the text as it is, because hardly anything is left when letters and digits alone are kept.
    pub literal: bool,
}

/// A part of a secret that matters, in characters of the secret: of 12 somebody may guess the rest; and shorter ones
/// stand in every page.
const PART: usize = 12;
/// Encoded forms are many and long; of those a window begins at every third character of the secret, which keeps the
/// index small. So up to two characters at an end of an encoded part may stay.
const ENCODED_STEP: usize = 3;

/// What stands before a secret in a header and is none.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "Digest "];

impl Form {
    /// Where the windows begin, each of length `enough`: the last ends where the form ends.
    pub(super) fn windows(&self) -> impl Iterator<Item = usize> + use<> {
        let last = self.bytes.len().saturating_sub(self.enough);
        (0..last).step_by(self.step).chain([last])
    }
}

pub(super) fn of(secret: &str) -> Vec<Form> {
    let secret = SCHEMES.iter().find_map(|scheme| secret.strip_prefix(scheme)).unwrap_or(secret);
    let mut forms = Vec::new();
    if secret.chars().count() < SHORTEST_SECRET {
        return forms;
    }
    // A value that is JSON or percent-encoded itself is shown by pages as what it means.
    for view in View::all(secret) {
        let clear = Zeroizing::new(view.bytes().to_vec());
        let text = String::from_utf8_lossy(&clear);
        let (little, big): (Vec<u8>, Vec<u8>) = text
            .encode_utf16()
            .flat_map(|unit| unit.to_le_bytes().into_iter().zip(unit.to_be_bytes()))
            .unzip();
        let squeezed = view.squeezed();
        if squeezed.bytes().len() >= SHORTEST_SECRET {
            add(&mut forms, Zeroizing::new(squeezed.bytes().to_vec()), (PART, 1), false);
        } else {
            add(&mut forms, Zeroizing::new(view.seen().bytes().to_vec()), (PART, 1), true);
        }
        for (bytes, width) in [(&*clear, 1), (&Zeroizing::new(little), 2), (&Zeroizing::new(big), 2)] {
            for shift in 0..3 {
                let part = (PART * width * 4 / 3, ENCODED_STEP * width * 4 / 3);
                let encoded = base64_inside(bytes, shift);
                let squeezed = squeeze(&encoded);
                if squeezed.len() >= SHORTEST_SECRET {
                    add(&mut forms, squeezed, part, false);
                    continue;
                }
                // Of a short secret too little is left without + and /, so they are compared, in both alphabets.
                for encoded in [encoded.to_string(), encoded.replace('+', "-").replace('/', "_")] {
                    add(&mut forms, Zeroizing::new(encoded.into_bytes()), (part.0, 1), true);
                }
            }
            add(&mut forms, hex(bytes), (PART * width * 2, ENCODED_STEP * width * 2), false);
        }
    }
    forms
}

fn add(forms: &mut Vec<Form>, bytes: Zeroizing<Vec<u8>>, (part, step): (usize, usize), literal: bool) {
    if bytes.len() >= SHORTEST_SECRET {
        let enough = part.min(bytes.len());
        forms.push(Form { bytes, enough, step, literal });
    }
}

/// What base64 makes of the bytes when others stand before and after them: the characters that depend on them alone.
fn base64_inside(bytes: &[u8], shift: usize) -> Zeroizing<String> {
    let mut shifted = Zeroizing::new(vec![0; shift]);
    shifted.extend_from_slice(bytes);
    let encoded = Zeroizing::new(BASE64_STANDARD_NO_PAD.encode(&*shifted));
    let (first, end) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
    Zeroizing::new(encoded.get(first..end).unwrap_or_default().to_owned())
}

fn squeeze(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(View::of(text).squeezed().bytes().to_vec())
}

fn hex(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect())
}
