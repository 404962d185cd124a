//! The driver: CDP, pages, snapshots, actions and screenshots.
//!
//! It acts on one thing only, a [`audit::Permitted`] action, and on the element that was decided on.
//! What it tells of a page comes from a script in an isolated world, which the page cannot reach.

mod aim;
mod ask;
mod browser;
pub mod cdp;
mod cover;
mod deadline;
mod error;
mod fate;
mod flags;
mod frames;
mod guard;
mod health;
mod hit;
mod incident;
mod inject;
mod journal;
mod locate;
mod mask;
mod page_text;
mod paint;
mod past;
mod resting;
mod resume;
mod roots;
mod script;
mod snapshot;
mod state;
mod tab;
mod text;
mod verbs;

pub use browser::{Browser, BrowserOptions, SnapshotOptions, TabState};
pub use cover::Cover;
pub use deadline::TimeLimit;
pub use error::BrowserError;
pub use fate::Fate;
pub use flags::{Display, LaunchOptions, launch_flags};
pub use incident::Incident;
pub use inject::{
    Blank, HandedCookie, HandedEntry, HandedOut, HandedReply, HandedValue, InjectedCookie, InjectedEntry,
    InjectedHeaders, InjectedStorage, Injection, ProbePage, Probed, ReplyKind,
};
pub use journal::{PageEvent, PageEventKind, PageEvents};
pub use mask::Mask;
pub use page_text::{FENCE_BYTES, PageText, Words, mark_page_text, page_block};
pub use resume::Resumed;
pub use snapshot::{
    BadPattern, CallerId, Content, Found, InteractiveElement, Match, Snapshot, States, Tree, TreeNode,
    head_line,
};
pub use verbs::{After, Dom, Image, Kept, Omitted, Outcome, Picture, Question, TabInfo, Viewer};
