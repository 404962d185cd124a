//! High-entropy strings: random letters and digits.

/// The characters of random strings.
pub(super) fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '_' | '-' | '=')
}

/// Shorter strings are too much like words with numbers in them.
const MIN_LENGTH: usize = 20;
const MIN_LENGTH_ONE_CASE: usize = 24;
const MIN_LENGTH_HEX: usize = 32;
/// Lengths of SHA-1, SHA-256 and SHA-512 digests, which are public.
const DIGEST_LENGTHS: [usize; 3] = [40, 64, 128];

pub(super) fn is_random(token: &str) -> bool {
    let token = token.trim_end_matches('=').trim_matches(['/', '-', '_', '+']);
    if token.len() < MIN_LENGTH || token.len() > 512 || token.contains('=') {
        return false;
    }
    if is_hex(token) {
        return token.len() >= MIN_LENGTH_HEX
            && !DIGEST_LENGTHS.contains(&token.len())
            && has_entropy(token, 3.0);
    }
    if is_uuid(token) || is_made_of_words(token) {
        return false;
    }
    let counts = Counts::of(token);
    let changes = counts.changes as f64 / token.len() as f64;
    if counts.lower > 0 && counts.upper > 0 {
        return counts.digits > 0 && changes >= 0.38 && has_entropy(token, 3.6);
    }
    token.len() >= MIN_LENGTH_ONE_CASE
        && counts.separators <= 1
        && counts.digits >= 3
        && counts.lower + counts.upper >= 3
        && changes >= 0.22
        && has_entropy(token, 3.3)
}

/// For values after a name such as `password=`: digits among letters, and more entropy than a word has.
pub(super) fn is_mixed(token: &str) -> bool {
    let counts = Counts::of(token);
    let letters = counts.lower + counts.upper;
    let changes = counts.changes as f64 / token.len() as f64;
    counts.digits >= 2
        && letters >= 2
        && changes >= 0.25
        && has_entropy(token, 3.0)
        && !is_made_of_words(token)
}

fn is_hex(token: &str) -> bool {
    let one_case = |letters: std::ops::RangeInclusive<u8>| {
        token.bytes().all(|b| b.is_ascii_digit() || letters.contains(&b))
    };
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    digits > 0 && digits < token.len() && (one_case(b'a'..=b'f') || one_case(b'A'..=b'F'))
}

pub(super) fn is_uuid(token: &str) -> bool {
    let lengths: Vec<usize> = token.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && token.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// Paths, identifiers and titles: separated parts that are each a word, a number or camel case.
fn is_made_of_words(token: &str) -> bool {
    let parts: Vec<&str> = token.split(['/', '_', '-', '+', '.']).filter(|part| !part.is_empty()).collect();
    let odd = parts.iter().filter(|part| !is_wordlike(part)).map(|part| part.len()).sum::<usize>();
    // At least three in four characters are in words; random strings with separators rarely are.
    parts.len() > 1 && odd * 4 <= token.len() || parts.len() == 1 && odd == 0
}

/// One case with digits around it, or camel case with humps of at least two letters.
fn is_wordlike(part: &str) -> bool {
    let bare =
        part.trim_end_matches(|c: char| c.is_ascii_digit()).trim_start_matches(|c: char| c.is_ascii_digit());
    if bare.is_empty() {
        return true;
    }
    if !bare.bytes().all(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    let humps = bare.bytes().filter(u8::is_ascii_uppercase).count();
    let is_one_case = humps == 0 || humps == bare.len();
    is_one_case || humps * 3 <= bare.len()
}

#[derive(Default)]
struct Counts {
    lower: usize,
    upper: usize,
    digits: usize,
    separators: usize,
    /// Transitions from one kind of character to another.
    changes: usize,
}

impl Counts {
    fn of(token: &str) -> Counts {
        let mut counts = Counts::default();
        let mut last = None;
        for byte in token.bytes() {
            let (kind, count) = match byte {
                b'a'..=b'z' => (0, &mut counts.lower),
                b'A'..=b'Z' => (1, &mut counts.upper),
                b'0'..=b'9' => (2, &mut counts.digits),
                _ => (3, &mut counts.separators),
            };
            *count += 1;
            counts.changes += usize::from(last.is_some_and(|last| last != kind));
            last = Some(kind);
        }
        counts
    }
}

/// Whether the entropy is at least this many bits per character.
fn has_entropy(token: &str, bits: f64) -> bool {
    let mut seen = [0u32; 256];
    for byte in token.bytes() {
        seen[usize::from(byte)] += 1;
    }
    let length = token.len() as f64;
    let share = |count: &u32| f64::from(*count) / length;
    let entropy: f64 =
        seen.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum();
    entropy >= bits
}
