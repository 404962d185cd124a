//! How to tell signed in from signed out: a page of the site, and what is seen there.

use crate::error::Malformed;
use crate::node::{Node, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A path of the credential's own origin: a probe leads nowhere else.
    pub path: String,
    pub signed_in: Option<Sign>,
    pub signed_out: Option<Sign>,
}

/// What a page shows; where both are given, both must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// Words in the page's text.
    pub text: Option<String>,
    /// What the path of the final address begins with.
    pub path: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    SignedIn,
    SignedOut,
    /// Neither sign was seen: no statement is made.
    Unclear,
}

const LONGEST_SIGN: usize = 500;

impl Probe {
    /// A sign of being signed out counts first: a page may greet by name and still ask for the password.
    pub fn judge(&self, final_path: &str, page_text: &str) -> Verdict {
        let seen = |sign: &Sign| sign.is_seen(final_path, page_text);
        match (&self.signed_in, &self.signed_out) {
            (_, Some(sign)) if seen(sign) => Verdict::SignedOut,
            (Some(sign), _) if seen(sign) => Verdict::SignedIn,
            (None, Some(_)) => Verdict::SignedIn,
            (Some(_), None) => Verdict::SignedOut,
            _ => Verdict::Unclear,
        }
    }

    /// Whether a page of the site is the one that is shown to somebody who is signed out, by its own sign.
    pub fn shows_signed_out(&self, path: &str, page_text: &str) -> bool {
        self.signed_out.as_ref().is_some_and(|sign| sign.is_seen(path, page_text))
    }

    pub(crate) fn read(node: Node, field: &str) -> Result<Probe, Malformed> {
        let mut fields = node.fields(field)?;
        let path = path(fields.need("path")?, &fields.path("path"))?;
        let signed_in = fields.optional("signed_in", Sign::read)?;
        let signed_out = fields.optional("signed_out", Sign::read)?;
        fields.finish(&["path", "signed_in", "signed_out"])?;
        if signed_in.is_none() && signed_out.is_none() {
            return Err(Malformed::new(field, "it needs signed_in or signed_out"));
        }
        Ok(Probe { path, signed_in, signed_out })
    }
}

impl Sign {
    fn is_seen(&self, path: &str, page_text: &str) -> bool {
        self.text.as_ref().is_none_or(|text| page_text.contains(text))
            && self.path.as_ref().is_none_or(|start| path.starts_with(start))
    }

    fn read(node: Node, field: &str) -> Result<Sign, Malformed> {
        let mut fields = node.fields(field)?;
        let text = fields.optional("text", Node::plain)?;
        let path = fields.optional("path", path)?;
        fields.finish(&["text", "path"])?;
        match &text {
            None if path.is_none() => Err(Malformed::new(field, "it needs a text or a path")),
            Some(words) if words.is_empty() || words.len() > LONGEST_SIGN => {
                Err(Malformed::new(format!("{field}.text"), format!("1 to {LONGEST_SIGN} bytes")))
            }
            _ => Ok(Sign { text, path }),
        }
    }
}

/// A path that cannot be read as another host: `//evil.test` and `/\evil.test` lead away.
fn path(node: Node, field: &str) -> Result<String, Malformed> {
    let text = node.plain(field)?;
    let bytes = text.as_bytes();
    let stays = bytes.first() == Some(&b'/')
        && !matches!(bytes.get(1), Some(b'/' | b'\\'))
        && text.len() <= 2048
        && bytes.iter().all(|b| (0x21..=0x7e).contains(b));
    if stays {
        Ok(text)
    } else {
        Err(Malformed::new(field, format!("'{}' is no path such as /settings", shown(&text))))
    }
}
