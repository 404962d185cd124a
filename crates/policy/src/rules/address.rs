//! URLs as servers read them: percent-decoded, without empty path segments, and with the query split.

use crate::percent::decode;
use std::borrow::Cow;
use url::Url;

/// The decoded path; an escaped `/` separates segments, too.
pub(super) fn path(url: &Url) -> Cow<'_, str> {
    decode(url.path())
}

/// The first segment that is not empty: `admin` for `//admin/` and `/./admin;v=1`.
pub(super) fn first_segment(url: &Url) -> String {
    let path = path(url);
    let part = path.split(['/', '\\']).find(|part| !matches!(*part, "" | "."));
    part.and_then(|part| part.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

/// Names and values of the query, not decoded; a name alone has an empty value.
pub(super) fn query_pairs(url: &Url) -> impl Iterator<Item = (&str, &str)> {
    let pairs = url.query().unwrap_or_default().split(['&', ';']).filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_of_a_path_is_not_empty() {
        for (address, expected) in [
            ("https://a.test/admin/x", "admin"),
            ("https://a.test//Admin/", "admin"),
            ("https://a.test/%61dmin", "admin"),
            ("https://a.test/%2fadmin", "admin"),
            ("https://a.test/%5cadmin", "admin"),
            ("https://a.test/%252e/admin;v=1", "admin"),
            ("https://a.test/", ""),
        ] {
            assert_eq!(first_segment(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
