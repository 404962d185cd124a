//! The encoded forms in which a value and its replacement are swapped, pair by pair and equally long.

use crate::encode::{self, Alphabet, BASE64_SHIFTS};
use crate::swap_escapes::{
    FULL_ESCAPES, PERCENT_ESCAPES, RARE_ESCAPES, USUAL_ESCAPES, escaped, json_plain, percent_component,
};
use crate::value_structure::{is_searchable, leaves_of};
use base64::alphabet;
use zeroize::Zeroizing;

/// Forms that escape every character are up to six times as long. Of a longer value only the usual ones are looked for.
const MOST_FULLY_ESCAPED: usize = 1024;
/// Forms that hardly any program writes are looked for of short values, which are the ones that people show.
const MOST_RARELY_WRITTEN: usize = 128;
/// Lengths at which base64 is broken into lines, by MIME and by PEM.
const LINE_LENGTHS: [usize; 2] = [76, 64];
/// A shorter name or value is found beside others by chance.
const SHORTEST_NAME: usize = 3;
const SHORTEST_NAMED_VALUE: usize = 4;

/// One form to find and what replaces it.
pub(crate) struct SwapForm {
    pub find: Zeroizing<Vec<u8>>,
    pub put: Zeroizing<Vec<u8>>,
    /// The base64 character before `find`, of which some bits are the value's.
    pub lead: Option<SharedCharacter>,
    /// The base64 character after it.
    pub trail: Option<SharedCharacter>,
}

/// A character of base64 whose six bits belong to the value in part, and in part to its neighbour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedCharacter {
    /// The value's bits.
    mask: u8,
    find: u8,
    put: u8,
    url_safe: bool,
}

impl SharedCharacter {
    /// Whether the value's bits are in the character.
    pub(crate) fn matches(self, byte: u8) -> bool {
        sextet_of(byte).is_some_and(|sextet| sextet & self.mask == self.find)
    }

    /// Replaces the value's bits in `out`, and leaves its neighbour's. `found` is the character as it came.
    pub(crate) fn write(self, found: u8, out: &mut u8) {
        // A character says which alphabet it is of, unless it is of both.
        let url_safe = self.url_safe && !matches!(found, b'+' | b'/') || matches!(found, b'-' | b'_');
        if let Some(sextet) = sextet_of(*out) {
            *out = character_of(sextet & !self.mask | self.put, url_safe);
        }
    }

    /// Every character that it can be.
    pub(crate) fn characters(self) -> impl Iterator<Item = u8> {
        let standard = alphabet::STANDARD.as_str().bytes();
        standard.chain(*b"-_").filter(move |byte| self.matches(*byte))
    }
}

/// Which forms are looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormSet {
    /// Those that programs write by default.
    Usual,
    /// Also those in which every character is written as a number or an escape.
    All,
}

/// A short value where it stands beside its name: as a cookie, in a query, in JSON. Alone it would be found by chance.
pub(crate) fn named_forms(name: &str, find: &str, put: &str) -> Vec<SwapForm> {
    let is_too_short = |text: &str, least: usize| text.chars().count() < least;
    if is_searchable(find) || is_too_short(name, SHORTEST_NAME) || is_too_short(find, SHORTEST_NAMED_VALUE) {
        return Vec::new();
    }
    let mut forms = Forms::default();
    for (before, after) in [
        (format!("{name}="), ""),
        (format!("{name}%3D"), ""),
        (format!("{name}%3d"), ""),
        (format!("{name}: "), ""),
        (format!("\"{name}\":\""), "\""),
        (format!("\"{name}\": \""), "\""),
        (format!("'{name}': '"), "'"),
        (format!("&quot;{name}&quot;:&quot;"), "&quot;"),
        (format!("&quot;{name}&quot;: &quot;"), "&quot;"),
        (format!("&#34;{name}&#34;:&#34;"), "&#34;"),
        (format!("\\\"{name}\\\":\\\""), "\\\""),
    ] {
        let whole = |value: &str| Zeroizing::new(format!("{before}{value}{after}"));
        forms.add(whole(find), whole(put));
    }
    forms.forms
}

/// Every form of the value, with the same form of the other one. A value that is too short for a search has none.
pub(crate) fn swap_forms(find: &str, put: &str, set: FormSet) -> Vec<SwapForm> {
    let (mut finds, mut puts) = (leaves_of(find), leaves_of(put));
    let are_alike = finds.len() == puts.len() && finds.iter().zip(&puts).all(|(f, p)| f.len() == p.len());
    if !are_alike || finds.is_empty() || (finds.len() == 1 && *finds[0] != *find) {
        if !are_alike {
            finds.clear();
            puts.clear();
        }
        finds.push(Zeroizing::new(find.to_owned()));
        puts.push(Zeroizing::new(put.to_owned()));
    }
    let mut forms = Forms::default();
    for (find, put) in finds.iter().zip(&puts) {
        if is_searchable(find) && **find != **put {
            forms.add_all(find, put, set);
        }
    }
    forms.forms
}

#[derive(Default)]
struct Forms {
    forms: Vec<SwapForm>,
    /// How many there were before those of the value at hand.
    before: usize,
}

impl Forms {
    fn add_all(&mut self, find: &str, put: &str, set: FormSet) {
        self.before = self.forms.len();
        let is_full = set == FormSet::All && find.len() <= MOST_FULLY_ESCAPED;
        let is_rare = is_full && find.len() <= MOST_RARELY_WRITTEN;
        let full = if is_full { FULL_ESCAPES } else { &[] };
        let rare = if is_rare { RARE_ESCAPES } else { &[] };
        for escape in USUAL_ESCAPES.iter().chain(full).chain(rare) {
            self.add(escaped(find, *escape), escaped(put, *escape));
        }
        let (json, json_put) = (escaped(find, json_plain), escaped(put, json_plain));
        self.add(escaped(&json, json_plain), escaped(&json_put, json_plain));
        for escape in &USUAL_ESCAPES[PERCENT_ESCAPES] {
            let twice = |text: &str| Zeroizing::new(escaped(text, *escape).replace('%', "%25"));
            self.add(twice(find), twice(put));
        }
        for upper in [false, true] {
            let case =
                |text: Zeroizing<String>| if upper { Zeroizing::new(text.to_uppercase()) } else { text };
            self.add(case(encode::hex(find.as_bytes())), case(encode::hex(put.as_bytes())));
        }
        for (find, put) in encode::utf16(find).iter().zip(&encode::utf16(put)) {
            self.add_form(find, put, None, None);
        }
        // A page that shows a name in capitals shows the value so, and names of headers are in lower case.
        self.add(find.to_ascii_uppercase().into(), put.to_ascii_uppercase().into());
        self.add(find.to_ascii_lowercase().into(), put.to_ascii_lowercase().into());
        let reversed = |text: &str| Zeroizing::new(text.chars().rev().collect::<String>());
        self.add(reversed(find), reversed(put));
        for shift in BASE64_SHIFTS {
            for alphabet in [Alphabet::Standard, Alphabet::UrlSafe] {
                self.add_base64(find.as_bytes(), put.as_bytes(), shift, alphabet);
            }
        }
        self.add_base64_in_lines(find.as_bytes(), put.as_bytes());
        for lower in [false, true] {
            let write = |text: &str| {
                let encoded = encode::base32(text.as_bytes(), 0);
                if lower { Zeroizing::new(encoded.to_lowercase()) } else { encoded }
            };
            self.add(write(find), write(put));
        }
        if is_full {
            self.add_codes(find, put, &CODE_SEPARATORS, &HEX_SEPARATORS);
        }
        if is_rare {
            self.add_codes(find, put, &RARE_CODE_SEPARATORS, &RARE_HEX_SEPARATORS);
            self.add_rare(find, put);
        }
    }

    /// UTF-16 that is encoded again, and characters one by one.
    fn add_rare(&mut self, find: &str, put: &str) {
        for (find, put) in encode::utf16(find).iter().zip(&encode::utf16(put)) {
            self.add(encode::hex(find), encode::hex(put));
            for shift in BASE64_SHIFTS {
                self.add_base64(find, put, shift, Alphabet::Standard);
            }
        }
        for separator in CHARACTER_SEPARATORS {
            self.add(encode::separated(find, separator), encode::separated(put, separator));
        }
    }

    /// Lists of character codes, and decimal references, whose lengths depend on the character.
    fn add_codes(&mut self, find: &str, put: &str, separators: &[&str], hex_separators: &[&str]) {
        for separator in separators {
            let decimal = codes_as_long(find, put);
            let find_codes = encode::codes(find, separator, |code| code.to_string());
            self.add(find_codes, encode::codes(&decimal, separator, |code| code.to_string()));
            for write in
                [|code| format!("0x{code:02x}"), |code| format!("0x{code:02X}")] as [fn(u32) -> String; 2]
            {
                self.add(encode::codes(find, separator, write), encode::codes(put, separator, write));
            }
        }
        for separator in hex_separators {
            for write in
                [|code| format!("{code:02x}"), |code| format!("{code:02X}")] as [fn(u32) -> String; 2]
            {
                self.add(encode::codes(find, separator, write), encode::codes(put, separator, write));
            }
        }
        for start in DECIMAL_REFERENCES {
            // Room for all of it, so that the text never moves and leaves a copy behind.
            let mut references = Zeroizing::new(String::with_capacity(find.len() * (start.len() + 8)));
            find.chars().for_each(|c| references.push_str(&format!("{start}{};", u32::from(c))));
            if let Some(put) = decimal_references(put, start, references.len()) {
                self.add(references, put);
            }
        }
    }

    /// The base64 of the value alone, broken into lines.
    fn add_base64_in_lines(&mut self, find: &[u8], put: &[u8]) {
        let (find, put) =
            (encode::base64(find, 0, Alphabet::Standard), encode::base64(put, 0, Alphabet::Standard));
        for length in LINE_LENGTHS.into_iter().filter(|length| find.len() > *length) {
            for end in ["\r\n", "\n"] {
                let lines = |text: &str| {
                    let lines = text.as_bytes().chunks(length).map(String::from_utf8_lossy);
                    Zeroizing::new(lines.collect::<Vec<_>>().join(end))
                };
                self.add(lines(&find), lines(&put));
            }
        }
    }

    fn add(&mut self, find: Zeroizing<String>, put: Zeroizing<String>) {
        self.add_form(find.as_bytes(), put.as_bytes(), None, None);
    }

    fn add_base64(&mut self, find: &[u8], put: &[u8], shift: usize, alphabet: Alphabet) {
        let url_safe = matches!(alphabet, Alphabet::UrlSafe);
        let inner = |bytes: &[u8]| encode::base64(bytes, shift, alphabet);
        let shared = |mask: u8, find: u8, put: u8| {
            let (find, put) = (find & mask, put & mask);
            (mask != 0).then_some(SharedCharacter { mask, find, put, url_safe })
        };
        // The upper bits of the first byte end the character that the bytes before began.
        let lead_bits = [0, 4, 2][shift];
        let first = |bytes: &[u8]| bytes[0].checked_shr(8 - lead_bits).unwrap_or(0);
        let lead = shared((1 << lead_bits) - 1, first(find), first(put));
        // The lower bits of the last byte begin the character that the bytes after it end.
        let trail_bits = ((shift + find.len()) * 8 % 6) as u32;
        let last = |bytes: &[u8]| bytes[bytes.len() - 1] << (6 - trail_bits) & 0x3f;
        let trail = match trail_bits {
            0 => None,
            _ => shared(0x3f & !((1 << (6 - trail_bits)) - 1), last(find), last(put)),
        };
        let (find, put) = (inner(find), inner(put));
        self.add_form(find.as_bytes(), put.as_bytes(), lead, trail);
        if find.contains(['+', '/']) {
            let (find, put) = (escaped(&find, percent_component), escaped(&put, percent_component));
            self.add_form(find.as_bytes(), put.as_bytes(), lead, trail);
        }
    }

    fn add_form(
        &mut self,
        find: &[u8],
        put: &[u8],
        lead: Option<SharedCharacter>,
        trail: Option<SharedCharacter>,
    ) {
        // A form that is not equally long would move what follows it.
        if find.len() != put.len() || find.is_empty() {
            return;
        }
        // Two alphabets that do not differ in this form count as one.
        let alike = |shared: Option<SharedCharacter>| {
            shared.map(|shared| SharedCharacter { url_safe: false, ..shared })
        };
        let is_known = self.forms[self.before..].iter().any(|known| {
            *known.find == find && alike(known.lead) == alike(lead) && alike(known.trail) == alike(trail)
        });
        if !is_known {
            let (find, put) = (Zeroizing::new(find.to_vec()), Zeroizing::new(put.to_vec()));
            self.forms.push(SwapForm { find, put, lead, trail });
        }
    }
}

/// Between codes in lists of numbers and in dumps of bytes; the rare ones are those of JSON in lines.
const CODE_SEPARATORS: [&str; 3] = [",", ", ", " "];
const RARE_CODE_SEPARATORS: [&str; 3] = ["\n", ",\n  ", ",\n    "];
const HEX_SEPARATORS: [&str; 3] = [" ", ":", "-"];
const RARE_HEX_SEPARATORS: [&str; 3] = [",", ", ", "\n"];

/// Between characters: in a list of them, in a text that is set wide, in one that may be broken anywhere.
const CHARACTER_SEPARATORS: [&str; 6] = ["\",\"", "\", \"", "', '", " ", "\n", "\u{200b}"];

/// How a decimal reference begins, in a document and in one within an attribute.
const DECIMAL_REFERENCES: [&str; 2] = ["&#", "&amp;#"];

/// The text, with each character whose decimal code is longer or shorter than that in `find` replaced by one that is as
/// long. A list of numbers has no room for another digit, and a wrong value is as good as the placeholder there.
fn codes_as_long(find: &str, text: &str) -> Zeroizing<String> {
    let digits = |c: char| u32::from(c).to_string().len();
    let fitting = |(find, put): (char, char)| match (digits(find), digits(put)) {
        (2, 3..) => char::from(b'A' + (u32::from(put) % 26) as u8),
        (3, 2) => char::from(b'd' + (u32::from(put) % 23) as u8),
        _ => put,
    };
    Zeroizing::new(find.chars().zip(text.chars()).map(fitting).collect())
}

/// Decimal references that are `length` bytes together: with zeros before the last one, or with the first characters as
/// they are.
fn decimal_references(text: &str, start: &str, length: usize) -> Option<Zeroizing<String>> {
    let reference = |c: char| format!("{start}{};", u32::from(c));
    let mut needed: usize = text.chars().map(|c| reference(c).len()).sum();
    let (last_at, last) = text.char_indices().last()?;
    let mut made = Zeroizing::new(String::with_capacity(length));
    for c in text[..last_at].chars() {
        if needed > length && c.is_ascii_alphanumeric() {
            needed -= reference(c).len() - 1;
            made.push(c);
        } else {
            made.push_str(&reference(c));
        }
    }
    let zeros = length.checked_sub(needed)?;
    made.push_str(&format!("{start}{}{};", "0".repeat(zeros), u32::from(last)));
    Some(made)
}

fn sextet_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

fn character_of(sextet: u8, url_safe: bool) -> u8 {
    let alphabet = if url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    alphabet.as_str().as_bytes()[usize::from(sextet & 0x3f)]
}
