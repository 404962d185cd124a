//! Playwright's storage state: cookies, and the local storage of each origin.

use crate::credential::{MOST_ENTRIES, NamedValue, Value, check_origin};
use crate::error::Malformed;
use crate::import::{Draft, Found, MOST_IN_A_FILE};
use crate::secret_tree::{SecretNode, printable_excerpt};
use policy::WebUrl;
use redact::{SameSite, Secret};

pub(super) fn read(node: SecretNode, draft: &mut Draft) -> Result<(), Malformed> {
    let mut fields = node.fields("")?;
    let cookies = fields.optional("cookies", |node, field| node.list(field, MOST_IN_A_FILE))?;
    let origins = fields.optional("origins", |node, field| node.list(field, MOST_IN_A_FILE))?;
    if cookies.is_none() && origins.is_none() {
        return Err(Malformed::new(
            "cookies",
            "a storage state has cookies and origins, and this has neither",
        ));
    }
    for (number, node) in cookies.unwrap_or_default().into_iter().enumerate() {
        cookie(node, &format!("cookies[{number}]"), draft)?;
    }
    for (number, node) in origins.unwrap_or_default().into_iter().enumerate() {
        origin(node, &format!("origins[{number}]"), draft)?;
    }
    Ok(())
}

/// Unknown fields come from newer versions of Playwright and hold no login data.
fn cookie(node: SecretNode, field: &str, draft: &mut Draft) -> Result<(), Malformed> {
    let mut fields = node.fields(field)?;
    let domain = fields.need("domain")?.plain(&fields.path("domain"))?;
    let same_site = match fields.optional("sameSite", SecretNode::plain)?.as_deref() {
        None => None,
        Some("Strict") => Some(SameSite::Strict),
        Some("Lax") => Some(SameSite::Lax),
        Some("None") => Some(SameSite::None),
        Some(other) => {
            let reason = format!("'{}' is not one of Strict, Lax, None", printable_excerpt(other));
            return Err(Malformed::new(fields.path("sameSite"), reason));
        }
    };
    let secure = fields.optional("secure", SecretNode::truth)?.unwrap_or(false);
    let found = Found {
        name: fields.need("name")?.plain(&fields.path("name"))?,
        value: fields.need("value")?.text(&fields.path("value"))?,
        host_only: !domain.starts_with('.'),
        domain,
        path: fields.optional("path", SecretNode::plain)?.unwrap_or_else(|| "/".to_owned()),
        expires: fields.optional("expires", SecretNode::number)?.filter(|seconds| *seconds > 0),
        http_only: fields.optional("httpOnly", SecretNode::truth)?.unwrap_or(false),
        // Playwright writes `None` for an unset attribute on plain HTTP, where no browser would accept it.
        same_site: same_site.filter(|same_site| *same_site != SameSite::None || secure),
        secure,
    };
    draft.cookie(found, field)
}

fn origin(node: SecretNode, field: &str, draft: &mut Draft) -> Result<(), Malformed> {
    let mut fields = node.fields(field)?;
    let text = fields.need("origin")?.plain(&fields.path("origin"))?;
    let url =
        WebUrl::parse(&text).map_err(|error| Malformed::new(fields.path("origin"), error.to_string()))?;
    if url.host() != draft.credential.domain.as_str() {
        draft.notes.push(format!("the storage of {}", url.origin()));
        return Ok(());
    }
    if fields.take("indexedDB").is_some_and(|node| !matches!(node, SecretNode::List(list) if list.is_empty()))
    {
        draft.notes.push(format!("the IndexedDB of {}", url.origin()));
    }
    let items =
        fields.optional("localStorage", |node, field| node.list(field, MOST_ENTRIES))?.unwrap_or_default();
    if items.is_empty() {
        return Ok(());
    }
    if !draft.credential.local_storage.is_empty() {
        draft.notes.push(format!("the storage of {}: one origin of a host is all that fits", url.origin()));
        return Ok(());
    }
    draft.credential.origin = check_origin(&text, &fields.path("origin"), &draft.credential.domain)?;
    for (number, node) in items.into_iter().enumerate() {
        let mut item = node.fields(&format!("{field}.localStorage[{number}]"))?;
        let name = item.need("name")?.plain(&item.path("name"))?;
        let text = item.need("value")?.text(&item.path("value"))?;
        draft
            .credential
            .local_storage
            .push(NamedValue { name, value: Value { text: Secret::new(text), is_secret: true } });
    }
    Ok(())
}
