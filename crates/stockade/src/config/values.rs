//! Parsers for the kinds of value that settings have, and how `config show` displays them.

use crate::config::yaml::{Node, NodeContent};
use engine::settings::{
    EgressMode, Hosts, KvLogin, MasterKeyPlace, Network, PictureFormat, Recording, ScreenKind, Seconds, Size,
    VaultBackend, WebhookFormat,
};
use policy::{DomainPattern, ImageFormat, RiskResponse, is_host_name};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// The value as `config show` displays it.
pub trait DisplayValue {
    fn display_value(&self) -> Value;
}

macro_rules! display_as_json {
    ($($type:ty),*) => {
        $(impl DisplayValue for $type {
            fn display_value(&self) -> Value {
                Value::from(self.clone())
            }
        })*
    };
}
display_as_json!(bool, u32, u64, f64, String);

impl<T: DisplayValue> DisplayValue for Option<T> {
    fn display_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, DisplayValue::display_value)
    }
}

impl<T: DisplayValue> DisplayValue for Vec<T> {
    fn display_value(&self) -> Value {
        Value::Array(self.iter().map(DisplayValue::display_value).collect())
    }
}

impl DisplayValue for Seconds {
    fn display_value(&self) -> Value {
        self.0.into()
    }
}

impl DisplayValue for Size {
    fn display_value(&self) -> Value {
        self.to_string().into()
    }
}

/// An enum whose values have fixed names in the file.
pub trait Choice: Copy + PartialEq + Sized + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

macro_rules! choice {
    ($type:ty { $($word:literal => $value:expr),* $(,)? }) => {
        impl Choice for $type {
            const WORDS: &'static [(&'static str, $type)] = &[$(($word, $value)),*];
        }
        impl DisplayValue for $type {
            fn display_value(&self) -> Value {
                self.word().into()
            }
        }
    };
}

choice!(Recording { "off" => Recording::Off, "transient" => Recording::Transient, "audit" => Recording::Audit });

choice!(ScreenKind { "headless" => ScreenKind::Headless, "xvfb" => ScreenKind::Xvfb });

choice!(EgressMode { "open" => EgressMode::Open, "allowlist" => EgressMode::Allowlist });

choice!(Network { "isolated" => Network::Isolated });

choice!(VaultBackend {
    "vault" => VaultBackend::Vault,
    "sops" => VaultBackend::Sops,
    "env" => VaultBackend::Env,
    "store" => VaultBackend::Store,
});

choice!(KvLogin {
    "token" => KvLogin::Token,
    "approle" => KvLogin::AppRole,
    "kubernetes" => KvLogin::Kubernetes,
});

choice!(MasterKeyPlace {
    "file" => MasterKeyPlace::File,
    "keyring" => MasterKeyPlace::Keyring,
    "env" => MasterKeyPlace::Env,
});

choice!(ImageFormat { "png" => ImageFormat::Png, "jpeg" => ImageFormat::Jpeg, "webp" => ImageFormat::Webp });

choice!(RiskResponse { "allow" => RiskResponse::Allow, "trusted" => RiskResponse::Trusted, "ask" => RiskResponse::Ask, "deny" => RiskResponse::Deny });

choice!(PictureFormat { "webp" => PictureFormat::Webp, "png" => PictureFormat::Png });

choice!(WebhookFormat {
    "stockade" => WebhookFormat::Stockade,
    "ntfy" => WebhookFormat::Ntfy,
    "slack" => WebhookFormat::Slack,
    "telegram" => WebhookFormat::Telegram,
});

impl DisplayValue for DomainPattern {
    fn display_value(&self) -> Value {
        self.as_str().into()
    }
}

impl DisplayValue for Hosts {
    fn display_value(&self) -> Value {
        self.0.iter().map(|(host, address)| (host.clone(), Value::from(address.to_string()))).collect()
    }
}

impl DisplayValue for SocketAddr {
    fn display_value(&self) -> Value {
        self.to_string().into()
    }
}

/// Digits and nothing else: no sign, no `_`, no exponent.
fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn plain(node: &Node) -> Option<&str> {
    match &node.content {
        NodeContent::Scalar { text, plain: true } if !node.is_null() => Some(text),
        _ => None,
    }
}

pub(super) fn scalar(node: &Node) -> Option<&str> {
    match &node.content {
        NodeContent::Scalar { text, .. } if !node.is_null() => Some(text),
        _ => None,
    }
}

// The parsers: each returns the value, or a description of what is accepted.

pub fn boolean(node: &Node) -> Result<bool, String> {
    match plain(node) {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err("true or false, without quotes,".to_owned()),
    }
}

pub fn number(range: RangeInclusive<u32>) -> impl Fn(&Node) -> Result<u32, String> {
    move |node| {
        let value = plain(node).and_then(parse_digits).and_then(|value| u32::try_from(value).ok());
        value
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("a whole number from {} to {}", range.start(), range.end()))
    }
}

pub fn seconds(range: RangeInclusive<u32>) -> impl Fn(&Node) -> Result<Seconds, String> {
    let expected = format!("a whole number of seconds from {} to {}", range.start(), range.end());
    let read = number(range);
    move |node| read(node).map(Seconds).map_err(|_| expected.clone())
}

pub fn fraction(range: RangeInclusive<f64>) -> impl Fn(&Node) -> Result<f64, String> {
    move |node| {
        // `inf`, `nan` and `1e3` parse as floats but make no sense as a fraction of a processor.
        let digits = plain(node).filter(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        digits
            .and_then(|text| text.parse().ok())
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
    }
}

pub fn size(range: RangeInclusive<Size>) -> impl Fn(&Node) -> Result<Size, String> {
    move |node| {
        scalar(node)
            .and_then(Size::parse)
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("a size from {} to {}, such as 512m or 1g,", range.start(), range.end()))
    }
}

pub fn choice<T: Choice>(node: &Node) -> Result<T, String> {
    let given = scalar(node);
    T::WORDS.iter().find(|(word, _)| given == Some(word)).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("'{word}'")).collect();
        words.join(" or ")
    })
}

/// Text of bounded length without control characters, every character of which `allowed` accepts.
pub fn text(
    longest: usize,
    allowed: fn(char) -> bool,
    expected: &'static str,
) -> impl Fn(&Node) -> Result<String, String> {
    move |node| {
        scalar(node)
            .filter(|text| {
                !text.is_empty()
                    && text.len() <= longest
                    && text.chars().all(|c| !c.is_control() && allowed(c))
            })
            .map(str::to_owned)
            .ok_or_else(|| format!("{expected} of 1 to {longest} characters"))
    }
}

/// `null`, an empty value or absence mean `None`.
pub fn optional<T>(read: impl Fn(&Node) -> Result<T, String>) -> impl Fn(&Node) -> Result<Option<T>, String> {
    move |node| if node.is_null() { Ok(None) } else { read(node).map(Some) }
}

/// The most patterns or hosts in a list: lists are searched at every navigation.
const LONGEST_LIST: usize = 1000;

pub fn domains(node: &Node) -> Result<Vec<DomainPattern>, String> {
    let expected = || {
        format!(
            "a list of at most {LONGEST_LIST} host names, such as example.org, *.example.org, admin.* or https://example.org:8443,"
        )
    };
    match &node.content {
        _ if node.is_null() => Ok(Vec::new()),
        NodeContent::List(items) if items.len() <= LONGEST_LIST => items
            .iter()
            .map(|item| scalar(item).and_then(DomainPattern::parse).ok_or_else(expected))
            .collect(),
        _ => Err(expected()),
    }
}

pub fn hosts(node: &Node) -> Result<Hosts, String> {
    let expected = || {
        format!(
            "a map of at most {LONGEST_LIST} host names to an address and port, such as shop.test: 127.0.0.1:8080,"
        )
    };
    let NodeContent::Map(fields) = &node.content else {
        return if node.is_null() { Ok(Hosts::default()) } else { Err(expected()) };
    };
    if fields.len() > LONGEST_LIST {
        return Err(expected());
    }
    let entry = |host: &str, value: &Node| {
        let address: SocketAddr = scalar(value)?.parse().ok()?;
        (is_host_name(host) && address.port() != 0).then(|| (host.to_ascii_lowercase(), address))
    };
    let found: Option<BTreeMap<_, _>> = fields.iter().map(|field| entry(&field.key, &field.value)).collect();
    found.map(Hosts).ok_or_else(expected)
}

/// A URL that audit heads or approval requests are posted to.
pub fn webhook(node: &Node) -> Result<String, String> {
    let address = scalar(node).and_then(|text| url::Url::parse(text).ok()).filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
    });
    address
        .filter(|url| url.as_str().len() <= 2048)
        .map(String::from)
        .ok_or_else(|| "an http:// or https:// address without a user name".to_owned())
}

/// A proxy's address. Its login is elsewhere: people copy, share and commit configurations.
pub fn upstream_proxy(node: &Node) -> Result<String, String> {
    scalar(node)
        .filter(|text| text.len() <= 512 && engine::settings::is_upstream_proxy(text))
        .map(str::to_owned)
        .ok_or_else(|| "http://host:port or socks5://host:port, without a user name,".to_owned())
}

/// A base URL without a path: the console's cookies apply to the whole host.
pub fn https_address(node: &Node) -> Result<String, String> {
    let address = scalar(node).and_then(|text| url::Url::parse(text).ok()).filter(|url| {
        url.scheme() == "https"
            && url.host().is_some()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
    });
    address
        .filter(|url| url.as_str().len() <= 256)
        .map(String::from)
        .ok_or_else(|| "an https:// address without a path, such as https://stockade.example.net,".to_owned())
}

pub fn loopback_address(node: &Node) -> Result<SocketAddr, String> {
    scalar(node)
        .and_then(|text| text.parse::<SocketAddr>().ok())
        .filter(|address| address.ip().is_loopback())
        .ok_or_else(|| "a loopback address and port, such as 127.0.0.1:7700 or [::1]:7700,".to_owned())
}
