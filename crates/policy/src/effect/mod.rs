//! Effects: state-changing requests, decided on by what leaves instead of by what a page shows.
//!
//! An [`EffectRequest`] is what the egress proxy or the driver holds: method, address and body as the browser sends them.
//! It is decoded into an [`Effect`], classified by words in its address, fields, operation and in the label of the
//! element that was acted on, and decided on by the access that an operator granted.

use crate::lexicon::{Meaning, Meanings};

mod classify;
mod decide;
mod decode;
mod pattern;
mod question;
mod request;

pub use classify::EffectClass;
pub use decide::{EffectContext, EffectDecision, EffectPermit};
pub use pattern::EffectPattern;
pub use question::EffectQuestion;
pub use request::{
    CausingAction, EffectDigest, EffectRequest, EffectTransport, RequestHead, effective_method,
};

/// A request with its body decoded.
#[derive(Clone, Debug)]
pub struct Effect {
    pub request: EffectRequest,
    pub body: BodyKind,
    /// Fields of the body in their order, bounded in number and length. A value is what the site will read.
    pub fields: Vec<EffectField>,
    /// Fields that were left out because there are too many.
    pub omitted_fields: usize,
    /// The operations that the body names: of GraphQL `kind name` of each operation and of its root fields, of JSON-RPC
    /// the methods, of a batch `METHOD path`.
    pub operations: Vec<String>,
}

/// How a body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    None,
    Form,
    Multipart,
    Json,
    GraphQl,
    JsonRpc,
    Text,
    /// Not readable as text; shown by its size.
    Binary,
}

/// One decoded field. Nested JSON has paths: `user.address.city`, `items[0].id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectField {
    pub name: String,
    pub value: String,
    /// The whole length of the value in bytes; `value` may be cut.
    pub length: usize,
}

impl EffectField {
    /// Whether its name says that the value is a secret: nobody has to see it to decide.
    pub fn is_secret(&self) -> bool {
        let words: String = self.name.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        Meanings::of(&words).has(Meaning::Secret)
    }
}
