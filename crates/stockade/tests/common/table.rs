//! The table of error codes in the docs, as the tests hold the program to it.

use std::sync::OnceLock;

/// Every code that stands in the first column of a table, with its forms: `session_ended:closed`.
pub fn codes() -> &'static [String] {
    static CODES: OnceLock<Vec<String>> = OnceLock::new();
    CODES.get_or_init(|| {
        let text = include_str!("../../../../docs/errors.md");
        let firsts = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
        let codes = firsts.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        codes.map(str::to_owned).collect()
    })
}

/// The part of a code that is the same in all of its forms.
pub fn kind(code: &str) -> &str {
    code.split(':').next().unwrap_or(code)
}

/// Whether the table has a code; in `browser_action_timeout:<action>:<seconds>s` any action and time are meant.
pub fn knows(code: &str) -> bool {
    codes().iter().any(|known| match known.split_once('<') {
        Some((fixed, _)) => code.starts_with(fixed),
        None => known == code,
    })
}
