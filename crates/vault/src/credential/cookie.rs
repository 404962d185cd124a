//! A cookie with all its attributes, checked the way a browser checks it.

use crate::credential::{Host, Value};
use crate::error::Malformed;
use crate::secret_tree::{SecretNode, printable_excerpt};
use redact::{CookiePriority, SameSite, Secret};

pub struct Cookie {
    pub name: String,
    pub value: Value,
    /// The domain whose subdomains also get it; `None` for this host alone.
    pub domain: Option<Host>,
    pub path: String,
    /// In seconds since 1970; `None` for a cookie that ends with the browser session.
    pub expires: Option<i64>,
    pub http_only: bool,
    pub secure: bool,
    pub same_site: Option<SameSite>,
    pub priority: Option<CookiePriority>,
    /// The top-level site of a partitioned cookie.
    pub partition_key: Option<String>,
}

/// More than any browser keeps for one site.
pub(crate) const MOST_COOKIES: usize = 300;
/// Name and value; a browser refuses larger ones.
const LARGEST: usize = 4096;

const FIELDS: &[&str] = &[
    "name",
    "value",
    "domain",
    "path",
    "expires",
    "httpOnly",
    "secure",
    "sameSite",
    "priority",
    "partitionKey",
    "secret",
];

impl Cookie {
    pub(crate) fn read(node: SecretNode, field: &str, host: &Host) -> Result<Cookie, Malformed> {
        let mut fields = node.fields(field)?;
        let name = fields.need("name")?.plain(&fields.path("name"))?;
        let text = fields.need("value")?.text(&fields.path("value"))?;
        let is_secret = fields.optional("secret", SecretNode::truth)?.unwrap_or(true);
        let domain = fields.optional("domain", SecretNode::plain)?;
        let word =
            |text: Option<String>, path: String, words: &'static str| text.map(|text| (text, path, words));
        let same_site = word(
            fields.optional("sameSite", SecretNode::plain)?,
            fields.path("sameSite"),
            "Strict, Lax or None",
        );
        let priority = word(
            fields.optional("priority", SecretNode::plain)?,
            fields.path("priority"),
            "Low, Medium or High",
        );
        let cookie = Cookie {
            name,
            value: Value { text: Secret::new(text), is_secret },
            domain: match domain {
                Some(text) => read_domain(&text, &fields.path("domain"), host)?,
                None => None,
            },
            path: fields.optional("path", SecretNode::plain)?.unwrap_or_else(|| "/".to_owned()),
            // Playwright writes -1 for a cookie of the session.
            expires: fields.optional("expires", SecretNode::number)?.filter(|seconds| *seconds > 0),
            http_only: fields.optional("httpOnly", SecretNode::truth)?.unwrap_or(false),
            secure: fields.optional("secure", SecretNode::truth)?.unwrap_or(false),
            same_site: one_of(same_site, SameSite::parse)?,
            priority: one_of(priority, CookiePriority::parse)?,
            partition_key: fields.optional("partitionKey", SecretNode::plain)?,
        };
        fields.finish(FIELDS)?;
        cookie.check(field, host)?;
        Ok(cookie)
    }

    /// Checks everything for which a browser would drop the cookie silently.
    pub(crate) fn check(&self, field: &str, host: &Host) -> Result<(), Malformed> {
        let bad =
            |part: &str, reason: &str| Err(Malformed::new(format!("{field}.{part}"), reason.to_owned()));
        let value = self.value.text.expose_secret();
        if self.name.is_empty() && value.is_empty() {
            return bad("name", "a cookie needs a name or a value");
        }
        if self.name.bytes().any(|b| b <= 0x20 || b == 0x7f || matches!(b, b';' | b'=')) {
            return bad("name", "a name has no blanks, control characters, ';' or '='");
        }
        if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f || b == b';') {
            return bad("value", "a value has no control characters and no ';'");
        }
        if self.name.len() + value.len() > LARGEST {
            return bad("value", "name and value have more than 4096 bytes together");
        }
        let path_fits = self.path.starts_with('/') && self.path.len() <= 1024;
        if !path_fits || self.path.bytes().any(|b| b < 0x20 || b == 0x7f || b == b';') {
            return bad("path", "a path begins with '/', and has no control characters and no ';'");
        }
        if let Some(domain) = &self.domain {
            // One label is a whole top-level domain, and an address has no names under it.
            let covers = host.is_within(domain) && (host == domain || domain.as_str().contains('.'));
            if !covers || domain.is_address() {
                return bad(
                    "domain",
                    &format!("a cookie for {domain} and what is under it is not sent to {host}"),
                );
            }
        }
        let lower = self.name.to_ascii_lowercase();
        if lower.starts_with("__secure-") && !self.secure {
            return bad("secure", "a cookie named __Secure- must be secure");
        }
        if lower.starts_with("__host-") && (!self.secure || self.domain.is_some() || self.path != "/") {
            return bad("name", "a cookie named __Host- must be secure, for this host alone, with path '/'");
        }
        if self.same_site == Some(SameSite::None) && !self.secure {
            return bad("sameSite", "a cookie with sameSite None must be secure");
        }
        if self.partition_key.is_some() && !self.secure {
            return bad("partitionKey", "a partitioned cookie must be secure");
        }
        if let Some(key) = &self.partition_key
            && policy::WebUrl::parse(key).is_err()
        {
            return bad("partitionKey", "a site such as https://example.org");
        }
        Ok(())
    }
}

type Choice = Option<(String, String, &'static str)>;

fn one_of<T>(choice: Choice, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Malformed> {
    choice
        .map(|(text, path, words)| {
            parse(&text).ok_or_else(|| {
                Malformed::new(path, format!("'{}' is not one of {words}", printable_excerpt(&text)))
            })
        })
        .transpose()
}

/// `.github.com` is that domain and its subdomains; `github.com` is that host alone, and must be the credential's own.
fn read_domain(text: &str, field: &str, host: &Host) -> Result<Option<Host>, Malformed> {
    let parse = |name: &str| Host::parse(name).map_err(|error| Malformed::new(field, error.to_string()));
    match text.strip_prefix('.') {
        Some(name) => parse(name).map(Some),
        None if parse(text)? == *host => Ok(None),
        None => Err(Malformed::new(
            field,
            format!("a cookie for '{}' alone is not sent to {host}", printable_excerpt(text)),
        )),
    }
}
