//! Card numbers: prefix and length of a known network, and a valid check digit.

/// Prefix range, prefix length and number lengths of each network.
const NETWORKS: [(u32, u32, usize, &[usize]); 11] = [
    (4, 4, 1, &[13, 16, 19]),
    (51, 55, 2, &[16]),
    (2221, 2720, 4, &[16]),
    (34, 34, 2, &[15]),
    (37, 37, 2, &[15]),
    (6011, 6011, 4, &[16, 19]),
    (644, 659, 3, &[16, 19]),
    (3528, 3589, 4, &[16]),
    (300, 305, 3, &[14]),
    (36, 39, 2, &[14]),
    (62, 62, 2, &[16, 17, 18, 19]),
];

/// Whether the text contains a card number: digits with single spaces or hyphens between, next to no letter or digit.
pub(super) fn contains_card(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let (digits, end) = run(bytes, at);
        let alone =
            |byte: Option<&u8>| byte.is_none_or(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'_' | b'.'));
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after =
            bytes.get(end).filter(|b| **b != b'.' || bytes.get(end + 1).is_some_and(u8::is_ascii_digit));
        if alone(before) && alone(after) && is_card(&digits) {
            return true;
        }
        at = end;
    }
    false
}

fn run(bytes: &[u8], start: usize) -> (Vec<u8>, usize) {
    let mut digits = Vec::new();
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            digits.push(byte - b'0');
        } else if !(matches!(byte, b' ' | b'-') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) {
            break;
        }
        at += 1;
    }
    (digits, at)
}

fn is_card(digits: &[u8]) -> bool {
    let first = |count: usize| digits.iter().take(count).fold(0, |sum, digit| sum * 10 + u32::from(*digit));
    let known = NETWORKS.iter().any(|(low, high, count, lengths)| {
        lengths.contains(&digits.len()) && (*low..=*high).contains(&first(*count))
    });
    // One repeated digit is a placeholder.
    known && digits.iter().any(|digit| *digit != digits[0]) && has_valid_check_digit(digits)
}

fn has_valid_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match u32::from(*digit) * if place % 2 == 1 { 2 } else { 1 } {
            large @ 10.. => large - 9,
            small => small,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_has_a_network_a_length_and_a_valid_check_digit() {
        // Test numbers that card networks publish.
        for (text, expected) in [
            ("4111 1111 1111 1111", true),
            ("4111-1111-1111-1111", true),
            ("pay with 5555555555554444.", true),
            ("378282246310005", true),
            ("4111 1111 1111 1112", false),
            ("x4111111111111111", false),
            ("4111111111111111.5", false),
            ("1111111111111117", false),
            ("2026-11-16 10:20:30 4111", false),
            ("0000000000000000", false),
        ] {
            assert_eq!(contains_card(text), expected, "{text}");
        }
    }
}
