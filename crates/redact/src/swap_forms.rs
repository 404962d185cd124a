//! The encoded forms in which a value and its replacement are swapped, pair by pair and equally long.

use crate::encode::{self, Alphabet, BASE64_SHIFTS};
use crate::value_structure::{is_searchable, leaves_of};
use base64::alphabet;
use zeroize::Zeroizing;

/// Forms that escape every character are six times as long. Of a longer value only the usual ones are looked for.
const MOST_FULLY_ESCAPED: usize = 4096;

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

/// Every form of the value, with the same form of the other one. A value that is too short for a search has none.
pub(crate) fn swap_forms(find: &str, put: &str) -> Vec<SwapForm> {
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
            forms.add_all(find, put);
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
    fn add_all(&mut self, find: &str, put: &str) {
        self.before = self.forms.len();
        let escapes =
            USUAL_ESCAPES.iter().chain(if find.len() <= MOST_FULLY_ESCAPED { FULL_ESCAPES } else { &[] });
        for escape in escapes {
            self.add(escaped(find, *escape), escaped(put, *escape));
        }
        let (json, json_put) = (escaped(find, json_plain), escaped(put, json_plain));
        self.add(escaped(&json, json_plain), escaped(&json_put, json_plain));
        for upper in [false, true] {
            let case =
                |text: Zeroizing<String>| if upper { Zeroizing::new(text.to_uppercase()) } else { text };
            self.add(case(encode::hex(find.as_bytes())), case(encode::hex(put.as_bytes())));
        }
        for shift in BASE64_SHIFTS {
            for alphabet in [Alphabet::Standard, Alphabet::UrlSafe] {
                self.add_base64(find.as_bytes(), put.as_bytes(), shift, alphabet);
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
        // An escape that is not equally long would move what follows it: decimal references of letters are such.
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

/// Writes one character in the way of some program.
type Escape = fn(char, &mut String);

/// As they are written by default: by browsers, by JSON libraries, by template engines.
const USUAL_ESCAPES: &[Escape] = &[
    |c, out| out.push(c),
    percent_component,
    |c, out| percent(c, out, "-_.!~*'()", false),
    |c, out| percent(c, out, "-_.~", true),
    |c, out| percent(c, out, "-_.~", false),
    |c, out| percent(c, out, "-_.!~*'();,/?:@&=+$#", true),
    |c, out| percent(c, out, "-_.!~*'();,/?:@&=+$#", false),
    |c, out| if c == ' ' { out.push('+') } else { percent(c, out, "*-._", true) },
    |c, out| if c == ' ' { out.push('+') } else { percent(c, out, "*-._", false) },
    json_plain,
    |c, out| if c == '/' { out.push_str("\\/") } else { json_plain(c, out) },
    |c, out| json(c, out, "<>&", 'u', false),
    |c, out| json(c, out, "<>&'", 'u', false),
    |c, out| json(c, out, "<>&'\"", 'u', true),
    |c, out| if c.is_ascii() { json_plain(c, out) } else { unit_escapes(c, out, false) },
    |c, out| {
        if c == '/' {
            out.push_str("\\/")
        } else if c.is_ascii() {
            json_plain(c, out)
        } else {
            unit_escapes(c, out, false)
        }
    },
    |c, out| json(c, out, "<>&'\"\\=-;`", 'u', true),
    |c, out| json(c, out, "<>&'\"\\/=-;`", 'x', true),
    |c, out| json(c, out, "<>&'\"\\/=-;`", 'x', false),
    |c, out| if c == '\'' { out.push_str("\\'") } else { json_plain(c, out) },
    |c, out| html(c, out, &[]),
    |c, out| html(c, out, &[('"', "&quot;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#39;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#039;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#x27;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&apos;")]),
    |c, out| html(c, out, &[('"', "&#34;"), ('\'', "&#39;")]),
    |c, out| html(c, out, &[('"', "&#34;"), ('\'', "&#39;"), ('+', "&#43;")]),
    |c, out| html(c, out, &[('"', "&quot;"), ('\'', "&#x27;"), ('/', "&#x2F;")]),
    |c, out| {
        html(c, out, &[('"', "&quot;"), ('\'', "&#39;"), ('`', "&#x60;"), ('=', "&#x3D;"), ('/', "&#x2F;")])
    },
];

/// Every character, because somebody wanted to be thorough.
const FULL_ESCAPES: &[Escape] = &[
    |c, out| percent_all(c, out, true),
    |c, out| percent_all(c, out, false),
    |c, out| unit_escapes(c, out, true),
    |c, out| unit_escapes(c, out, false),
    |c, out| out.push_str(&format!("\\x{:02x}", u32::from(c))),
    |c, out| out.push_str(&format!("\\x{:02X}", u32::from(c))),
    |c, out| out.push_str(&format!("&#x{:x};", u32::from(c))),
    |c, out| out.push_str(&format!("&#x{:X};", u32::from(c))),
    |c, out| out.push_str(&format!("&#{};", u32::from(c))),
];

fn escaped(text: &str, escape: Escape) -> Zeroizing<String> {
    // Six characters for one, so that the text never moves and leaves a copy behind.
    let mut out = Zeroizing::new(String::with_capacity(text.len() * 6));
    text.chars().for_each(|character| escape(character, &mut out));
    out
}

fn percent_component(character: char, out: &mut String) {
    percent(character, out, "-_.!~*'()", true);
}

fn percent(character: char, out: &mut String, kept: &str, upper: bool) {
    if character.is_ascii_alphanumeric() || kept.contains(character) {
        out.push(character);
    } else {
        percent_all(character, out, upper);
    }
}

fn percent_all(character: char, out: &mut String, upper: bool) {
    let mut room = [0; 4];
    for byte in character.encode_utf8(&mut room).bytes() {
        out.push_str(&if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") });
    }
}

fn json_plain(character: char, out: &mut String) {
    json(character, out, "", 'u', false);
}

/// What JSON has to escape, and `more`: as `\u0041` or `\x41`.
fn json(character: char, out: &mut String, more: &str, kind: char, upper: bool) {
    if more.contains(character) {
        let code = u32::from(character);
        out.push_str(&match (kind, upper) {
            ('x', true) => format!("\\x{code:02X}"),
            ('x', false) => format!("\\x{code:02x}"),
            (_, true) => format!("\\u{code:04X}"),
            (_, false) => format!("\\u{code:04x}"),
        });
        return;
    }
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

fn unit_escapes(character: char, out: &mut String, upper: bool) {
    let mut room = [0; 2];
    for unit in character.encode_utf16(&mut room) {
        out.push_str(&if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
    }
}

fn html(character: char, out: &mut String, more: &[(char, &str)]) {
    match character {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        _ => match more.iter().find(|(escaped, _)| *escaped == character) {
            Some((_, reference)) => out.push_str(reference),
            None => out.push(character),
        },
    }
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
