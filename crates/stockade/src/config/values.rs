//! The kinds of value that a setting can have, how each is read, and how it is shown.

use crate::config::yaml::{Kind, Node};
use engine::settings::{
    Hosts, KvLogin, MasterKeyPlace, Network, PictureFormat, Recording, ScreenKind, Seconds, Size,
    VaultBackend,
};
use policy::{DomainPattern, ImageFormat, RiskResponse, is_host_name};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// How a value looks in `config show`.
pub trait Shown {
    fn shown(&self) -> Value;
}

macro_rules! shown_as_json {
    ($($type:ty),*) => {
        $(impl Shown for $type {
            fn shown(&self) -> Value {
                Value::from(self.clone())
            }
        })*
    };
}
shown_as_json!(bool, u32, u64, f64, String);

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Value {
        self.as_ref().map_or(Value::Null, Shown::shown)
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> Value {
        Value::Array(self.iter().map(Shown::shown).collect())
    }
}

impl Shown for Seconds {
    fn shown(&self) -> Value {
        self.0.into()
    }
}

impl Shown for Size {
    fn shown(&self) -> Value {
        self.to_string().into()
    }
}

/// A closed choice of words, each with the value it stands for.
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
        impl Shown for $type {
            fn shown(&self) -> Value {
                self.word().into()
            }
        }
    };
}

choice!(Recording { "off" => Recording::Off, "transient" => Recording::Transient, "audit" => Recording::Audit });

choice!(ScreenKind { "headless" => ScreenKind::Headless, "xvfb" => ScreenKind::Xvfb });

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

impl Shown for DomainPattern {
    fn shown(&self) -> Value {
        self.as_str().into()
    }
}

impl Shown for Hosts {
    fn shown(&self) -> Value {
        self.0.iter().map(|(host, address)| (host.clone(), Value::from(address.to_string()))).collect()
    }
}

impl Shown for SocketAddr {
    fn shown(&self) -> Value {
        self.to_string().into()
    }
}

/// Digits and nothing else: no sign, no `_`, no exponent.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn plain(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Scalar { text, plain: true } if !node.is_null() => Some(text),
        _ => None,
    }
}

pub(super) fn scalar(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Some(text),
        _ => None,
    }
}

// The readers: each gives the value, or says in words what would have been accepted.

pub fn truth(node: &Node) -> Result<bool, String> {
    match plain(node) {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err("true or false, without quotes,".to_owned()),
    }
}

pub fn number(range: RangeInclusive<u32>) -> impl Fn(&Node) -> Result<u32, String> {
    move |node| {
        let value = plain(node).and_then(whole).and_then(|value| u32::try_from(value).ok());
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
        // `inf`, `nan` and `1e3` parse as floats, and are not what anyone means by half a processor.
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

/// At most this many patterns or hosts: the lists are walked at every navigation.
const LONGEST_LIST: usize = 1000;

pub fn domains(node: &Node) -> Result<Vec<DomainPattern>, String> {
    let expected = || {
        format!("a list of at most {LONGEST_LIST} host names, such as example.org, *.example.org or admin.*,")
    };
    match &node.kind {
        _ if node.is_null() => Ok(Vec::new()),
        Kind::List(items) if items.len() <= LONGEST_LIST => items
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
    let Kind::Map(fields) = &node.kind else {
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

/// An address that heads or questions are posted to.
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

/// A host of its own: cookies of the console are for all of it.
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
