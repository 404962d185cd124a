//! Probes: a page of the site, and what it shows to a signed-in or signed-out visitor.

use crate::error::Malformed;
use crate::secret_tree::{SecretNode, printable_excerpt};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A path on the credential's own origin.
    pub path: String,
    pub signed_in: Option<PageCondition>,
    pub signed_out: Option<PageCondition>,
}

/// Conditions on a page. If both are given, both must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCondition {
    /// Text that the page contains.
    pub text: Option<String>,
    /// Prefix of the final address's path.
    pub path: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInState {
    SignedIn,
    SignedOut,
    /// Neither condition holds.
    Unclear,
}

const LONGEST_TEXT: usize = 500;

impl Probe {
    /// Signed out is checked first: a page may greet by name and still ask for the password.
    pub fn evaluate(&self, final_path: &str, page_text: &str) -> SignInState {
        let holds = |condition: &PageCondition| condition.holds(final_path, page_text);
        match (&self.signed_in, &self.signed_out) {
            (_, Some(condition)) if holds(condition) => SignInState::SignedOut,
            (Some(condition), _) if holds(condition) => SignInState::SignedIn,
            (None, Some(_)) => SignInState::SignedIn,
            (Some(_), None) => SignInState::SignedOut,
            _ => SignInState::Unclear,
        }
    }

    /// Whether a page of the site meets the condition for being signed out.
    pub fn shows_signed_out(&self, path: &str, page_text: &str) -> bool {
        self.signed_out.as_ref().is_some_and(|condition| condition.holds(path, page_text))
    }

    pub(crate) fn read(node: SecretNode, field: &str) -> Result<Probe, Malformed> {
        let mut fields = node.fields(field)?;
        let path = path(fields.need("path")?, &fields.path("path"))?;
        let signed_in = fields.optional("signed_in", PageCondition::read)?;
        let signed_out = fields.optional("signed_out", PageCondition::read)?;
        fields.finish(&["path", "signed_in", "signed_out"])?;
        if signed_in.is_none() && signed_out.is_none() {
            return Err(Malformed::new(field, "it needs signed_in or signed_out"));
        }
        Ok(Probe { path, signed_in, signed_out })
    }
}

impl PageCondition {
    fn holds(&self, path: &str, page_text: &str) -> bool {
        self.text.as_ref().is_none_or(|text| page_text.contains(text))
            && self.path.as_ref().is_none_or(|start| path.starts_with(start))
    }

    fn read(node: SecretNode, field: &str) -> Result<PageCondition, Malformed> {
        let mut fields = node.fields(field)?;
        let text = fields.optional("text", SecretNode::plain)?;
        let path = fields.optional("path", path)?;
        fields.finish(&["text", "path"])?;
        match &text {
            None if path.is_none() => Err(Malformed::new(field, "it needs a text or a path")),
            Some(words) if words.is_empty() || words.len() > LONGEST_TEXT => {
                Err(Malformed::new(format!("{field}.text"), format!("1 to {LONGEST_TEXT} bytes")))
            }
            _ => Ok(PageCondition { text, path }),
        }
    }
}

/// Rejects paths that a browser resolves to another host, such as `//evil.test` and `/\evil.test`.
fn path(node: SecretNode, field: &str) -> Result<String, Malformed> {
    let text = node.plain(field)?;
    let bytes = text.as_bytes();
    let stays = bytes.first() == Some(&b'/')
        && !matches!(bytes.get(1), Some(b'/' | b'\\'))
        && text.len() <= 2048
        && bytes.iter().all(|b| (0x21..=0x7e).contains(b));
    if stays {
        Ok(text)
    } else {
        Err(Malformed::new(field, format!("'{}' is not a path such as /settings", printable_excerpt(&text))))
    }
}
