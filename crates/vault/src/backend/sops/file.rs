//! A sops file: its metadata, its values, and the MAC over all of them.

use super::{SopsFileError, seal, yaml};
use crate::error::Malformed;
use crate::secret_key::SecretKey;
use crate::secret_tree::{SecretNode, printable_excerpt};
use age::x25519::Identity;
use sha2::{Digest, Sha512};

#[derive(Clone, Copy)]
pub(super) enum Form {
    Yaml,
    Json,
}

/// The metadata that sops writes beside the values.
struct Metadata {
    age: Vec<String>,
    last_modified: String,
    mac: String,
}

const MOST_RECIPIENTS: usize = 64;

/// Decrypts a file and verifies its MAC.
pub(super) fn decrypt(text: &[u8], form: Form, identities: &[Identity]) -> Result<SecretNode, SopsFileError> {
    let tree = match form {
        Form::Json => SecretNode::from_json(text)?,
        Form::Yaml => yaml::parse(text)?,
    };
    let SecretNode::Map(mut root) = tree else {
        return Err(Malformed::new("", "it is not a map").into());
    };
    let place = root.iter().position(|(name, _)| name == "sops");
    let place = place.ok_or_else(|| Malformed::new("sops", "this is missing: the file is not encrypted"))?;
    let metadata = Metadata::read(root.remove(place).1)?;
    let key = seal::data_key(&metadata.age, identities)?;
    let mut walk = Walk { key: &key, hash: Sha512::new(), names: Vec::new() };
    let clear = walk.node(SecretNode::Map(root), "")?;
    let computed = walk.hash.finalize();
    let stored = seal::open(&metadata.mac, &key, &metadata.last_modified, "sops.mac")?;
    let computed = hex::encode_upper(computed);
    // A timing attack learns nothing: whoever has the key can compute both values.
    if *stored.text != computed {
        return Err(SopsFileError::Altered(Malformed::new("sops.mac", "the MAC does not fit the values")));
    }
    clear.ok_or_else(|| Malformed::new("", "it is not a map").into())
}

impl Metadata {
    fn read(node: SecretNode) -> Result<Metadata, SopsFileError> {
        let mut fields = node.fields("sops")?;
        for (name, what) in [
            ("key_groups", "key groups (Shamir's sharing)"),
            ("encrypted_comment_regex", "encrypted_comment_regex"),
            ("unencrypted_comment_regex", "unencrypted_comment_regex"),
        ] {
            if fields.take(name).is_some_and(|node| !is_empty(&node)) {
                return Err(SopsFileError::Unsupported(what));
            }
        }
        // Without a MAC over everything, unencrypted values, such as the domain, could be changed by anybody.
        if fields.optional("mac_only_encrypted", SecretNode::truth)?.unwrap_or(false) {
            return Err(SopsFileError::Unsupported("mac_only_encrypted"));
        }
        let recipients =
            fields.optional("age", |node, field| node.list(field, MOST_RECIPIENTS))?.unwrap_or_default();
        if recipients.is_empty() {
            return Err(SopsFileError::Unsupported("no age recipients"));
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
        })
    }
}

fn is_empty(node: &SecretNode) -> bool {
    matches!(node, SecretNode::List(list) if list.is_empty())
        || matches!(node, SecretNode::Text(text) if text.is_empty())
}

struct Walk<'a> {
    key: &'a SecretKey,
    hash: Sha512,
    /// The names on the path to this node; indexes of lists do not count.
    names: Vec<String>,
}

impl Walk<'_> {
    /// The decrypted node; `None` for a comment.
    fn node(&mut self, node: SecretNode, field: &str) -> Result<Option<SecretNode>, SopsFileError> {
        match node {
            SecretNode::Map(map) => {
                let mut clear = Vec::with_capacity(map.len());
                for (name, value) in map {
                    let field = if field.is_empty() {
                        printable_excerpt(&name)
                    } else {
                        format!("{field}.{}", printable_excerpt(&name))
                    };
                    self.names.push(name.clone());
                    let value = self.node(value, &field)?;
                    clear.extend(value.map(|value| (name, value)));
                    self.names.pop();
                }
                Ok(Some(SecretNode::Map(clear)))
            }
            SecretNode::List(list) => {
                let mut clear = Vec::with_capacity(list.len());
                for item in list {
                    // Comments among the items do not count.
                    let field = format!("{field}[{}]", clear.len());
                    clear.extend(self.node(item, &field)?);
                }
                Ok(Some(SecretNode::List(clear)))
            }
            SecretNode::Null => Ok(Some(SecretNode::Null)),
            leaf => self.leaf(leaf, field),
        }
    }

    /// Requires every value to be encrypted, whatever the file's own rules say. The MAC covers values, not names, so
    /// whoever can write to the file could rename an unencrypted value: `secret` to `secure`. The name of an encrypted
    /// value is authenticated with it.
    fn leaf(&mut self, leaf: SecretNode, field: &str) -> Result<Option<SecretNode>, SopsFileError> {
        let open = || SopsFileError::Open(field.to_owned());
        let sealed = leaf.text(field).map_err(|_| open())?;
        // sops does not encrypt empty strings.
        if sealed.is_empty() {
            return Ok(Some(SecretNode::Text(sealed)));
        }
        if !sealed.starts_with("ENC[") {
            return Err(open());
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
