//! A whole sops file: its metadata, the walk over its values, and the MAC over all of them.

use super::{Trouble, seal, yaml};
use crate::error::Malformed;
use crate::node::{Fields, Node, shown};
use crate::secret::SecretKey;
use age::x25519::Identity;
use regex::Regex;
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

#[derive(Clone, Copy)]
pub(super) enum Form {
    Yaml,
    Json,
}

/// What sops writes beside the values.
struct Metadata {
    age: Vec<String>,
    last_modified: String,
    mac: String,
    rule: Rule,
}

/// Which values are sealed, by the names on the way to them.
enum Rule {
    UnlessSuffix(String),
    IfSuffix(String),
    UnlessMatch(Regex),
    IfMatch(Regex),
}

const MOST_RECIPIENTS: usize = 64;

/// Opens a file and checks that it is as sops left it.
pub(super) fn decrypt(text: &[u8], form: Form, identities: &[Identity]) -> Result<Node, Trouble> {
    let tree = match form {
        Form::Json => Node::from_json(text)?,
        Form::Yaml => yaml::parse(text)?,
    };
    let Node::Map(mut root) = tree else {
        return Err(Malformed::new("", "it is no map").into());
    };
    let place = root.iter().position(|(name, _)| name == "sops");
    let place = place.ok_or_else(|| Malformed::new("sops", "this is missing: the file is not encrypted"))?;
    let metadata = Metadata::read(root.remove(place).1)?;
    let key = seal::data_key(&metadata.age, identities)?;
    let mut walk = Walk { key: &key, metadata: &metadata, hash: Sha512::new(), names: Vec::new() };
    let clear = walk.node(Node::Map(root), "")?;
    let computed = walk.hash.finalize();
    let stored = seal::open(&metadata.mac, &key, &metadata.last_modified, "sops.mac")?;
    let computed: String = computed.iter().map(|byte| format!("{byte:02X}")).collect();
    // Both are known to whoever holds the key, so how long the comparison takes tells nothing.
    if *stored.text != computed {
        return Err(Trouble::Altered(Malformed::new("sops.mac", "the MAC does not fit the values")));
    }
    clear.ok_or_else(|| Malformed::new("", "it is no map").into())
}

impl Metadata {
    fn read(node: Node) -> Result<Metadata, Trouble> {
        let mut fields = node.fields("sops")?;
        for (name, what) in [
            ("key_groups", "key groups (Shamir's sharing)"),
            ("encrypted_comment_regex", "encrypted_comment_regex"),
            ("unencrypted_comment_regex", "unencrypted_comment_regex"),
        ] {
            if fields.take(name).is_some_and(|node| !is_empty(&node)) {
                return Err(Trouble::Unsupported(what));
            }
        }
        // Whatever is not sealed, the domain perhaps, could then be changed by anybody.
        if fields.optional("mac_only_encrypted", Node::truth)?.unwrap_or(false) {
            return Err(Trouble::Unsupported("mac_only_encrypted"));
        }
        let recipients =
            fields.optional("age", |node, field| node.list(field, MOST_RECIPIENTS))?.unwrap_or_default();
        if recipients.is_empty() {
            return Err(Trouble::Unsupported("no age recipients"));
        }
        let mut age = Vec::new();
        for (number, node) in recipients.into_iter().enumerate() {
            let mut recipient = node.fields(&format!("sops.age[{number}]"))?;
            age.push(recipient.need("enc")?.plain(&recipient.path("enc"))?);
        }
        Ok(Metadata {
            age,
            last_modified: fields.need("lastmodified")?.plain("sops.lastmodified")?,
            mac: fields.need("mac")?.plain("sops.mac")?,
            rule: Rule::read(&mut fields)?,
        })
    }
}

fn is_empty(node: &Node) -> bool {
    matches!(node, Node::List(list) if list.is_empty()) || matches!(node, Node::Text(text) if text.is_empty())
}

impl Rule {
    /// sops writes one of the four; without any, the suffix `_unencrypted` keeps a value open.
    fn read(fields: &mut Fields) -> Result<Rule, Trouble> {
        let mut given =
            |name: &str| fields.optional(name, Node::plain).map(|text| text.filter(|text| !text.is_empty()));
        let regex =
            |text: String| Regex::new(&text).map_err(|_| Trouble::Unsupported("this regular expression"));
        let (if_match, unless_match) = (given("encrypted_regex")?, given("unencrypted_regex")?);
        let (if_suffix, unless_suffix) = (given("encrypted_suffix")?, given("unencrypted_suffix")?);
        match (if_match, unless_match, if_suffix, unless_suffix) {
            (Some(text), None, None, None) => Ok(Rule::IfMatch(regex(text)?)),
            (None, Some(text), None, None) => Ok(Rule::UnlessMatch(regex(text)?)),
            (None, None, Some(text), None) => Ok(Rule::IfSuffix(text)),
            (None, None, None, Some(text)) => Ok(Rule::UnlessSuffix(text)),
            (None, None, None, None) => Ok(Rule::UnlessSuffix("_unencrypted".to_owned())),
            _ => Err(Trouble::Unsupported("more than one rule about what is encrypted")),
        }
    }

    fn seals(&self, names: &[String]) -> bool {
        match self {
            Rule::UnlessSuffix(suffix) => !names.iter().any(|name| name.ends_with(suffix.as_str())),
            Rule::IfSuffix(suffix) => names.iter().any(|name| name.ends_with(suffix.as_str())),
            Rule::UnlessMatch(regex) => !names.iter().any(|name| regex.is_match(name)),
            Rule::IfMatch(regex) => names.iter().any(|name| regex.is_match(name)),
        }
    }
}

struct Walk<'a> {
    key: &'a SecretKey,
    metadata: &'a Metadata,
    hash: Sha512,
    /// The names on the way here; places in a list do not count.
    names: Vec<String>,
}

impl Walk<'_> {
    /// The node in the clear; `None` for a comment.
    fn node(&mut self, node: Node, field: &str) -> Result<Option<Node>, Trouble> {
        match node {
            Node::Map(map) => {
                let mut clear = Vec::with_capacity(map.len());
                for (name, value) in map {
                    let field =
                        if field.is_empty() { shown(&name) } else { format!("{field}.{}", shown(&name)) };
                    self.names.push(name.clone());
                    let value = self.node(value, &field)?;
                    clear.extend(value.map(|value| (name, value)));
                    self.names.pop();
                }
                Ok(Some(Node::Map(clear)))
            }
            Node::List(list) => {
                let items = list.into_iter().enumerate();
                let clear = items.map(|(number, item)| self.node(item, &format!("{field}[{number}]")));
                let clear: Vec<Option<Node>> = clear.collect::<Result<_, _>>()?;
                Ok(Some(Node::List(clear.into_iter().flatten().collect())))
            }
            Node::Null => Ok(Some(Node::Null)),
            leaf => self.leaf(leaf, field),
        }
    }

    fn leaf(&mut self, leaf: Node, field: &str) -> Result<Option<Node>, Trouble> {
        if !self.metadata.rule.seals(&self.names) {
            self.hash.update(as_sops_hashes(&leaf).as_bytes());
            return Ok(Some(leaf));
        }
        let sealed =
            leaf.text(field).map_err(|_| Malformed::new(field, "this value should be sealed and is not"))?;
        // sops leaves an empty text as it is.
        if sealed.is_empty() {
            return Ok(Some(Node::Text(sealed)));
        }
        let place = format!("{}:", self.names.join(":"));
        let opened = seal::open(&sealed, self.key, &place, field)?;
        if opened.is_comment() {
            return Ok(None);
        }
        self.hash.update(opened.text.as_bytes());
        Ok(Some(opened.into_node(field)?))
    }
}

/// The bytes by which an open value counts in the MAC.
fn as_sops_hashes(leaf: &Node) -> Zeroizing<String> {
    match leaf {
        Node::Text(text) => text.clone(),
        Node::Bool(value) => Zeroizing::new(if *value { "True" } else { "False" }.to_owned()),
        Node::Integer(value) => Zeroizing::new(value.to_string()),
        Node::Float(value) => Zeroizing::new(value.to_string()),
        Node::Null | Node::List(_) | Node::Map(_) => Zeroizing::new(String::new()),
    }
}
