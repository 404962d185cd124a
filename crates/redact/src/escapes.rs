//! Escapes of addresses, HTML, JSON and JavaScript, undone one at a time.

/// Between `&` and `;`.
const LONGEST_NAME: usize = 32;

/// What an escape stands for.
pub(crate) enum Unescaped {
    Byte(u8),
    Character(char),
}

/// `%41`, and JavaScript's old `%u0041`.
pub(crate) fn percent(rest: &[u8]) -> Option<(Unescaped, usize)> {
    if rest.get(1) == Some(&b'u') {
        return character(number(rest.get(2..6)?, 16)?, 6);
    }
    Some((Unescaped::Byte(number(rest.get(1..3)?, 16)? as u8), 3))
}

/// The byte that a percent escape at the beginning stands for.
pub(crate) fn escaped_byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('%')?.get(..2)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// `&#65;`, `&#x41;`, `&amp;`. A name that is not in the short list here counts as a blank: most of them are punctuation,
/// which a search for letters and digits ignores.
pub(crate) fn entity(rest: &[u8]) -> Option<(Unescaped, usize)> {
    let window = &rest[1..rest.len().min(LONGEST_NAME)];
    let end = window.iter().position(|byte| *byte == b';')?;
    let (name, length) = (&window[..end], end + 2);
    match name {
        [b'#', b'x' | b'X', digits @ ..] => character(number(digits, 16)?, length),
        [b'#', digits @ ..] => character(number(digits, 10)?, length),
        b"amp" => Some((Unescaped::Byte(b'&'), length)),
        b"lt" => Some((Unescaped::Byte(b'<'), length)),
        b"gt" => Some((Unescaped::Byte(b'>'), length)),
        b"quot" => Some((Unescaped::Byte(b'"'), length)),
        b"apos" => Some((Unescaped::Byte(b'\''), length)),
        b"percnt" => Some((Unescaped::Byte(b'%'), length)),
        b"bsol" => Some((Unescaped::Byte(b'\\'), length)),
        b"nbsp" => Some((Unescaped::Byte(b' '), length)),
        [_, ..] if name.iter().all(u8::is_ascii_alphanumeric) => Some((Unescaped::Byte(b' '), length)),
        _ => None,
    }
}

/// `\u0041`, `\u{41}`, `\x41`, `\n`, `\/` and the like.
pub(crate) fn backslash(rest: &[u8]) -> Option<(Unescaped, usize)> {
    match rest.get(1)? {
        b'u' if rest.get(2) == Some(&b'{') => {
            let window = &rest[3..rest.len().min(12)];
            let end = window.iter().position(|byte| *byte == b'}')?;
            character(number(&window[..end], 16)?, end + 4)
        }
        b'u' => {
            let high = number(rest.get(2..6)?, 16)?;
            // Two halves of one character.
            let low = (rest.get(6..8) == Some(b"\\u")).then(|| number(rest.get(8..12)?, 16)).flatten();
            match low {
                Some(low) if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) => {
                    character(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
                }
                _ => character(high, 6),
            }
        }
        b'x' => character(number(rest.get(2..4)?, 16)?, 4),
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0' => Some((Unescaped::Byte(b' '), 2)),
        other => Some((Unescaped::Byte(*other), 2)),
    }
}

fn character(number: u32, length: usize) -> Option<(Unescaped, usize)> {
    char::from_u32(number).map(|character| (Unescaped::Character(character), length))
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    // A sign is no digit.
    u32::from_str_radix(text, base).ok().filter(|_| digits.first().is_some_and(u8::is_ascii_alphanumeric))
}
