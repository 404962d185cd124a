//! `cookies.txt`: one cookie per line, seven fields separated by tabs.

use crate::error::Malformed;
use crate::import::{Draft, Found, MOST_IN_A_FILE};
use crate::secret_tree::LARGEST_DOCUMENT;
use zeroize::Zeroizing;

/// curl's prefix for an `HttpOnly` cookie; such a line is not a comment.
const HTTP_ONLY: &str = "#HttpOnly_";

pub(super) fn read(text: &[u8], draft: &mut Draft) -> Result<(), Malformed> {
    if text.len() > LARGEST_DOCUMENT {
        return Err(Malformed::new("", format!("the file has more than {LARGEST_DOCUMENT} bytes")));
    }
    let text = std::str::from_utf8(text).map_err(|_| Malformed::new("", "the file is not UTF-8 text"))?;
    for (number, line) in (1..).zip(text.lines()) {
        let field = format!("line {number}");
        let (line, http_only) = match line.strip_prefix(HTTP_ONLY) {
            Some(rest) => (rest, true),
            None if line.starts_with('#') || line.trim().is_empty() => continue,
            None => (line, false),
        };
        if draft.seen == MOST_IN_A_FILE {
            return Err(Malformed::new(field, format!("more than {MOST_IN_A_FILE} cookies")));
        }
        // The last field is the value, and may hold a tab.
        let parts: Vec<&str> = line.splitn(7, '\t').collect();
        let [domain, subdomains, path, secure, expires, name, rest @ ..] = parts.as_slice() else {
            let found = parts.len();
            return Err(Malformed::new(
                field,
                format!("a cookie has seven fields with tabs between them, not {found}"),
            ));
        };
        let expires: f64 =
            expires.parse().ok().filter(|seconds: &f64| seconds.abs() < 9e15).ok_or_else(|| {
                Malformed::new(format!("{field}.expires"), "this must be a number of seconds")
            })?;
        let found = Found {
            name: (*name).to_owned(),
            // An empty value at the end of a line loses its tab in some editors.
            value: Zeroizing::new(rest.first().copied().unwrap_or_default().to_owned()),
            domain: (*domain).to_owned(),
            host_only: !truth(subdomains, &format!("{field}.subdomains"))?,
            path: (*path).to_owned(),
            expires: (expires > 0.0).then_some(expires as i64),
            http_only,
            secure: truth(secure, &format!("{field}.secure"))?,
            same_site: None,
        };
        draft.cookie(found, &field)?;
    }
    Ok(())
}

fn truth(text: &str, field: &str) -> Result<bool, Malformed> {
    match text {
        "TRUE" | "true" | "True" => Ok(true),
        "FALSE" | "false" | "False" => Ok(false),
        _ => Err(Malformed::new(field, "this must be TRUE or FALSE")),
    }
}
