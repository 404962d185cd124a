//! The forms in which a redactor looks for one secret.

use crate::encode::{self, Alphabet, BASE64_SHIFTS, End};
use crate::secret::SHORTEST_SECRET;
use crate::view::View;
use zeroize::Zeroizing;

pub(crate) struct Form {
    pub bytes: Zeroizing<Vec<u8>>,
    /// A match of this length is masked: the whole form, or a part that is long enough to matter.
    pub window: usize,
    /// From one window to the next: a part that is longer than a window by one less than this holds one for certain.
    step: usize,
    /// Compared with the text as it is, because hardly anything is left when letters and digits alone are kept.
    pub is_literal: bool,
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
    /// Where the windows begin; the last ends where the form ends.
    pub(crate) fn window_starts(&self) -> impl Iterator<Item = usize> + use<> {
        let last = self.bytes.len().saturating_sub(self.window);
        (0..last).step_by(self.step).chain([last])
    }
}

pub(crate) fn forms_of(secret: &str) -> Vec<Form> {
    let secret = SCHEMES.iter().find_map(|scheme| secret.strip_prefix(scheme)).unwrap_or(secret);
    let mut forms = Vec::new();
    if secret.chars().count() < SHORTEST_SECRET {
        return forms;
    }
    // A value that is JSON or percent-encoded itself is shown by pages as what it means.
    for view in View::all(secret) {
        let squeezed = view.squeezed();
        if squeezed.bytes().len() >= SHORTEST_SECRET {
            add(&mut forms, Zeroizing::new(squeezed.bytes().to_vec()), (PART, 1), false);
        } else {
            add(&mut forms, Zeroizing::new(view.seen().bytes().to_vec()), (PART, 1), true);
        }
        let clear = Zeroizing::new(view.bytes().to_vec());
        let text = Zeroizing::new(String::from_utf8_lossy(&clear).into_owned());
        let [little, big] = encode::utf16(&text);
        for (bytes, width) in [(&clear, 1), (&little, 2), (&big, 2)] {
            add_encoded(&mut forms, bytes, width);
        }
    }
    forms
}

/// Base64 and hex of bytes of which `width` make a character.
fn add_encoded(forms: &mut Vec<Form>, bytes: &[u8], width: usize) {
    let part = (PART * width * 4 / 3, ENCODED_STEP * width * 4 / 3);
    for shift in BASE64_SHIFTS {
        let squeezed = squeeze(&encode::base64(bytes, shift, Alphabet::Standard, End::Inside));
        if squeezed.len() >= SHORTEST_SECRET {
            add(forms, squeezed, part, false);
            continue;
        }
        // Of a short secret too little is left without + and /, so they are compared, in both alphabets.
        for alphabet in [Alphabet::Standard, Alphabet::UrlSafe] {
            let encoded = encode::base64(bytes, shift, alphabet, End::Inside);
            add(forms, Zeroizing::new(encoded.as_bytes().to_vec()), (part.0, 1), true);
        }
    }
    let hex = Zeroizing::new(encode::hex(bytes).as_bytes().to_vec());
    add(forms, hex, (PART * width * 2, ENCODED_STEP * width * 2), false);
}

fn add(forms: &mut Vec<Form>, bytes: Zeroizing<Vec<u8>>, (part, step): (usize, usize), is_literal: bool) {
    if bytes.len() >= SHORTEST_SECRET {
        let window = part.min(bytes.len());
        forms.push(Form { bytes, window, step, is_literal });
    }
}

fn squeeze(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(View::of(text).squeezed().bytes().to_vec())
}
