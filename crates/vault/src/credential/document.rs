//! The written form of a credential: read from JSON or YAML with errors that name the field, written as JSON.

use crate::credential::{
    BasicAuth, Cookie, Credential, GrantScope, Host, MOST_COOKIES, NamedValue, Probe, Totp, Value,
    json_writer::Json,
};
use crate::error::Malformed;
use crate::secret_tree::{SecretNode, printable_excerpt};
use jiff::Timestamp;
use policy::{Origin, WebUrl};
use redact::{Secret, SendIn};
use zeroize::Zeroizing;

/// For each storage.
pub(crate) const MOST_ENTRIES: usize = 1000;
const MOST_HEADERS: usize = 32;
const LARGEST_HEADER: usize = 16 * 1024;
/// Places of one kind that `send_in` names.
const MOST_PLACES: usize = 32;

const FIELDS: &[&str] = &[
    "domain",
    "origin",
    "cookies",
    "localStorage",
    "sessionStorage",
    "headers",
    "basic",
    "totp",
    "probe",
    "grant_scope",
    "sealed",
    "intercept",
    "send_in",
    "last_refreshed_at",
    "last_injected_at",
];

/// Headers that a credential may not set: they belong to the browser or to another field of the document.
const NOT_HEADERS: &[&str] = &[
    "host",
    "cookie",
    "set-cookie",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "proxy-authorization",
    "proxy-connection",
    "origin",
    "referer",
];

impl Credential {
    /// Reads a JSON document.
    pub fn from_json(text: &[u8]) -> Result<Credential, Malformed> {
        Credential::read(SecretNode::from_json(text)?)
    }

    pub(crate) fn read(node: SecretNode) -> Result<Credential, Malformed> {
        let mut fields = node.fields("")?;
        let domain = fields.need("domain")?.plain("domain")?;
        let domain = Host::parse(&domain).map_err(|error| Malformed::new("domain", error.to_string()))?;
        let mut credential = Credential::empty(domain);
        if let Some(text) = fields.optional("origin", SecretNode::plain)? {
            credential.origin = check_origin(&text, "origin", &credential.domain)?;
        }
        let cookies =
            fields.optional("cookies", |node, field| node.list(field, MOST_COOKIES))?.unwrap_or_default();
        for (number, node) in cookies.into_iter().enumerate() {
            let cookie = Cookie::read(node, &format!("cookies[{number}]"), &credential.domain)?;
            credential.cookies.push(cookie);
        }
        credential.local_storage = fields.optional("localStorage", storage)?.unwrap_or_default();
        credential.session_storage = fields.optional("sessionStorage", storage)?.unwrap_or_default();
        credential.headers = fields.optional("headers", headers)?.unwrap_or_default();
        credential.basic = fields.optional("basic", BasicAuth::read)?;
        credential.totp = fields.optional("totp", Totp::read)?;
        credential.probe = fields.optional("probe", Probe::read)?;
        credential.grant_scope = fields.optional("grant_scope", grant_scope)?.unwrap_or_default();
        credential.is_sealed = fields.optional("sealed", SecretNode::truth)?.unwrap_or(true);
        credential.is_intercepted = fields.optional("intercept", SecretNode::truth)?.unwrap_or(true);
        credential.send_in = fields.optional("send_in", send_in)?.unwrap_or_default();
        credential.last_refreshed_at = fields.optional("last_refreshed_at", time)?;
        credential.last_injected_at = fields.optional("last_injected_at", time)?;
        fields.finish(FIELDS)?;
        credential.check_interception()?;
        let clash = credential.basic.is_some()
            && credential.headers.iter().any(|header| header.name.eq_ignore_ascii_case("authorization"));
        if clash {
            return Err(Malformed::new("basic", "it and headers.Authorization set the same header"));
        }
        credential.not_empty()?;
        Ok(credential)
    }

    /// The egress proxy can put secrets only into requests that it reads. `sealed` is true by default.
    fn check_interception(&self) -> Result<(), Malformed> {
        if self.is_sealed && !self.is_intercepted {
            let reason =
                "a sealed login needs interception: write `\"sealed\": false` too, or leave `intercept` out";
            return Err(Malformed::new("intercept", reason));
        }
        Ok(())
    }

    /// A credential without any login data is a mistake.
    pub(crate) fn not_empty(&self) -> Result<(), Malformed> {
        let empty = self.cookies.is_empty()
            && self.local_storage.is_empty()
            && self.session_storage.is_empty()
            && self.headers.is_empty()
            && self.basic.is_none()
            && self.totp.is_none();
        if empty {
            Err(Malformed::new(
                "domain",
                "nothing in this document signs in: add cookies, storage, headers or basic",
            ))
        } else {
            Ok(())
        }
    }

    /// Serializes it to JSON in memory that is wiped.
    pub fn to_json(&self) -> Zeroizing<String> {
        let mut json = Json(Zeroizing::new(String::with_capacity(self.longest_json())));
        json.open('{');
        json.text("domain", self.domain.as_str());
        json.text("origin", self.origin.as_str());
        json.name("cookies");
        json.open('[');
        for cookie in &self.cookies {
            json.cookie(cookie);
        }
        json.close(']');
        json.entries("localStorage", &self.local_storage);
        json.entries("sessionStorage", &self.session_storage);
        json.entries("headers", &self.headers);
        if let Some(basic) = &self.basic {
            json.name("basic");
            json.open('{');
            json.text("username", &basic.username);
            json.text("password", basic.password.expose_secret());
            json.close('}');
        }
        if let Some(totp) = &self.totp {
            json.name("totp");
            json.open('{');
            json.text("seed", totp.seed.expose_secret());
            json.raw("digits", &totp.digits.to_string());
            json.raw("period", &totp.period.to_string());
            json.text("algorithm", totp.algorithm.as_str());
            json.close('}');
        }
        if let Some(probe) = &self.probe {
            json.name("probe");
            json.open('{');
            json.text("path", &probe.path);
            json.condition("signed_in", probe.signed_in.as_ref());
            json.condition("signed_out", probe.signed_out.as_ref());
            json.close('}');
        }
        json.text("grant_scope", self.grant_scope.as_str());
        if !self.is_sealed {
            json.raw("sealed", "false");
        }
        if !self.is_intercepted {
            json.raw("intercept", "false");
        }
        json.send_in(&self.send_in);
        json.close('}');
        json.0
    }

    /// The capacity for all of it, so that no copy is left behind by growing: at most six bytes per byte, and the
    /// names.
    fn longest_json(&self) -> usize {
        let entries = self.local_storage.iter().chain(&self.session_storage).chain(&self.headers);
        let entries: usize = entries.map(|e| e.name.len() + e.value.text.expose_secret().len() + 16).sum();
        let cookies: usize = self
            .cookies
            .iter()
            .map(|c| c.name.len() + c.value.text.expose_secret().len() + c.path.len() + 512)
            .sum();
        let basic = self.basic.as_ref().map_or(0, |b| b.username.len() + b.password.expose_secret().len());
        let places: usize = self.send_in.iter().map(|place| place.place().len() + 4).sum();
        6 * (entries + cookies + basic + places) + 16 * 1024
    }
}

impl Value {
    /// A string, or `{"value": …, "secret": false}`.
    fn read(node: SecretNode, field: &str) -> Result<Value, Malformed> {
        if matches!(node, SecretNode::Text(_)) {
            return Ok(Value { text: Secret::new(node.text(field)?), is_secret: true });
        }
        let mut fields = node.fields(field)?;
        let text = Secret::new(fields.need("value")?.text(&fields.path("value"))?);
        let is_secret = fields.optional("secret", SecretNode::truth)?.unwrap_or(true);
        fields.finish(&["value", "secret"])?;
        Ok(Value { text, is_secret })
    }
}

impl BasicAuth {
    fn read(node: SecretNode, field: &str) -> Result<BasicAuth, Malformed> {
        let mut fields = node.fields(field)?;
        let username = fields.need("username")?.plain(&fields.path("username"))?;
        let password = fields.need("password")?.text(&fields.path("password"))?;
        fields.finish(&["username", "password"])?;
        if username.contains(':') || username.chars().any(char::is_control) {
            return Err(Malformed::new(format!("{field}.username"), "no ':' and no control characters"));
        }
        if password.chars().any(char::is_control) {
            return Err(Malformed::new(format!("{field}.password"), "no control characters"));
        }
        Ok(BasicAuth { username, password: Secret::new(password) })
    }
}

fn entries(node: SecretNode, field: &str, most: usize) -> Result<Vec<NamedValue>, Malformed> {
    let all = node.fields(field)?.all();
    if all.len() > most {
        return Err(Malformed::new(field, format!("more than {most} entries")));
    }
    all.into_iter()
        .map(|(name, node)| {
            let value = Value::read(node, &format!("{field}.{}", printable_excerpt(&name)))?;
            Ok(NamedValue { name, value })
        })
        .collect()
}

fn storage(node: SecretNode, field: &str) -> Result<Vec<NamedValue>, Malformed> {
    entries(node, field, MOST_ENTRIES)
}

fn headers(node: SecretNode, field: &str) -> Result<Vec<NamedValue>, Malformed> {
    let headers = entries(node, field, MOST_HEADERS)?;
    let mut names = std::collections::BTreeSet::new();
    for header in &headers {
        let place = format!("{field}.{}", printable_excerpt(&header.name));
        let token = !header.name.is_empty()
            && header.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        let value = header.value.text.expose_secret();
        let lower = header.name.to_ascii_lowercase();
        if !token {
            return Err(Malformed::new(place, "this is not a header name"));
        }
        if NOT_HEADERS.contains(&lower.as_str()) || lower.starts_with("sec-") {
            return Err(Malformed::new(place, "a credential may not set this header"));
        }
        if value.is_empty()
            || value.len() > LARGEST_HEADER
            || !value.bytes().all(|b| (0x20..=0x7e).contains(&b))
        {
            return Err(Malformed::new(place, "a header's value is 1 to 16384 printable ASCII characters"));
        }
        if !names.insert(lower) {
            return Err(Malformed::new(place, "this header occurs twice"));
        }
    }
    Ok(headers)
}

/// An origin of the credential's own host.
pub(crate) fn check_origin(text: &str, field: &str, domain: &Host) -> Result<Origin, Malformed> {
    let url = WebUrl::parse(text).map_err(|error| Malformed::new(field, error.to_string()))?;
    let origin = url.origin();
    if url.host() != domain.as_str() {
        return Err(Malformed::new(field, format!("its host must be {domain}")));
    }
    if url.as_str().trim_end_matches('/') != origin.as_str() {
        return Err(Malformed::new(field, "scheme, host and port, and nothing after them"));
    }
    Ok(origin)
}

/// `{"body": "/oauth/token", "header": ["x-api-key"]}`.
fn send_in(node: SecretNode, field: &str) -> Result<Vec<SendIn>, Malformed> {
    let mut places = Vec::new();
    for (kind, node) in node.fields(field)?.all() {
        let path = format!("{field}.{}", printable_excerpt(&kind));
        if !SendIn::KINDS.contains(&kind.as_str()) {
            return Err(Malformed::new(path, format!("one of {}", SendIn::KINDS.join(", "))));
        }
        let listed = match node {
            node @ SecretNode::Text(_) => vec![node],
            node => node.list(&path, MOST_PLACES)?,
        };
        for node in listed {
            let text = node.plain(&path)?;
            let place = SendIn::parse(&kind, &text)
                .ok_or_else(|| Malformed::new(&path, "a path such as /oauth/token, or a header's name"))?;
            places.push(place);
        }
    }
    places.sort();
    places.dedup();
    Ok(places)
}

fn grant_scope(node: SecretNode, field: &str) -> Result<GrantScope, Malformed> {
    GrantScope::parse(&node.plain(field)?).ok_or_else(|| Malformed::new(field, "operator or standing"))
}

fn time(node: SecretNode, field: &str) -> Result<Timestamp, Malformed> {
    let text = node.plain(field)?;
    text.parse().map_err(|_| Malformed::new(field, "a time such as 2026-05-11T09:30:00Z"))
}
