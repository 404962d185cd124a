//! The forms in which a redactor looks for one secret. Each is compared as a whole.

use crate::encode::{self, Alphabet, BASE32_SHIFTS, BASE64_SHIFTS};
use crate::value_structure::leaves_of;
use crate::view::View;
use zeroize::Zeroizing;

/// A value with fewer letters and digits is not compared: a reply that differs for it would confirm guesses. Without
/// capitals, 12 of them are 62 bits.
pub const SHORTEST_COMPARED: usize = 12;

/// What stands before a secret in a header and is none.
const SCHEMES: [&str; 4] = ["Bearer ", "Basic ", "Token ", "Digest "];

/// Letters and digits alone, in lower case. None if the secret is too short to be compared.
pub(crate) fn forms_of(secret: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let secret = SCHEMES.iter().find_map(|scheme| secret.strip_prefix(scheme)).unwrap_or(secret);
    let mut forms = Vec::new();
    // A stored document is shown by pages as the tokens in it, and an escaped value as what it means.
    for value in leaves_of(secret).iter().map(|leaf| leaf.as_str()).chain([secret]) {
        for view in View::all(value) {
            let squeezed = view.squeezed();
            if squeezed.characters().characters.len() < SHORTEST_COMPARED {
                continue;
            }
            add(&mut forms, Zeroizing::new(squeezed.bytes().to_vec()));
            let clear = Zeroizing::new(view.bytes().to_vec());
            let text = Zeroizing::new(String::from_utf8_lossy(&clear).into_owned());
            let reversed: Zeroizing<String> = Zeroizing::new(text.chars().rev().collect());
            add(&mut forms, squeeze(&reversed));
            // Lists of character codes: `83, 105`, `0x53 0x69`.
            add(&mut forms, squeeze(&encode::codes(&text, "", |code| code.to_string())));
            add(&mut forms, squeeze(&encode::codes(&text, "", |code| format!("0x{code:02x}"))));
            for shift in BASE32_SHIFTS {
                add(&mut forms, squeeze(&encode::base32(&clear, shift)));
            }
            let [little, big] = encode::utf16(&text);
            for bytes in [&clear, &little, &big] {
                for shift in BASE64_SHIFTS {
                    add(&mut forms, squeeze(&encode::base64(bytes, shift, Alphabet::Standard)));
                }
                add(&mut forms, Zeroizing::new(encode::hex(bytes).as_bytes().to_vec()));
            }
        }
    }
    forms
}

fn add(forms: &mut Vec<Zeroizing<Vec<u8>>>, form: Zeroizing<Vec<u8>>) {
    if form.len() >= SHORTEST_COMPARED && !forms.contains(&form) {
        forms.push(form);
    }
}

fn squeeze(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(View::of(text).squeezed().bytes().to_vec())
}
