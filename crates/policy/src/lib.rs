//! The pure core: actions, facts, risks, rules, decisions and permits.
//!
//! No IO, no async, no clock. [`Policy::decide`] is the only maker of a [`Permit`] and of a [`Question`]. Crate `audit`
//! turns a permit, or an operator's answer to a question, into what the driver accepts, by recording it. So an action
//! that was not decided, or not recorded, does not compile.
//!
//! A permit has no public constructor:
//! ```compile_fail,E0624
//! fn forge(action: policy::Action, facts: policy::Facts, rule: policy::RuleName) -> policy::Permit {
//!     policy::Permit::new(action, facts, rule, policy::Risk::Low)
//! }
//! ```
//! It cannot be used twice:
//! ```compile_fail,E0599
//! fn duplicate(permit: policy::Permit) -> (policy::Permit, policy::Permit) {
//!     (permit.clone(), permit)
//! }
//! ```
//! A question has no public fields, so nobody makes one:
//! ```compile_fail,E0451
//! fn forge(question: policy::Question) -> policy::Question {
//!     policy::Question { domain: None, ..question }
//! }
//! ```
//! And nothing here turns a question into a permit:
//! ```compile_fail,E0277
//! fn answer(question: policy::Question) -> policy::Permit {
//!     question.into()
//! }
//! ```

mod access;
mod action;
mod action_texts;
mod assess;
pub mod credential;
mod custom_rule;
mod decide;
mod domains;
mod effect;
mod evidence;
mod facts;
mod ids;
mod keys;
mod lexicon;
mod percent;
mod permit;
mod policy;
mod question;
mod reading;
mod relays;
mod risk;
mod rules;
mod selector;
mod settings;
mod target;
mod url;
mod well_known;

pub use access::Access;
pub use action::{
    Action, ActionClass, ActionKind, AnswerDialog, Check, Click, Condition, Direction, Distance, Drag, Hover,
    ImageFormat, LoadState, MouseButton, Navigate, Press, ReadDom, Screenshot, Scroll, Select, SelectOption,
    TabId, Tabs, TypeText, WaitFor,
};
pub use action_texts::SuppliedText;
pub use assess::Assessment;
pub use custom_rule::{Comparison, CustomRule, InvalidRule, RuleDefinition, Subject};
pub use decide::{Decision, Denial};
pub use domains::{DomainPattern, Endpoint, WebScheme, first_allowing, first_match, is_host_name};
pub use effect::{
    BodyKind, CausingAction, Effect, EffectClass, EffectContext, EffectDecision, EffectDigest, EffectField,
    EffectPattern, EffectPermit, EffectQuestion, EffectRequest, EffectTransport, RequestHead,
    effective_method,
};
pub use evidence::Evidence;
pub use facts::{Appearance, DialogFacts, Document, ElementFacts, Facts, FormButton, FormFacts, OptionFacts};
pub use ids::{Actor, InvalidName, Name, Scope, SessionId, Tenant};
pub use keys::{
    ARROW_DOWN, ARROW_LEFT, ARROW_RIGHT, ARROW_UP, Chord, DELETE, ENTER, Key, Modifiers, NamedKey, UnknownKey,
};
pub use permit::{Permit, RuleName};
pub use policy::Policy;
pub use question::{AllowanceScope, Changed, Question};
pub use reading::{Find, Part, Pattern, Read, ReadFormat, TokenBudget};
pub use relays::is_relay;
pub use risk::{DecisionKind, Risk, RiskResponse, RiskResponses};
pub use rules::{BuiltinRule, Refusal, builtin_rules};
pub use selector::{InvalidSelector, Selector};
pub use settings::{SENSITIVE, SessionContext, SessionMode, Settings};
pub use target::Target;
pub use url::{InvalidUrl, Origin, WebUrl};
