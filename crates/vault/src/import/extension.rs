//! Exports of browser extensions: a list of cookies in the form of `chrome.cookies`.

use crate::error::Malformed;
use crate::import::{Draft, Found, MOST_IN_A_FILE};
use crate::secret_tree::{SecretNode, printable_excerpt};
use redact::SameSite;

pub(super) fn read(node: SecretNode, draft: &mut Draft) -> Result<(), Malformed> {
    let (list, place) = match node {
        SecretNode::Map(map) => (SecretNode::Map(map).fields("")?.need("cookies")?, "cookies"),
        list => (list, ""),
    };
    for (number, node) in list.list(place, MOST_IN_A_FILE)?.into_iter().enumerate() {
        let field = format!("{place}[{number}]");
        let mut fields = node.fields(&field)?;
        let domain = fields.need("domain")?.plain(&fields.path("domain"))?;
        let session = fields.optional("session", SecretNode::truth)?.unwrap_or(false);
        let expires = fields.optional("expirationDate", SecretNode::number)?;
        let found = Found {
            name: fields.need("name")?.plain(&fields.path("name"))?,
            value: fields.need("value")?.text(&fields.path("value"))?,
            host_only: fields.optional("hostOnly", SecretNode::truth)?.unwrap_or(!domain.starts_with('.')),
            domain,
            path: fields.optional("path", SecretNode::plain)?.unwrap_or_else(|| "/".to_owned()),
            expires: expires.filter(|seconds| !session && *seconds > 0),
            http_only: fields.optional("httpOnly", SecretNode::truth)?.unwrap_or(false),
            secure: fields.optional("secure", SecretNode::truth)?.unwrap_or(false),
            same_site: fields.optional("sameSite", same_site)?.flatten(),
        };
        draft.cookie(found, &field)?;
    }
    Ok(())
}

fn same_site(node: SecretNode, field: &str) -> Result<Option<SameSite>, Malformed> {
    let text = node.plain(field)?;
    match text.to_ascii_lowercase().as_str() {
        "no_restriction" | "none" => Ok(Some(SameSite::None)),
        "lax" => Ok(Some(SameSite::Lax)),
        "strict" => Ok(Some(SameSite::Strict)),
        "unspecified" | "" => Ok(None),
        _ => Err(Malformed::new(
            field,
            format!("'{}' is not one of no_restriction, lax, strict, unspecified", printable_excerpt(&text)),
        )),
    }
}
