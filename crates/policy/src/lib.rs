//! The pure core: what an agent can ask for, what is known about it, and whether it may happen.
//!
//! No IO, no async, no clock. A [`Permit`] comes from `decide`, or from a person's yes to the [`Question`] that `decide`
//! put; and one that was recorded is the only thing the driver accepts, so an action that skipped either does not compile.
//!
//! Nobody makes one by hand:
//! ```compile_fail,E0451
//! fn forged(action: policy::Action, facts: policy::Facts) -> policy::Permitted {
//!     policy::Permitted { action, facts }
//! }
//! ```
//! and nobody uses one twice:
//! ```compile_fail,E0599
//! fn twice(permit: policy::Permit) -> (policy::Permit, policy::Permit) {
//!     (permit.clone(), permit)
//! }
//! ```
//! ```compile_fail,E0382
//! fn twice(yes: policy::Approved, now: policy::Facts) {
//!     drop((yes.still_holds(now.clone()), yes.still_holds(now)));
//! }
//! ```

mod action;
mod assess;
pub mod credential;
mod decide;
mod domains;
mod facts;
mod ids;
mod keys;
mod permit;
mod question;
mod reading;
mod risk;
mod rules;
mod selector;
mod settings;
mod target;
mod url;
mod words;

pub use action::{
    Action, AnswerDialog, Check, Click, Condition, Direction, Distance, Drag, Hover, ImageFormat, LoadState,
    MouseButton, Navigate, Press, ReadDom, Screenshot, Scroll, Select, SelectOption, TabId, Tabs, TypeText,
    WaitFor,
};
pub use assess::Assessment;
pub use decide::{Decision, Denial, Policy};
pub use domains::{DomainPattern, is_host_name, listed};
pub use facts::{DialogFacts, Document, ElementFacts, Facts, FormButton, FormFacts, OptionFacts, Sight};
pub use ids::{Actor, BadName, Name, Scope, SessionId, Tenant};
pub use keys::{
    ARROW_DOWN, ARROW_LEFT, ARROW_RIGHT, ARROW_UP, Chord, DELETE, ENTER, Key, Modifiers, NamedKey, UnknownKey,
};
pub use permit::{Permit, Permitted, Rule};
pub use question::{Approved, Changed, Leave, Question};
pub use reading::{Find, Part, Pattern, Read, ReadFormat, Tokens};
pub use risk::{Effect, Level, Levels, Risk};
pub use rules::{BadRule, Because, Builtin, CustomRule, Operator, Refusal, RuleText, Subject, builtin};
pub use selector::{Selector, SelectorRefusal};
pub use settings::{Mode, SENSITIVE, Settings, Standing};
pub use target::Target;
pub use url::{Origin, UrlRefusal, WebUrl};
