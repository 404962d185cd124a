//! The pure core: what an agent can ask for, what is known about it, and whether it may happen.
//!
//! No IO, no async, no clock. `decide` is the only maker of a [`Permit`], and a [`Permit`] that was
//! recorded is the only thing the driver accepts, so an action that skipped either does not compile.

mod action;
mod decide;
mod facts;
mod ids;
mod keys;
mod permit;
mod reading;
mod risk;
mod selector;
mod target;
mod url;

pub use action::{
    Action, AnswerDialog, Check, Click, Condition, Direction, Distance, Drag, Hover, ImageFormat, LoadState,
    MouseButton, Navigate, Press, ReadDom, Screenshot, Scroll, Select, SelectOption, TabId, Tabs, TypeText,
    WaitFor,
};
pub use decide::{Decision, Denial, Policy};
pub use facts::{DialogFacts, ElementFacts, Facts, FormFacts};
pub use ids::{Actor, BadName, Name, Scope, SessionId, Tenant};
pub use keys::{
    ARROW_DOWN, ARROW_LEFT, ARROW_RIGHT, ARROW_UP, Chord, DELETE, ENTER, Key, Modifiers, NamedKey, UnknownKey,
};
pub use permit::{Permit, Permitted, Rule};
pub use reading::{Find, Part, Pattern, Read, ReadFormat, Tokens};
pub use risk::Risk;
pub use selector::{Selector, SelectorRefusal};
pub use target::Target;
pub use url::{Origin, UrlRefusal, WebUrl};
